#include "wharf/split/execution/slow_down.h"

#include <time.h>

namespace wharf::split {
namespace {

class ThreadCpuClock final : public Clock {
 public:
  TimePoint Now() const override {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return {std::chrono::seconds(now.tv_sec) + Nanoseconds(now.tv_nsec)};
  }
  void SleepUntil(TimePoint) override {}
};

}  // namespace

Clock& ThreadCpuTime() {
  static ThreadCpuClock* const clock = new ThreadCpuClock;
  return *clock;
}

}  // namespace wharf::split
