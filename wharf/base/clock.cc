#include "wharf/base/clock.h"

#include <time.h>

namespace wharf {
namespace {

class MonotonicClock final : public Clock {
 public:
  TimePoint Now() const override {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return {std::chrono::seconds(now.tv_sec) + Nanoseconds(now.tv_nsec)};
  }
  void SleepUntil(TimePoint deadline) override {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(deadline.since_epoch);
    const timespec until{seconds.count(), (deadline.since_epoch - seconds).count()};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
    }
  }
};

class ProcessorClock final : public Clock {
 public:
  explicit ProcessorClock(clockid_t clock) : clock_(clock) {}
  TimePoint Now() const override { return {ProcessorTime(clock_)}; }
  void SleepUntil(TimePoint) override {}

 private:
  const clockid_t clock_;
};

}  // namespace

Clock& Clock::Real() {
  static MonotonicClock* const clock = new MonotonicClock;
  return *clock;
}

const Clock& Clock::OfThread() {
  static const ProcessorClock* const clock = new ProcessorClock(CLOCK_THREAD_CPUTIME_ID);
  return *clock;
}

const Clock& Clock::OfProcess() {
  static const ProcessorClock* const clock = new ProcessorClock(CLOCK_PROCESS_CPUTIME_ID);
  return *clock;
}

TimePoint VirtualClock::Now() const {
  absl::MutexLock lock(&mutex_);
  return now_;
}

void VirtualClock::SleepUntil(TimePoint deadline) {
  absl::MutexLock lock(&mutex_);
  const auto reached = [this, deadline]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return now_ >= deadline; };
  mutex_.Await(absl::Condition(&reached));
}

void VirtualClock::Advance(Nanoseconds duration) {
  absl::MutexLock lock(&mutex_);
  now_ = now_ + duration;
}

}  // namespace wharf
