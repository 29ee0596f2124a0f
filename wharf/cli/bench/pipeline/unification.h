// What batch size unification costs, and what dividing GPUs gives back (thesis 4.5.4): `wharf bench pipeline
// --unification`.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/cli/pipeline/case.h"
#include "wharf/report/table.h"

namespace wharf::cli {

// The four ways to plan, in the order of a row's numbers.
struct UnificationRule {
  std::string_view name;
  bool unify_batches, divide_gpus;
};
inline constexpr std::array<UnificationRule, 4> kUnificationRules = {{{"one batch size", true, false},
                                                                      {"own batch sizes (4.A)", false, false},
                                                                      {"one, GPUs divided (4.B)", true, true},
                                                                      {"own, GPUs divided", false, true}}};
inline constexpr size_t kOurs = 2;  // of them

struct UnificationRow {
  std::string cluster, models;
  // The least of throughput / weight, requests/s; 0: no plan keeps the SLOs.
  std::array<double, kUnificationRules.size()> planned = {}, solve_s = {};
  std::array<bool, kUnificationRules.size()> proven = {};  // that no plan by that rule is better
};

absl::StatusOr<UnificationRow> PlanUnification(const PipelineCase& one);

report::Table UnificationAsTable(const std::vector<UnificationRow>& rows);
// By cluster: means of what each rule plans, as a share of ours, of the cases that all rules have plans for; in how
// many of them it is better and worse.
report::Table UnificationMeansAsTable(const std::vector<UnificationRow>& rows);
std::string UnificationAsJson(const std::vector<UnificationRow>& rows);

}  // namespace wharf::cli
