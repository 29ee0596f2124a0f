// How plans are shown: as a table.
#pragma once

#include <string>

#include "wharf/report/table.h"
#include "wharf/split/plan.h"
#include "wharf/split/timeline.h"

namespace wharf::cli {

// Who computes which rows of every operator and what travels, one row an operator; operators that both sides treat as
// the one before are folded into it. `graph`: laid out as the plan says.
std::string PlanAsTable(const split::Profile& profile, const split::RowGraph& graph, const split::Plan& plan);
// What every cut takes, in the order of operators: the device computes up to one, the server the others. Behind the
// inputs is the server alone, behind the last operator the device alone. REQUIRES: no trace in `link`.
report::Table CutsAsTable(const split::Profile& profile, const split::RowGraph& graph, const split::Link& link);

}  // namespace wharf::cli
