#include "wharf/split/plan_evaluator.h"

#include <algorithm>
#include <utility>

namespace wharf::split {

PlanEvaluator::LaidOutGraph& PlanEvaluator::Of(const Layout& layout) {
  const auto found =
      std::find_if(graphs_.rbegin(), graphs_.rend(), [&](const auto& one) { return one->layout == layout; });
  if (found == graphs_.rend()) {
    graphs_.push_back(std::make_unique<LaidOutGraph>(plain_, layout));
  } else {
    std::swap(*found, graphs_.back());
  }
  return *graphs_.back();
}

}  // namespace wharf::split
