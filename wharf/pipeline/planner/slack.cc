#include "wharf/pipeline/planner/slack.h"

#include <algorithm>
#include <functional>

namespace wharf::pipeline {
namespace {

constexpr double kRounding = 1e-9;  // of rates, as a share
constexpr double kBitsPerByte = 8;

double RateOf(const Cluster& cluster, const Pipeline& pipeline, size_t index, const Stage& stage) {
  double rate = stage.Batch() * 1e6 / stage.latency_us.back();
  const double share = cluster.LinkShareBitsPerS(stage.gpu_class) / stage.vgpus_per_gpu / kBitsPerByte;
  const auto in = index == 0 ? 0.0 : static_cast<double>(pipeline.stages[index - 1].output_bytes);
  for (const double bytes : {in, static_cast<double>(stage.output_bytes)}) {
    if (bytes > 0) rate = std::min(rate, share / bytes);
  }
  return stage.vgpus * rate;
}

// The stage on the same GPUs in `parts` of each; without latencies if that was not measured.
Stage Divided(const Cluster& cluster, const ModelProfile& profile, const Stage& stage, int parts) {
  Stage other = stage;
  other.vgpus_per_gpu = parts;
  other.vgpus = stage.vgpus / stage.vgpus_per_gpu * parts;
  other.latency_us.clear();
  const VgpuProfile* measured = profile.Find(cluster.classes[stage.gpu_class].name, parts);
  if (measured == nullptr || measured->MaxBatch() < stage.Batch()) return other;
  for (int batch = 1; batch <= stage.Batch(); ++batch) {
    other.latency_us.push_back(measured->LatencyUs(batch, stage.first_block, stage.end_block));
  }
  return other;
}

bool NoneLonger(const Stage& a, const Stage& b) {
  return a.Batch() == b.Batch() && std::ranges::equal(a.latency_us, b.latency_us, std::less_equal<>());
}

// `rates`: [pipeline][stage], what its rate must be at least.
void DivideLess(const std::vector<Demand>& demands, const std::vector<std::vector<double>>& rates, Plan& plan) {
  for (size_t p = 0; p < plan.pipelines.size(); ++p) {
    Pipeline& pipeline = plan.pipelines[p];
    for (size_t i = 0; i < pipeline.stages.size(); ++i) {
      Stage& stage = pipeline.stages[i];
      if (stage.vgpus % stage.vgpus_per_gpu != 0) continue;  // shares a GPU
      for (int parts = 1; parts < stage.vgpus_per_gpu; ++parts) {
        Stage other = Divided(plan.cluster, *demands[pipeline.model].profile, stage, parts);
        if (!NoneLonger(other, stage)) continue;
        if (RateOf(plan.cluster, pipeline, i, other) < rates[p][i] * (1 - kRounding)) continue;
        stage = std::move(other);
        break;
      }
    }
  }
}

void GiveIdleGpus(Plan& plan) {
  for (size_t c = 0; c < plan.cluster.classes.size(); ++c) {
    const int gpu_class = static_cast<int>(c);
    for (int idle = plan.cluster.Gpus(gpu_class) - plan.GpusUsed(gpu_class); idle > 0; --idle) {
      Stage* busiest = nullptr;
      double most = 0;
      for (Pipeline& pipeline : plan.pipelines) {
        for (size_t i = 0; i < pipeline.stages.size(); ++i) {
          Stage& stage = pipeline.stages[i];
          const double busy = pipeline.throughput / RateOf(plan.cluster, pipeline, i, stage);
          if (stage.gpu_class != gpu_class || busy <= most) continue;
          busiest = &stage;
          most = busy;
        }
      }
      if (busiest == nullptr) break;
      busiest->vgpus += busiest->vgpus_per_gpu;
    }
  }
}

}  // namespace

double StageRate(const Cluster& cluster, const Pipeline& pipeline, size_t stage) {
  return RateOf(cluster, pipeline, stage, pipeline.stages[stage]);
}

void SpendSlack(const std::vector<Demand>& demands, Plan& plan) {
  std::vector<std::vector<double>> rates;
  for (const Pipeline& pipeline : plan.pipelines) {
    rates.emplace_back();
    for (size_t i = 0; i < pipeline.stages.size(); ++i) rates.back().push_back(StageRate(plan.cluster, pipeline, i));
  }
  GiveIdleGpus(plan);
  DivideLess(demands, rates, plan);
}

}  // namespace wharf::pipeline
