#include "wharf/pipeline/plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "wharf/pipeline/model_profile.h"

namespace wharf::pipeline {
namespace {

constexpr size_t kMaxModels = 1024, kMaxPipelines = 4096, kMaxStages = 16;
constexpr double kMaxUs = 1e12, kMaxRate = 1e12;
constexpr int64_t kMaxOutputBytes = int64_t{1} << 40;

bool Within(double value, double most) { return value >= 0 && value <= most; }  // false of NaN

template <typename T>
bool IsIndex(int value, const std::vector<T>& of) {
  return value >= 0 && static_cast<size_t>(value) < of.size();
}

absl::Status CheckModel(const ServedModel& model) {
  if (model.blocks < 1 || model.blocks > kMaxBlocks) {
    return InvalidArgument("model {} has {} blocks, not 1 to {}", model.name, model.blocks, kMaxBlocks);
  }
  if (!Within(model.slo_us, kMaxUs) || !Within(model.margin_us, kMaxUs) || !Within(model.expected_rate, kMaxRate) ||
      !Within(model.throughput, kMaxRate) || !Within(model.weight, kMaxRate) || model.weight == 0) {
    return InvalidArgument("a number of model {} is out of range", model.name);
  }
  return absl::OkStatus();
}

absl::Status CheckStage(const Stage& stage, const Pipeline& pipeline, const Cluster& cluster) {
  if (!IsIndex(stage.gpu_class, cluster.classes)) return InvalidArgument("has a stage on a class that is not there");
  const GpuClass& gpu_class = cluster.classes[stage.gpu_class];
  if (stage.vgpus_per_gpu < 1 || stage.vgpus_per_gpu > gpu_class.max_vgpus) {
    return InvalidArgument("divides a {} in {}, not 1 to {}", gpu_class.name, stage.vgpus_per_gpu, gpu_class.max_vgpus);
  }
  const int64_t parts = int64_t{cluster.Gpus(stage.gpu_class)} * stage.vgpus_per_gpu;
  if (stage.vgpus < 1 || stage.vgpus > parts) {
    return InvalidArgument("has a stage on {} virtual GPUs of the {} 1/{} of class {}", stage.vgpus, parts,
                           stage.vgpus_per_gpu, gpu_class.name);
  }
  const auto is_latency = [](double us) { return us > 0 && us <= kMaxUs; };
  if (stage.latency_us.empty() || stage.latency_us.size() > static_cast<size_t>(pipeline.batch) ||
      !std::ranges::all_of(stage.latency_us, is_latency)) {
    return InvalidArgument("has a stage without a latency above 0 of every batch size, 1 to {} of them at most",
                           pipeline.batch);
  }
  if (stage.output_bytes < 0 || stage.output_bytes > kMaxOutputBytes || !Within(stage.transfer_us, kMaxUs)) {
    return InvalidArgument("has a stage whose transfer is out of range");
  }
  return absl::OkStatus();
}

absl::Status CheckPipeline(const Pipeline& pipeline, const Plan& plan) {
  if (!IsIndex(pipeline.model, plan.models)) return InvalidArgument("is of a model that is not there");
  if (pipeline.batch < 1 || pipeline.batch > kMaxBatch) {
    return InvalidArgument("has batches of {}, not 1 to {}", pipeline.batch, kMaxBatch);
  }
  if (pipeline.stages.empty() || pipeline.stages.size() > kMaxStages) {
    return InvalidArgument("has {} stages, not 1 to {}", pipeline.stages.size(), kMaxStages);
  }
  if (!Within(pipeline.throughput, kMaxRate)) return InvalidArgument("has a throughput out of range");
  int next = 0;
  for (const Stage& stage : pipeline.stages) {
    if (stage.first_block != next || stage.end_block <= next) {
      return InvalidArgument("has a stage of blocks {} to {} where block {} comes next", stage.first_block,
                             stage.end_block, next);
    }
    next = stage.end_block;
    WHARF_RETURN_IF_ERROR(CheckStage(stage, pipeline, plan.cluster));
  }
  if (std::ranges::max_element(pipeline.stages, {}, &Stage::Batch)->Batch() != pipeline.batch) {
    return InvalidArgument("has no stage with batches of {}", pipeline.batch);
  }
  const ServedModel& model = plan.models[pipeline.model];
  if (next != model.blocks) return InvalidArgument("ends at block {} of {}'s {}", next, model.name, model.blocks);
  if (pipeline.stages.back().output_bytes != 0 || pipeline.stages.back().transfer_us != 0) {
    return InvalidArgument("transfers something behind its last stage");
  }
  return absl::OkStatus();
}

}  // namespace

double ServedModel::BatchBuildingUs(int batch) const {
  return expected_rate > 0 ? kBatchBuildingFactor * 1e6 * (batch - 1) / expected_rate : 0;
}

bool Pipeline::HasUnifiedBatches() const {
  return std::ranges::all_of(stages, [this](const Stage& stage) { return stage.Batch() == batch; });
}

double Plan::Gap() const {
  const double better = objective == Objective::kThroughput ? bound : value;
  const double worse = objective == Objective::kThroughput ? value : bound;
  return better > 0 ? std::max(0.0, (better - worse) / better) : 0;
}

int Plan::GpusUsed(int gpu_class) const {
  std::vector<int64_t> units(models.size());  // kUnitsPerGpu make a GPU
  for (const Pipeline& pipeline : pipelines) {
    for (const Stage& stage : pipeline.stages) {
      if (stage.gpu_class == gpu_class) units[pipeline.model] += UnitsOf(stage);
    }
  }
  int64_t gpus = 0;
  for (const int64_t of_model : units) gpus += (of_model + kUnitsPerGpu - 1) / kUnitsPerGpu;
  return static_cast<int>(std::min<int64_t>(gpus, std::numeric_limits<int>::max()));
}

absl::Status CheckStructure(const Plan& plan) {
  if (const absl::Status cluster = Check(plan.cluster); !cluster.ok()) {
    return InvalidArgument("the plan's cluster: {}", Message(cluster));
  }
  if (plan.models.empty() || plan.models.size() > kMaxModels) {
    return InvalidArgument("{} models, not 1 to {}", plan.models.size(), kMaxModels);
  }
  if (plan.pipelines.size() > kMaxPipelines) return InvalidArgument("more than {} pipelines", kMaxPipelines);
  for (const ServedModel& model : plan.models) WHARF_RETURN_IF_ERROR(CheckModel(model));
  for (size_t i = 0; i < plan.pipelines.size(); ++i) {
    const absl::Status fine = CheckPipeline(plan.pipelines[i], plan);
    if (!fine.ok()) return InvalidArgument("pipeline {} {}", i, Message(fine));
  }
  for (size_t i = 0; i < plan.cluster.classes.size(); ++i) {
    const int used = plan.GpusUsed(static_cast<int>(i)), there = plan.cluster.Gpus(static_cast<int>(i));
    if (used > there) {
      return InvalidArgument("the plan uses {} GPUs of class {}; there are {}", used, plan.cluster.classes[i].name,
                             there);
    }
  }
  return absl::OkStatus();
}

}  // namespace wharf::pipeline
