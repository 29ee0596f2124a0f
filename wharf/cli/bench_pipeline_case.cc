#include "wharf/cli/bench_pipeline_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "wharf/pipeline/planner.h"

namespace wharf::cli {
namespace {

constexpr const char* kSloClass = "L4";  // SLOs are multiples of what a request takes there (thesis 4.7.1)

absl::StatusOr<std::vector<pipeline::Demand>> DemandsOf(const PipelineCase& one) {
  std::vector<pipeline::Demand> demands;
  for (size_t i = 0; i < one.models.size(); ++i) {
    const pipeline::ModelProfile& model = *one.models[i];
    const pipeline::VgpuProfile* whole = model.Find(kSloClass, 1);
    if (whole == nullptr) return InvalidArgument("{} was not measured on {}", model.model, kSloClass);
    pipeline::Demand demand;
    demand.profile = &model;
    demand.slo_us = one.slo_scale * whole->LatencyUs(1, 0, model.Blocks());
    demand.margin_us = one.margin * demand.slo_us;
    demand.weight = one.weights[i];
    demands.push_back(demand);
  }
  return demands;
}

// A plan without pipelines if no SLO-keeping one exists.
absl::StatusOr<pipeline::Plan> PlanOf(const PipelineCase& one, const std::string& algorithm) {
  WHARF_ASSIGN_OR_RETURN(const std::vector<pipeline::Demand> demands, DemandsOf(one));
  pipeline::PlannerOptions options;
  options.rules.max_partitions = one.max_partitions;
  if (algorithm == "np") options.rules.mode = pipeline::Mode::kNoPartitioning;
  if (algorithm == "dart-r") options.rules.mode = pipeline::Mode::kDartR;
  auto plan = pipeline::MakePlan(one.cluster, demands, options);
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
  std::vector<std::string> names;
  std::vector<double> rates;
  for (size_t i = 0; i < one.models.size(); ++i) {
    names.push_back(one.models[i]->model);
    rates.push_back(ours.value * one.weights[i]);
  }
  std::vector<PipelineBenchRow> rows;
  for (const std::string& algorithm : algorithms) {
    PipelineBenchRow row{one.varied,
                         fmt::format("{}", fmt::join(names, "|")),
                         fmt::format("{:g}", fmt::join(one.weights, "-")),
                         one.cluster.name,
                         algorithm,
                         one.slo_scale,
                         one.margin};
    WHARF_ASSIGN_OR_RETURN(const pipeline::Plan plan, PlanOf(one, algorithm));
    row.planned_xput = plan.value;
    row.bound_xput = plan.bound;
    row.gap = plan.Gap();
    row.solve_s = plan.solve_s;
    row.max_load_factors_99.assign(one.models.size(), 0);
    if (!plan.pipelines.empty() && ours.value > 0) {
      WHARF_ASSIGN_OR_RETURN(const pipeline::Deployment deployment, pipeline::Deploy(plan));
      search.simulation.scheduler =
          algorithm == "reactive" ? pipeline::SchedulerKind::kReactive : pipeline::SchedulerKind::kReserving;
      const pipeline::MaxLoad found = pipeline::FindMaxLoad(deployment, rates, search);
      row.max_load_factors_99 = found.by_model;
      row.max_load_factor_99 = found.Mean();
      row.util_high = UtilisationOf(one.cluster, found.utilisation, 0, 1);
      row.util_low = UtilisationOf(one.cluster, found.utilisation, 1, found.utilisation.size());
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace wharf::cli
