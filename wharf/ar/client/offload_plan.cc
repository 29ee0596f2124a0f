#include "wharf/ar/client/offload_plan.h"

#include <algorithm>
#include <utility>

namespace wharf::ar {

void OffloadPlan::Set(serving::ClientPlan plan) {
  plan_ = std::move(plan);
  std::ranges::sort(plan_.frames);  // a server may say anything
  next_ = 0;
}

bool OffloadPlan::Takes(int64_t frame) {
  while (next_ < plan_.frames.size() && plan_.frames[next_] < frame) last_ = std::max(last_, plan_.frames[next_++]);
  bool takes = false;
  if (next_ < plan_.frames.size()) {
    takes = plan_.frames[next_] == frame;
  } else {
    takes = plan_.interval > 0 && (last_ < 0 || frame - last_ >= plan_.interval);
  }
  if (takes) last_ = frame;
  return takes;
}

}  // namespace wharf::ar
