#include "wharf/cli/bench_pipeline_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace wharf::cli {
namespace {

// A plan without pipelines if no SLO-keeping one exists.
absl::StatusOr<pipeline::Plan> PlanOf(const PipelineCase& one, const std::string& algorithm) {
  pipeline::PlannerOptions options;
  options.rules.max_partitions = one.max_partitions;
  if (algorithm == "np") options.rules.mode = pipeline::Mode::kNoPartitioning;
  if (algorithm == "dart-r") options.rules.mode = pipeline::Mode::kDartR;
  auto plan = pipeline::MakePlan(one.cluster, one.demands, options);
  if (absl::IsFailedPrecondition(plan.status()) || absl::IsResourceExhausted(plan.status())) return pipeline::Plan();
  return plan;
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

absl::StatusOr<std::vector<PipelineBenchRow>> RunPipelineCase(const PipelineCase& one,
                                                              const std::vector<std::string>& algorithms,
                                                              pipeline::LoadSearch search) {
  WHARF_ASSIGN_OR_RETURN(const pipeline::Plan ours, PlanOf(one, "ours"));
  std::vector<std::string_view> names;
  std::vector<double> weights, rates;
  for (const pipeline::Demand& demand : one.demands) {
    names.push_back(demand.profile->model);
    weights.push_back(demand.weight);
    rates.push_back(ours.value * demand.weight);
  }
  std::vector<PipelineBenchRow> rows;
  for (const std::string& algorithm : algorithms) {
    PipelineBenchRow row{one.varied, fmt::format("{}", fmt::join(names, "|")),
                         fmt::format("{:g}", fmt::join(weights, "-")), one.cluster.name, algorithm};
    WHARF_ASSIGN_OR_RETURN(const pipeline::Plan plan, PlanOf(one, algorithm));
    row.planned_xput = plan.value;
    row.bound_xput = plan.bound;
    row.gap = plan.Gap();
    row.solve_s = plan.solve_s;
    row.max_load_factors_99.assign(one.demands.size(), 0);
    if (!plan.pipelines.empty() && ours.value > 0) {
      WHARF_ASSIGN_OR_RETURN(const pipeline::Deployment deployment, pipeline::Deploy(plan));
      search.simulation.scheduler =
          algorithm == "reactive" ? pipeline::SchedulerKind::kReactive : pipeline::SchedulerKind::kReserving;
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
