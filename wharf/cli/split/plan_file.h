// Files of plans, as users name them.
#pragma once

#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/split/plan_json.h"

namespace wharf::cli {

// What `wharf plan --json` wrote: at least one plan. Fails as ReadFile and split::ParsePlans, naming the file.
absl::StatusOr<std::vector<split::StoredPlan>> LoadPlans(const std::string& path);

// "1 plan from plan.json, made by intra-dp for 10 MB/s".
std::string PlansAsText(const std::string& path, const std::vector<split::StoredPlan>& plans);

}  // namespace wharf::cli
