#include "wharf/cli/pipeline/case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "wharf/base/split_text.h"

namespace wharf::cli {
namespace {

bool SetAlgorithm(std::string_view name, PipelineAlgorithm& algorithm) {
  if (name == "np") algorithm.mode = pipeline::Mode::kNoPartitioning;
  if (name == "dart-r") algorithm.mode = pipeline::Mode::kDartR;
  if (name == "reactive") algorithm.scheduler = pipeline::SchedulerKind::kReactive;
  return name == "np" || name == "dart-r" || name == "reactive" || name == "ours";
}

bool SetVariant(std::string_view name, PipelineAlgorithm& algorithm) {
  using Choice = pipeline::ReactiveRules::Choice;
  if (name == "packed") {
    algorithm.placement = pipeline::Placement::kInOrder;
    return true;
  }
  if (name == "whole-gpus") {
    algorithm.share_gpus = false;
    return algorithm.mode == pipeline::Mode::kOurs;
  }
  if (name == "own-batches") {
    algorithm.unify_batches = false;
    return algorithm.mode == pipeline::Mode::kOurs;
  }
  if (name == "slack") {
    algorithm.spend_slack = true;
    return algorithm.mode == pipeline::Mode::kOurs;
  }
  if (name == "undivided") {
    algorithm.divide_gpus = false;
    return algorithm.mode == pipeline::Mode::kOurs;
  }
  if (name == "uncut-sharing") {
    algorithm.sharing = pipeline::Sharing::kFastestAsUncut;
    return algorithm.mode == pipeline::Mode::kDartR;
  }
  if (algorithm.scheduler != pipeline::SchedulerKind::kReactive) return false;
  if (name == "in-order") {
    algorithm.rules.choice = Choice::kInOrder;
  } else if (name == "round-robin") {
    algorithm.rules.choice = Choice::kRoundRobin;
  } else if (name == "idle-only") {
    algorithm.rules.ahead = 1;
  } else if (name == "at-once") {
    algorithm.rules.ahead = std::numeric_limits<int>::max();
  } else if (name == "eager") {
    algorithm.rules.waits = false;
  } else {
    return false;
  }
  return true;
}

// Over all GPUs of the classes [first, end).
double UtilisationOf(const pipeline::Cluster& cluster, const std::vector<double>& utilisation, size_t first,
                     size_t end) {
  double busy = 0, gpus = 0;
  for (size_t c = first; c < end; ++c) {
    busy += utilisation[c] * cluster.Gpus(static_cast<int>(c));
    gpus += cluster.Gpus(static_cast<int>(c));
  }
  return gpus > 0 ? busy / gpus : 0;
}

}  // namespace

absl::StatusOr<pipeline::Plan> PlanPipelineCase(const PipelineCase& one, const PipelineAlgorithm& algorithm) {
  pipeline::PlannerOptions options;
  options.rules = {algorithm.mode, one.max_partitions, algorithm.share_gpus, algorithm.unify_batches,
                   algorithm.divide_gpus};
  options.sharing = algorithm.sharing;
  options.spend_slack = algorithm.spend_slack;
  auto plan = pipeline::MakePlan(one.cluster, one.demands, options);
  if (absl::IsFailedPrecondition(plan.status()) || absl::IsResourceExhausted(plan.status())) return pipeline::Plan();
  return plan;
}

absl::StatusOr<PipelineAlgorithm> ParsePipelineAlgorithm(std::string_view name) {
  PipelineAlgorithm algorithm{std::string(name)};
  const std::vector<std::string_view> parts = SplitText(name, '+');
  if (!SetAlgorithm(parts[0], algorithm)) {
    return InvalidArgument("there is no algorithm \"{}\": np, dart-r, reactive or ours", parts[0]);
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    if (!SetVariant(parts[i], algorithm)) return InvalidArgument("{} has no variant \"{}\"", parts[0], parts[i]);
  }
  return algorithm;
}

absl::StatusOr<std::vector<PipelineBenchRow>> RunPipelineCase(const PipelineCase& one,
                                                              const std::vector<PipelineAlgorithm>& algorithms,
                                                              pipeline::LoadSearch search) {
  WHARF_ASSIGN_OR_RETURN(const pipeline::Plan ours, PlanPipelineCase(one, {"ours"}));
  std::vector<std::string_view> names;
  std::vector<double> weights, rates;
  for (const pipeline::Demand& demand : one.demands) {
    names.push_back(demand.profile->model);
    weights.push_back(demand.weight);
    rates.push_back(ours.value * demand.weight);
  }
  std::vector<PipelineBenchRow> rows;
  for (const PipelineAlgorithm& algorithm : algorithms) {
    PipelineBenchRow row{one.varied, fmt::format("{}", fmt::join(names, "|")),
                         fmt::format("{:g}", fmt::join(weights, "-")), one.cluster.name, algorithm.name};
    WHARF_ASSIGN_OR_RETURN(const pipeline::Plan plan, PlanPipelineCase(one, algorithm));
    row.planned_xput = plan.value;
    row.bound_xput = plan.bound;
    row.gap = plan.Gap();
    row.solve_s = plan.solve_s;
    row.max_load_factors_99.assign(one.demands.size(), 0);
    if (!plan.pipelines.empty() && ours.value > 0) {
      WHARF_ASSIGN_OR_RETURN(const pipeline::Deployment deployment, pipeline::Deploy(plan, algorithm.placement));
      search.simulation.scheduler = algorithm.scheduler;
      search.simulation.scheduling.reactive = algorithm.rules;
      const pipeline::MaxLoad found = pipeline::FindMaxLoad(deployment, rates, search);
      row.max_load_factors_99 = found.by_model;
      row.max_load_factor_99 = found.Mean();
      row.attainment = found.curve;
      row.util_high = UtilisationOf(one.cluster, found.utilisation, 0, 1);
      row.util_low = UtilisationOf(one.cluster, found.utilisation, 1, found.utilisation.size());
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace wharf::cli
