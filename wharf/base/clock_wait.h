// Waiting for a time on any clock.
#pragma once

#include <algorithm>
#include <chrono>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "wharf/base/clock.h"

namespace wharf {

// How long to sleep before `clock` is looked at again, on the way to a time that is `left` away. A clock that is not
// the real one cannot wake anybody, so it is looked at often.
inline absl::Duration SleepTowards(const Clock& clock, Nanoseconds left) {
  constexpr Nanoseconds kGlance = std::chrono::milliseconds(1);
  return absl::FromChrono(&clock == &Clock::Real() ? left : std::min(left, kGlance));
}

// Returns when `changed` is signalled (false) or the clock has reached `deadline` (true). REQUIRES: `mutex` is held.
inline bool WaitUntil(absl::CondVar& changed, absl::Mutex* mutex, const Clock& clock, TimePoint deadline) {
  while (true) {
    const Nanoseconds left = deadline - clock.Now();
    if (left <= Nanoseconds::zero()) return true;
    if (!changed.WaitWithTimeout(mutex, SleepTowards(clock, left))) return false;
  }
}

// Returns when `condition` holds (true), or the clock has reached `deadline` and it does not (false). REQUIRES: `mutex`
// is held, which guards what the condition looks at.
inline bool AwaitUntil(absl::Mutex* mutex, const absl::Condition& condition, const Clock& clock, TimePoint deadline) {
  while (true) {
    const Nanoseconds left = deadline - clock.Now();
    if (left <= Nanoseconds::zero()) return condition.Eval();
    if (mutex->AwaitWithTimeout(condition, SleepTowards(clock, left))) return true;
  }
}

}  // namespace wharf
