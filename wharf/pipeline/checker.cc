#include "wharf/pipeline/checker.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wharf::pipeline {
namespace {

constexpr double kTolerance = 1e-6;  // of sums, as a share

bool Same(double a, double b) { return std::abs(a - b) <= kTolerance * std::max({1.0, std::abs(a), std::abs(b)}); }
bool AtMost(double a, double b) { return a <= b || Same(a, b); }

// A batch's way through a pipeline, by the profile and the cluster alone.
class PipelineCheck {
 public:
  PipelineCheck(const Plan& plan, const Pipeline& pipeline, const ModelProfile& profile)
      : cluster_(plan.cluster), pipeline_(pipeline), profile_(profile), model_(plan.models[pipeline.model]) {}

  absl::Status Check() const {
    double way_us = 0, slowest = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < pipeline_.stages.size(); ++i) {
      WHARF_RETURN_IF_ERROR(CheckLatencies(pipeline_.stages[i]));
      WHARF_RETURN_IF_ERROR(CheckTransfer(i));
      way_us += pipeline_.stages[i].latency_us.back() + pipeline_.stages[i].transfer_us;
      slowest = std::min(slowest, StageRate(i));
    }
    const double building_us =
        model_.expected_rate > 0 ? 1.3e6 / model_.expected_rate * static_cast<double>(pipeline_.batch - 1) : 0;
    if (!AtMost(way_us + building_us + model_.margin_us, model_.slo_us)) {
      return FailedPrecondition(
          "takes {:.1f} µs and {:.1f} µs to build a batch, with a margin of {:.1f} µs more than "
          "the SLO of {:.1f} µs",
          way_us, building_us, model_.margin_us, model_.slo_us);
    }
    if (!AtMost(pipeline_.throughput, slowest)) {
      return FailedPrecondition("promises {:.3f} requests/s; its slowest stage makes {:.3f}", pipeline_.throughput,
                                slowest);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckLatencies(const Stage& stage) const {
    const std::string& name = cluster_.classes[stage.gpu_class].name;
    const VgpuProfile* measured = profile_.Find(name, stage.vgpus_per_gpu);
    if (measured == nullptr || measured->MaxBatch() < stage.Batch()) {
      return FailedPrecondition("uses 1/{} of {} in batches of {}, which was not measured", stage.vgpus_per_gpu, name,
                                stage.Batch());
    }
    for (int batch = 1; batch <= stage.Batch(); ++batch) {
      double sum = 0;
      for (int block = stage.first_block; block < stage.end_block; ++block)
        sum += measured->latency_us[batch - 1][block];
      for (int block = stage.first_block; block + 1 < stage.end_block && !measured->saved_us.empty(); ++block)
        sum -= measured->saved_us[batch - 1][block];
      if (!Same(sum, stage.latency_us[batch - 1])) {
        return FailedPrecondition("says {:.1f} µs for blocks {} to {} in batches of {}; measured were {:.1f} µs",
                                  stage.latency_us[batch - 1], stage.first_block, stage.end_block, batch, sum);
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckTransfer(size_t index) const {
    const Stage& stage = pipeline_.stages[index];
    if (index + 1 == pipeline_.stages.size()) return absl::OkStatus();
    const int64_t bytes = profile_.output_bytes[stage.end_block - 1];
    if (stage.output_bytes != bytes) {
      return FailedPrecondition("sends {} bytes behind block {}, not {}", stage.output_bytes, stage.end_block, bytes);
    }
    double link = std::numeric_limits<double>::infinity();
    for (const HostGroup& group : cluster_.hosts) {
      if (group.gpu_class == stage.gpu_class || group.gpu_class == pipeline_.stages[index + 1].gpu_class) {
        link = std::min(link, group.link_bits_per_s);
      }
    }
    const double us = static_cast<double>(bytes) * stage.Batch() * 8 / link * 1e6;
    if (Same(us, stage.transfer_us)) return absl::OkStatus();
    return FailedPrecondition("says {:.1f} µs for a transfer of {:.1f} µs", stage.transfer_us, us);
  }

  double StageRate(size_t index) const {
    const Stage& stage = pipeline_.stages[index];
    double bytes = 0;  // the larger of what a sample brings and what it leaves
    if (index > 0) bytes = static_cast<double>(profile_.output_bytes[stage.first_block - 1]);
    if (index + 1 < pipeline_.stages.size()) {
      bytes = std::max(bytes, static_cast<double>(profile_.output_bytes[stage.end_block - 1]));
    }
    double rate = stage.Batch() * 1e6 / stage.latency_us.back();
    for (const HostGroup& group : cluster_.hosts) {
      if (group.gpu_class != stage.gpu_class || bytes == 0) continue;
      rate = std::min(rate, group.link_bits_per_s / (group.gpus_per_host * stage.vgpus_per_gpu) / (8 * bytes));
    }
    return rate * stage.vgpus;
  }

  const Cluster& cluster_;
  const Pipeline& pipeline_;
  const ModelProfile& profile_;
  const ServedModel& model_;
};

absl::Status CheckSums(const Plan& plan) {
  std::vector<double> made(plan.models.size());
  for (const Pipeline& pipeline : plan.pipelines) made[pipeline.model] += pipeline.throughput;
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < made.size(); ++i) {
    const ServedModel& model = plan.models[i];
    if (!Same(made[i], model.throughput)) {
      return FailedPrecondition("{} has {:.3f} requests/s, its pipelines {:.3f}", model.name, model.throughput,
                                made[i]);
    }
    if (plan.objective == Objective::kCost && !AtMost(model.weight, made[i])) {
      return FailedPrecondition("{} gets {:.3f} of {:.3f} requests/s", model.name, made[i], model.weight);
    }
    least = std::min(least, made[i] / model.weight);
  }
  double cost = 0;
  for (size_t i = 0; i < plan.cluster.classes.size(); ++i) {
    cost += plan.GpusUsed(static_cast<int>(i)) * plan.cluster.classes[i].cost;
  }
  const double value = plan.objective == Objective::kCost ? cost : least;
  if (!Same(value, plan.value)) return FailedPrecondition("the value is {:.3f}, not {:.3f}", value, plan.value);
  const bool ordered = plan.objective == Objective::kCost
                           ? AtMost(plan.linear_bound, plan.bound) && AtMost(plan.bound, plan.value)
                           : AtMost(plan.value, plan.bound) && AtMost(plan.bound, plan.linear_bound);
  if (ordered) return absl::OkStatus();
  return FailedPrecondition("the value {:.3f} and the bounds {:.3f} and {:.3f} are out of order", plan.value,
                            plan.bound, plan.linear_bound);
}

}  // namespace

absl::Status CheckPlan(const Plan& plan, std::span<const ModelProfile> profiles) {
  WHARF_RETURN_IF_ERROR(CheckStructure(plan));
  for (size_t i = 0; i < plan.pipelines.size(); ++i) {
    const ServedModel& model = plan.models[plan.pipelines[i].model];
    const auto profile = std::ranges::find(profiles, model.name, &ModelProfile::model);
    if (profile == profiles.end() || profile->Blocks() != model.blocks) {
      return InvalidArgument("there is no profile of {} with {} blocks", model.name, model.blocks);
    }
    const absl::Status fine = PipelineCheck(plan, plan.pipelines[i], *profile).Check();
    if (!fine.ok()) return FailedPrecondition("pipeline {} of {} {}", i, model.name, Message(fine));
  }
  return CheckSums(plan);
}

}  // namespace wharf::pipeline
