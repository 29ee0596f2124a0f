// The planner: which pipelines, on how many GPUs, so that the least normalised throughput over all models is largest,
// or so that given rates cost least (thesis 4.3, 4.5.4, 4.B; docs/pipeline.md says how).
#pragma once

#include <optional>
#include <vector>

#include "wharf/pipeline/cluster.h"
#include "wharf/pipeline/model_profile.h"
#include "wharf/pipeline/plan.h"
#include "wharf/pipeline/planner/candidates.h"
#include "wharf/pipeline/planner/integer_master.h"

namespace wharf::pipeline {

// A model to serve.
struct Demand {
  const ModelProfile* profile = nullptr;  // outlives the planning
  double slo_us = 0, margin_us = 0;
  double weight = 1;  // share of the load; of Objective::kCost, requests/s
  // As ServedModel has it. Left out: of kCost the weight, else what an unpartitioned plan makes of the model.
  std::optional<double> expected_rate;
};

// How the models share the GPUs.
enum class Sharing {
  kBest,            // as is best for the least normalised throughput
  kFastestAsUncut,  // each keeps as many of the first class as the best uncut plan gives it, as published of DART-r
};

struct PlannerOptions {
  CandidateRules rules;
  Objective objective = Objective::kThroughput;
  bool spend_slack = false;          // SpendSlack (slack.h) afterwards; for the throughput of Mode::kOurs
  Sharing sharing = Sharing::kBest;  // the other is for the throughput of two classes, up to max_grid_points
  // Clusters with more ways to have some GPUs of each class are planned by the integer master instead of exactly.
  size_t max_grid_points = 40'000;
  // Of rules.share_gpus: with more ways to have some parts of GPUs of each class, or more steps, a plan need not be the
  // best there is, though it is none worse than the best without sharing.
  size_t max_unit_grid_points = 1 << 20;
  uint64_t max_steps = 100'000'000;
  MasterOptions master;
};

// The plan passes CheckPlan (checker.h). Below max_grid_points and the limits of sharing it is the best there is under
// the rules (bound == value); above, `bound` is what was proven, the linear one at worst. kInvalidArgument: a wrong
// cluster or demand, or a sharing that is not for them. kFailedPrecondition: a model cannot meet its SLO on this
// cluster whatever it gets. kResourceExhausted: there are too few GPUs.
absl::StatusOr<Plan> MakePlan(const Cluster& cluster, const std::vector<Demand>& demands,
                              const PlannerOptions& options);

}  // namespace wharf::pipeline
