// One case of `wharf bench pipeline`: some models on one cluster, planned and served by several algorithms.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wharf/pipeline/dataplane/max_load.h"
#include "wharf/pipeline/planner/planner.h"

namespace wharf::cli {

struct PipelineCase {
  std::string varied;  // what the case varies of the defaults, with its value; empty: nothing
  pipeline::Cluster cluster;
  std::vector<pipeline::Demand> demands;
  int max_partitions = 2;
};

// How a case is planned and served.
struct PipelineAlgorithm {
  std::string name;
  pipeline::Mode mode = pipeline::Mode::kOurs;
  pipeline::Sharing sharing = pipeline::Sharing::kBest;
  bool share_gpus = true, unify_batches = true, divide_gpus = true, spend_slack = false;
  pipeline::Placement placement = pipeline::Placement::kSpread;
  pipeline::SchedulerKind scheduler = pipeline::SchedulerKind::kReserving;
  pipeline::ReactiveRules rules;
};

// A plan as an algorithm makes it; one without pipelines if none keeps the SLOs. Other errors are those of MakePlan.
absl::StatusOr<pipeline::Plan> PlanPipelineCase(const PipelineCase& one, const PipelineAlgorithm& algorithm);

// "np", "dart-r", "reactive" or "ours", and variants of it: "reactive+in-order+packed" (bench_pipeline.cc says what
// they are). kInvalidArgument: an algorithm or a variant that there is not, or not of this algorithm.
absl::StatusOr<PipelineAlgorithm> ParsePipelineAlgorithm(std::string_view name);

struct PipelineBenchRow {
  std::string varied, dnns, weights, cluster, algorithm;
  // Normalised: the least of throughput / weight, requests/s. 0: there is no plan.
  double planned_xput = 0, bound_xput = 0, gap = 0, solve_s = 0;
  // Load 1 is the throughput that our plan of the same case has; means over the models.
  double max_load_factor_99 = 0;
  std::vector<double> max_load_factors_99;  // of each model
  // Of all GPUs of the slower classes, and of the fastest, each model at its largest load factor.
  double util_low = 0, util_high = 0;
  std::vector<double> attainment;  // pipeline::MaxLoad::curve
};

// A row for each of `algorithms`, in their order; simulated. Schedulers are set by the algorithms.
// kInvalidArgument: a cluster, weight or profile that cannot be planned with. That an SLO cannot be met is no error.
absl::StatusOr<std::vector<PipelineBenchRow>> RunPipelineCase(const PipelineCase& one,
                                                              const std::vector<PipelineAlgorithm>& algorithms,
                                                              pipeline::LoadSearch search);

}  // namespace wharf::cli
