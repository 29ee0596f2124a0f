// Planner: from a model's profile, a link and an aim to a plan. Every system of the papers' comparison is one.
//
//   WHARF_ASSIGN_OR_RETURN(auto planner, MakePlanner("intra-dp", graph, {}));
//   const Plan plan = planner->MakePlan(link, Objective::Latency());
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/split/objective.h"

namespace wharf::split {

// Raised whenever planners may make other plans of the same question: plans that were kept are made anew.
inline constexpr int kPlannerVersion = 1;

struct PlannerOptions {
  uint64_t seed = 1;
  // Of the searching planners: operators walked while evaluating plans, for each plan asked for. A few nanoseconds
  // each.
  int64_t budget = 5'000'000;
  bool bands = true;  // of intra-dp: plans may have layouts
  // Of loss-de: outputs larger than the model's input are not sent (the papers' constraint on transmission).
  bool small_outputs_only = true;
  // Of a sweep: called now and then with the share of the work that is done, rising. False: makes the best of what it
  // has. Null: it goes on.
  std::function<bool(double share)> go_on;
};

// Not thread-safe. Deterministic: the same questions in the same order get the same answers.
class Planner {
 public:
  virtual ~Planner() = default;
  // A valid plan, in a layout of its own. REQUIRES: no trace in `link`.
  virtual Plan MakePlan(const Link& link, const Objective& objective) = 0;
  // A plan for each of several bandwidths (bytes/ms, rising) on a link otherwise as `link`.
  virtual std::vector<Plan> Sweep(const Link& link, const std::vector<double>& bytes_per_ms,
                                  const Objective& objective);
};

struct PlannerKind {
  std::string_view name, summary;
};
// In the order tables show them: device-only, server-only, dsccs, mcop, spso-ga, tensor-parallel, loss-de, intra-dp.
const std::vector<PlannerKind>& PlannerKinds();
// `graph` must outlive it. kInvalidArgument: no such planner; lists those there are.
absl::StatusOr<std::unique_ptr<Planner>> MakePlanner(std::string_view name, const RowGraph& graph,
                                                     const PlannerOptions& options);

}  // namespace wharf::split
