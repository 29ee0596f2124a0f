// HandlingClock: what a thread that handles frames is about, for others to ask.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "wharf/base/clock.h"

namespace wharf::offload {

// Begin and End are called by the thread itself, the same for good; the rest by one other thread, while it lives.
class HandlingClock {
 public:
  void Begin() {
    absl::MutexLock lock(&mutex_);
    handling_ = true;
    if (frames_++ == 0) pthread_getcpuclockid(pthread_self(), &clock_);
  }
  void End() {
    absl::MutexLock lock(&mutex_);
    handling_ = false;
  }

  bool Handling() const {
    absl::MutexLock lock(&mutex_);
    return handling_;
  }
  // Processor time that the frame under way has taken since this was asked of it first; zero if none is.
  Nanoseconds Taken() {
    absl::MutexLock lock(&mutex_);
    if (!handling_) return Nanoseconds::zero();
    const Nanoseconds now = ProcessorTime(clock_);
    if (std::exchange(asked_frame_, frames_) != frames_) asked_at_ = now;
    return now - asked_at_;
  }

 private:
  mutable absl::Mutex mutex_;
  bool handling_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t frames_ ABSL_GUARDED_BY(mutex_) = 0;
  clockid_t clock_ ABSL_GUARDED_BY(mutex_){};         // of the thread's processor time
  uint64_t asked_frame_ ABSL_GUARDED_BY(mutex_) = 0;  // Taken's: the frame, and the clock when it was new
  Nanoseconds asked_at_ ABSL_GUARDED_BY(mutex_){0};
};

}  // namespace wharf::offload
