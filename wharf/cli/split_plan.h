// What `wharf plan` writes and `wharf explain` reads: a split plan with the question it answers. And how plans are
// shown.
#pragma once

#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/cli/profile_source.h"
#include "wharf/split/planner.h"

namespace wharf::cli {

struct StoredPlan {
  std::string model, planner;
  ProfileSource source;
  split::SliceCost slice_cost;
  std::string encoding = "f32";  // of split::NamedEncodings
  split::Link link;
  split::Objective objective;
  double lower_bound_ms = 0;  // 0: not computed
  split::Plan plan;
};

// A JSON object of the file's format; `count` plans make an array (PlansAsJson).
std::string PlansAsJson(const std::vector<StoredPlan>& plans);
// Reads what PlansAsJson wrote. kInvalidArgument says what is wrong; that the plan fits a model is for split::Check.
absl::StatusOr<std::vector<StoredPlan>> ParsePlans(const std::string& json);

// Who computes which rows of every operator and what travels, one row an operator; operators that both sides treat as
// the one before are folded into it. `graph`: laid out as the plan says.
std::string PlanAsTable(const split::Profile& profile, const split::RowGraph& graph, const split::Plan& plan);
// Device, uplink, server and downlink over time.
std::string TimelineAsSvg(const split::Profile& profile, const split::RowGraph& graph, const std::string& title,
                          const split::Outcome& outcome, const std::vector<split::Event>& events);

}  // namespace wharf::cli
