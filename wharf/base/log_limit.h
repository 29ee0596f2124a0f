// LogLimit: how many lines of one event a log gets, so that strangers who cause them cannot fill a disk.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "wharf/base/clock.h"

namespace wharf {

// Thread-safe.
class LogLimit {
 public:
  // Of each event, in each second from its first line on.
  static constexpr int kLinesPerSecond = 20;

  struct Verdict {
    bool write = false;
    uint64_t left_out = 0;  // lines of this event since the last one that was written
  };
  Verdict Ask(std::string_view event, TimePoint now);

 private:
  struct Event {
    TimePoint since;
    int lines = 0;
    uint64_t left_out = 0;
  };
  std::mutex mutex_;
  std::map<std::string, Event, std::less<>> events_;  // as many as the program has
};

}  // namespace wharf
