// RateLimit: how much of something may come in a time.
#pragma once

#include <optional>

#include "wharf/base/clock.h"

namespace wharf::ar {

// At most `rate` a second in the long run, and `burst` at once. Not thread-safe.
class RateLimit {
 public:
  RateLimit(double rate, double burst) : rate_(rate), burst_(burst), left_(burst) {}
  // Whether one more may come now; if so it counts. REQUIRES: `now` is never before the `now` of an earlier call.
  bool Allows(TimePoint now);
  double rate() const { return rate_; }

 private:
  double rate_, burst_, left_;
  std::optional<TimePoint> last_;
};

}  // namespace wharf::ar
