// How plans are shown: as a table.
#pragma once

#include <string>

#include "wharf/split/plan.h"

namespace wharf::cli {

// Who computes which rows of every operator and what travels, one row an operator; operators that both sides treat as
// the one before are folded into it. `graph`: laid out as the plan says.
std::string PlanAsTable(const split::Profile& profile, const split::RowGraph& graph, const split::Plan& plan);

}  // namespace wharf::cli
