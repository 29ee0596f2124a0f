#include "wharf/split/runtime/slowed_engine.h"

#include <time.h>

#include <utility>

#include "wharf/split/runtime/engine_around.h"

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

std::unique_ptr<exec::Engine> MakeSlowedEngine(std::unique_ptr<exec::Engine> engine, double factor, Clock& clock,
                                               const Clock& work) {
  return MakeEngineAround(std::move(engine), [factor, &clock, &work](const std::function<RunResult()>& run) {
    const TimePoint start = clock.Now(), work_start = work.Now();
    RunResult made = run();
    clock.SleepUntil(start + FromSeconds(Seconds(work.Now() - work_start) * factor));
    return made;
  });
}

}  // namespace wharf::split
