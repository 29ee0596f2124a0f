#include "wharf/cli/split/plan_file.h"

#include "wharf/cli/common/files.h"

namespace wharf::cli {

absl::StatusOr<std::vector<split::StoredPlan>> LoadPlans(const std::string& path) {
  WHARF_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  auto plans = split::ParsePlans(text);
  if (!plans.ok()) return InvalidArgument("{}: {}", path, Message(plans.status()));
  return plans;
}

std::string PlansAsText(const std::string& path, const std::vector<split::StoredPlan>& plans) {
  const split::StoredPlan& first = plans.front();
  if (plans.size() > 1) return fmt::format("{} plans from {}, made by {}", plans.size(), path, first.planner);
  return fmt::format("1 plan from {}, made by {} for {:g} MB/s", path, first.planner, first.link.bytes_per_ms / 1e3);
}

}  // namespace wharf::cli
