// Plays a machine that computes more slowly than this one.
#pragma once

#include <functional>

#include "wharf/base/clock.h"

namespace wharf::split {

// Of work done inside it. Thread-safe.
class SlowDown {
 public:
  // The clocks must outlive it. REQUIRES: factor >= 1.
  explicit SlowDown(double factor = 1, Clock& clock = Clock::Real(), const Clock& work = Clock::OfThread())
      : factor_(factor), clock_(&clock), work_(&work) {}

  double Factor() const { return factor_; }
  // Returns what `work` does, and not before `factor` times what it took by `work` has passed on `clock`.
  template <typename F>
  auto Around(const F& work) const {
    const TimePoint start = clock_->Now(), work_start = work_->Now();
    auto made = work();
    if (factor_ > 1) clock_->SleepUntil(start + FromSeconds(Seconds(work_->Now() - work_start) * factor_));
    return made;
  }

 private:
  double factor_;
  Clock* clock_;
  const Clock* work_;
};

}  // namespace wharf::split
