#include "wharf/cli/pipeline/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "wharf/report/table.h"

namespace wharf::cli {
namespace {

using pipeline::Objective;
using pipeline::Pipeline;
using pipeline::Plan;
using pipeline::ServedModel;
using pipeline::Stage;
using report::Align;

constexpr double kProven = 1e-9;  // a gap that is rounding

// "3 V100 as 6 × 1/2"; what is no whole number of GPUs shares the last one with other stages: "5 × 1/2 V100".
std::string Pool(const Plan& plan, const Stage& stage) {
  const std::string& name = plan.cluster.classes[stage.gpu_class].name;
  if (stage.vgpus % stage.vgpus_per_gpu != 0)
    return fmt::format("{} × 1/{} {}", stage.vgpus, stage.vgpus_per_gpu, name);
  const std::string gpus = fmt::format("{} {}", stage.vgpus / stage.vgpus_per_gpu, name);
  return stage.vgpus_per_gpu == 1 ? gpus : fmt::format("{} as {} × 1/{}", gpus, stage.vgpus, stage.vgpus_per_gpu);
}

std::string PipelinesAsText(const Plan& plan) {
  report::Table table({{"model"},
                       {"batch", Align::kRight},
                       {"blocks"},
                       {"pool"},
                       {"ms a batch", Align::kRight},
                       {"transfer ms", Align::kRight},
                       {"requests/s", Align::kRight}});
  for (const Pipeline& one : plan.pipelines) {
    for (const Stage& stage : one.stages) {
      const bool first = stage.first_block == 0, last = &stage == &one.stages.back();
      const bool says_batch = first || !one.HasUnifiedBatches();
      table.AddRow({first ? plan.models[one.model].name : "", says_batch ? fmt::format("{}", stage.Batch()) : "",
                    fmt::format("{}–{}", stage.first_block, stage.end_block - 1), Pool(plan, stage),
                    fmt::format("{:.2f}", stage.latency_us.back() / 1e3),
                    last ? "" : fmt::format("{:.2f}", stage.transfer_us / 1e3),
                    first ? fmt::format("{:.1f}", one.throughput) : ""});
    }
    table.AddRule();
  }
  return table.Text();
}

std::string ModelsAsText(const Plan& plan) {
  report::Table table({{"model"},
                       {"SLO ms", Align::kRight},
                       {"margin ms", Align::kRight},
                       {"weight", Align::kRight},
                       {"requests/s", Align::kRight},
                       {"/ weight", Align::kRight}});
  for (const ServedModel& model : plan.models) {
    table.AddRow({model.name, fmt::format("{:.1f}", model.slo_us / 1e3), fmt::format("{:.1f}", model.margin_us / 1e3),
                  fmt::format("{:g}", model.weight), fmt::format("{:.1f}", model.throughput),
                  fmt::format("{:.1f}", model.throughput / model.weight)});
  }
  return table.Text();
}

std::string GpusAsText(const Plan& plan) {
  std::string text;
  for (size_t i = 0; i < plan.cluster.classes.size(); ++i) {
    const int gpu_class = static_cast<int>(i);
    text += fmt::format("{}{} of {} {}", i == 0 ? "" : ", ", plan.GpusUsed(gpu_class), plan.cluster.Gpus(gpu_class),
                        plan.cluster.classes[i].name);
  }
  return text;
}

// What the plan reaches, and what no plan would.
std::string ValueAsText(const Plan& plan) {
  const bool cost = plan.objective == Objective::kCost;
  std::string text = cost ? fmt::format("cost {:g}", plan.value)
                          : fmt::format("least throughput / weight {:.1f} requests/s", plan.value);
  text += plan.Gap() < kProven
              ? ", which is the best there is under these rules"
              : fmt::format(", at most {:.2f} % from the best there is (bound {:.1f})", 100 * plan.Gap(), plan.bound);
  return text + fmt::format("; not {} {:.1f} even if GPUs could be divided at will", cost ? "below" : "above",
                            plan.linear_bound);
}

std::string Models(const Plan& plan) {
  std::string text;
  for (const ServedModel& model : plan.models)
    text += (text.empty() ? "" : ", ") + model.name.substr(0, model.name.find('_'));
  return text;
}

struct Totals {
  double least_ratio = 0, largest_gap = 0, mean_s = 0, largest_s = 0;
};

Totals SumUp(const std::vector<ComparedPlan>& compared) {
  Totals totals;
  for (const ComparedPlan& one : compared) {
    const double ratio = one.plan.value / one.published;
    totals.least_ratio = &one == &compared.front() ? ratio : std::min(totals.least_ratio, ratio);
    totals.largest_gap = std::max(totals.largest_gap, one.plan.Gap());
    totals.largest_s = std::max(totals.largest_s, one.plan.solve_s);
    totals.mean_s += one.plan.solve_s / static_cast<double>(compared.size());
  }
  return totals;
}

}  // namespace

std::string PlanAsText(const Plan& plan) {
  return fmt::format("{}\n{}\ncluster {}: {} in use\n{}; planned in {:.1f} ms\n", PipelinesAsText(plan),
                     ModelsAsText(plan), plan.cluster.name, GpusAsText(plan), ValueAsText(plan), plan.solve_s * 1e3);
}

std::string ComparisonAsText(const std::vector<ComparedPlan>& compared, bool markdown) {
  report::Table table({{"algorithm"},
                       {"cluster"},
                       {"models"},
                       {"published", Align::kRight},
                       {"ours", Align::kRight},
                       {"ours/published", Align::kRight},
                       {"bound", Align::kRight},
                       {"gap %", Align::kRight},
                       {"linear bound", Align::kRight},
                       {"ours/linear", Align::kRight},
                       {"ms", Align::kRight}});
  for (const ComparedPlan& one : compared) {
    const Plan& plan = one.plan;
    table.AddRow({one.algorithm, plan.cluster.name, Models(plan), fmt::format("{:.1f}", one.published),
                  fmt::format("{:.1f}", plan.value), fmt::format("{:.4f}", plan.value / one.published),
                  fmt::format("{:.1f}", plan.bound), fmt::format("{:.2f}", 100 * plan.Gap()),
                  fmt::format("{:.1f}", plan.linear_bound), fmt::format("{:.4f}", plan.value / plan.linear_bound),
                  fmt::format("{:.1f}", plan.solve_s * 1e3)});
  }
  const Totals totals = SumUp(compared);
  return fmt::format(
      "{}\n{} cases; least ours/published {:.4f}; largest gap {:.2f} %; planned in {:.1f} ms on average, "
      "{:.1f} ms at most\n",
      markdown ? table.Markdown() : table.Text(), compared.size(), totals.least_ratio, 100 * totals.largest_gap,
      totals.mean_s * 1e3, totals.largest_s * 1e3);
}

std::string ComparisonAsJson(const std::vector<ComparedPlan>& compared) {
  nlohmann::json rows = nlohmann::json::array();
  for (const ComparedPlan& one : compared) {
    std::vector<std::string> names;
    std::vector<double> weights;
    for (const ServedModel& model : one.plan.models) {
      names.push_back(model.name);
      weights.push_back(model.weight);
    }
    rows.push_back({{"dnns", fmt::format("{}", fmt::join(names, "|"))},
                    {"weights", fmt::format("{}", fmt::join(weights, "|"))},
                    {"cluster", one.plan.cluster.name},
                    {"algorithm", one.algorithm},
                    {"published_xput", one.published},
                    {"planned_xput", one.plan.value},
                    {"ratio", one.plan.value / one.published},
                    {"bound_xput", one.plan.bound},
                    {"gap", one.plan.Gap()},
                    {"linear_bound_xput", one.plan.linear_bound},
                    {"solve_s", one.plan.solve_s}});
  }
  return rows.dump(1) + "\n";
}

}  // namespace wharf::cli
