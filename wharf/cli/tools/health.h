// What `wharf doctor` looks at.
#pragma once

#include <vector>

#include "wharf/cli/programs/finding.h"

namespace wharf::cli {

std::vector<Finding> Examine();
// Of these, how workers can be kept: good only if strongly.
Finding ExamineSandbox();

}  // namespace wharf::cli
