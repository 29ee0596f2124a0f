// What a server has done since it started: for SIGUSR1's log line and the status file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/server/process/control.h"

namespace wharf::server {

struct ServerCounters {
  uint64_t connections = 0, sessions_opened = 0, sessions_closed = 0, refused = 0, crashes = 0;
  uint64_t resumed = 0;  // connections passed on to their session

  SessionReport work;  // summed over closed sessions
  void Add(const SessionReport& report);
};

struct RunningSession {
  uint64_t session = 0;
  int64_t pid = 0;           // of its worker
  bool waiting = false;      // for its client to come back
  bool runs_models = false;  // a split session
  // Of the device, if it is shared: time used, by the fraction of its cores, and time spent waiting for a turn.
  uint64_t device_nanoseconds = 0, waited_nanoseconds = 0;
};

struct ServerStatus {
  int64_t pid = 0;
  std::string address, driver, device;
  bool draining = false;
  std::vector<RunningSession> sessions;
  int max_sessions = 0;
  ServerCounters counters;
};

std::string ToJson(const ServerStatus& status);
void LogStatus(const ServerStatus& status);
// Replaces the file as a whole, so that a reader never sees half of it.
absl::Status WriteStatusFile(const std::string& path, const ServerStatus& status);

}  // namespace wharf::server
