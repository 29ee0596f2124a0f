// Waiting on a condition variable for a time on any clock. Internal to the room.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "wharf/base/clock.h"

namespace wharf::link {

// Returns when notified, at `deadline`, or now and then without a cause: a virtual clock cannot wake anybody, so it is
// looked at often.
inline void WaitUntil(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Clock& clock,
                      TimePoint deadline) {
  if (&clock == &Clock::Real()) {  // the monotonic clock as well
    changed.wait_until(lock, std::chrono::steady_clock::time_point(deadline.since_epoch));
  } else {
    changed.wait_for(lock, std::chrono::microseconds(100));
  }
}

}  // namespace wharf::link
