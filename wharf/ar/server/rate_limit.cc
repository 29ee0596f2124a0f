#include "wharf/ar/server/rate_limit.h"

#include <algorithm>

namespace wharf::ar {

bool RateLimit::Allows(TimePoint now) {
  if (last_) left_ = std::min(burst_, left_ + rate_ * Seconds(now - *last_));
  last_ = now;
  if (left_ < 1) return false;
  left_ -= 1;
  return true;
}

}  // namespace wharf::ar
