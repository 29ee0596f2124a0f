// CpuClock: what this process has computed, whatever else the machine does.
#pragma once

#include <ctime>

#include "wharf/base/clock.h"

namespace wharf::cli {

// Any thread.
class CpuClock final : public Clock {
 public:
  TimePoint Now() const override {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return {std::chrono::seconds(now.tv_sec) + Nanoseconds(now.tv_nsec)};
  }
  void SleepUntil(TimePoint) override {}  // nobody waits by it
};

}  // namespace wharf::cli
