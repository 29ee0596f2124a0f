// The operators and times that plans are made with.
#pragma once

#include "wharf/base/status.h"
#include "wharf/split/plan_json.h"

namespace wharf::cli {

// kInvalidArgument: neither a stored profile nor a measured model, both, or files that do not belong together; says
// what to do.
absl::StatusOr<split::Profile> LoadProfile(const split::PlanSource& source);
// Of a plan that a stranger may have written. kInvalidArgument: one of the files is none: a device that never ends, a
// pipe that nobody writes to.
absl::Status CheckRegularFiles(const split::PlanSource& source);

}  // namespace wharf::cli
