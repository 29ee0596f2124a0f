// Published plans to compare with (data/pipeline/reference_plans.csv): what they were made for, and what they reach.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/pipeline/planner/planner.h"

namespace wharf::pipeline {

struct ReferenceCase {
  std::string algorithm;  // "bl", "dart-r" or "v4"
  Cluster cluster;
  std::vector<Demand> demands;
  CandidateRules rules;
  double published = 0;  // least normalised throughput, requests/s
};

// The cases of a table with the header that data/pipeline/reference_plans.csv has. `profiles` outlive the cases.
// kInvalidArgument, one line: no such table, a model or GPU class without profile, or a number out of range.
absl::StatusOr<std::vector<ReferenceCase>> ParseReferenceCases(std::string_view csv,
                                                               std::span<const ModelProfile> profiles);

}  // namespace wharf::pipeline
