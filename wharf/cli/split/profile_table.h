// How a machine's profile of a model is shown.
#pragma once

#include <string>

#include "wharf/split/costs/machine_profile.h"

namespace wharf::cli {

// One row an operator, then what one inference takes, whole and operator by operator. REQUIRES: the profile fits them
// (split::MakeProfile).
std::string MachineProfileAsText(const split::MachineProfile& profile, const split::ModelOperators& operators);

}  // namespace wharf::cli
