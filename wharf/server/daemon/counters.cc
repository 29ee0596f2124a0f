#include "wharf/server/daemon/counters.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "wharf/base/log.h"

namespace wharf::server {

namespace {

nlohmann::ordered_json AsJson(const offload::CodecTraffic& codec) {
  return {{"payloads", codec.payloads}, {"bytes_before", codec.before}, {"bytes_after", codec.after}};
}

// What was sent as it is, is in the bytes of the sessions only.
nlohmann::ordered_json AsJson(const offload::BulkTraffic& bulk) {
  return {{"lz4", AsJson(bulk.lz4)},
          {"zstd", AsJson(bulk.zstd)},
          {"differences", bulk.differences},
          {"processor_ms", bulk.nanoseconds / 1'000'000}};
}

}  // namespace

void ServerCounters::Add(const SessionReport& report) {
  work.operations += report.operations;
  work.blocking_operations += report.blocking_operations;
  work.launches += report.launches;
  work.inferences += report.inferences;
  work.posted_errors += report.posted_errors;
  work.bytes_received += report.bytes_received;
  work.bytes_sent += report.bytes_sent;
  work.bulk_in += report.bulk_in;
  work.bulk_out += report.bulk_out;
  work.busy_nanoseconds += report.busy_nanoseconds;
  work.waited_nanoseconds += report.waited_nanoseconds;
  work.peak_mapped_bytes = std::max(work.peak_mapped_bytes, report.peak_mapped_bytes);
}

std::string ToJson(const ServerStatus& status) {
  const ServerCounters& counters = status.counters;
  nlohmann::ordered_json running = nlohmann::ordered_json::array();
  uint64_t used = 0;
  for (const RunningSession& one : status.sessions) used += one.device_nanoseconds;
  for (const RunningSession& one : status.sessions) {
    running.push_back({{"session", one.session},
                       {"pid", one.pid},
                       {"kind", one.runs_models ? "split" : "offload"},
                       {"waiting", one.waiting},
                       {"device_ms", one.device_nanoseconds / 1'000'000},
                       {"device_share", static_cast<double>(one.device_nanoseconds) / std::max<double>(1, used)},
                       {"turn_waited_ms", one.waited_nanoseconds / 1'000'000}});
  }
  const nlohmann::ordered_json json = {
      {"pid", status.pid},
      {"address", status.address},
      {"driver", status.driver},
      {"device", status.device},
      {"draining", status.draining},
      {"sessions", running},
      {"max_sessions", status.max_sessions},
      {"connections", counters.connections},
      {"sessions_opened", counters.sessions_opened},
      {"sessions_closed", counters.sessions_closed},
      {"refused", counters.refused},
      {"resumed", counters.resumed},
      {"crashes", counters.crashes},
      {"operations", counters.work.operations},
      {"launches", counters.work.launches},
      {"inferences", counters.work.inferences},
      {"bytes_received", counters.work.bytes_received},
      {"bytes_sent", counters.work.bytes_sent},
      {"compressed_received", AsJson(counters.work.bulk_in)},
      {"compressed_sent", AsJson(counters.work.bulk_out)},
      {"peak_session_memory_bytes", counters.work.peak_mapped_bytes},
      {"device_busy_ms", counters.work.busy_nanoseconds / 1'000'000},
      {"turn_waited_ms", counters.work.waited_nanoseconds / 1'000'000},
  };
  return json.dump(2) + "\n";
}

void LogStatus(const ServerStatus& status) {
  const ServerCounters& counters = status.counters;
  Log(LogLevel::kInfo, "counters",
      {{"sessions", status.sessions.size()},
       {"max_sessions", status.max_sessions},
       {"connections", counters.connections},
       {"opened", counters.sessions_opened},
       {"closed", counters.sessions_closed},
       {"refused", counters.refused},
       {"resumed", counters.resumed},
       {"crashes", counters.crashes},
       {"operations", counters.work.operations},
       {"launches", counters.work.launches},
       {"inferences", counters.work.inferences},
       {"bytes_in", counters.work.bytes_received},
       {"bytes_out", counters.work.bytes_sent},
       {"busy_ms", counters.work.busy_nanoseconds / 1'000'000}});
}

absl::Status WriteStatusFile(const std::string& path, const ServerStatus& status) {
  // A new file each time: who can write in the directory must not have us write through a link.
  const std::string fresh = path + ".new", text = ToJson(status);
  unlink(fresh.c_str());
  const int file = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (file < 0) return ErrnoStatus(errno, fmt::format("cannot write the status file {}", fresh));
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  close(file);
  if (!written) return ErrnoStatus(error, fmt::format("cannot write the status file {}", fresh));
  if (std::rename(fresh.c_str(), path.c_str()) != 0) {
    return ErrnoStatus(errno, fmt::format("cannot write the status file {}", path));
  }
  return absl::OkStatus();
}

}  // namespace wharf::server
