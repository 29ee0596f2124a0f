// Clock: the one source of time for schedulers, control loops and the link model, so that the same code runs in real
// time and in discrete-event simulation.
#pragma once

#include <chrono>
#include <ctime>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace wharf {

using Nanoseconds = std::chrono::nanoseconds;

// A point on a clock: nanoseconds since the clock's own, arbitrary epoch. Never wall time.
struct TimePoint {
  Nanoseconds since_epoch{0};

  friend auto operator<=>(const TimePoint&, const TimePoint&) = default;
  friend TimePoint operator+(TimePoint t, Nanoseconds d) { return {t.since_epoch + d}; }
  friend TimePoint operator-(TimePoint t, Nanoseconds d) { return {t.since_epoch - d}; }
  friend Nanoseconds operator-(TimePoint a, TimePoint b) { return a.since_epoch - b.since_epoch; }
};

inline double Seconds(Nanoseconds d) { return std::chrono::duration<double>(d).count(); }
inline double Milliseconds(Nanoseconds d) { return std::chrono::duration<double, std::milli>(d).count(); }
inline Nanoseconds FromSeconds(double s) {
  return std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(s));
}

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint Now() const = 0;
  // Blocks until Now() >= deadline.
  virtual void SleepUntil(TimePoint deadline) = 0;

  void SleepFor(Nanoseconds duration) { SleepUntil(Now() + duration); }

  // The monotonic clock of this machine; lives for ever.
  static Clock& Real();
  // Processor time: what the calling thread, or this process, has computed, whatever else the machine does. Nobody can
  // wait by it. They live for ever.
  static const Clock& OfThread();
  static const Clock& OfProcess();
};

// What has been computed on a clock of processor time (CLOCK_THREAD_CPUTIME_ID, or pthread_getcpuclockid's).
inline Nanoseconds ProcessorTime(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
}

// A clock that moves only when told. SleepUntil blocks until another thread has advanced it far enough.
class VirtualClock final : public Clock {
 public:
  TimePoint Now() const override;
  void SleepUntil(TimePoint deadline) override;
  // REQUIRES: duration >= 0.
  void Advance(Nanoseconds duration);

 private:
  mutable absl::Mutex mutex_;
  TimePoint now_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace wharf
