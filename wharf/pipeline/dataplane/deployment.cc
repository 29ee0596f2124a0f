#include "wharf/pipeline/dataplane/deployment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "wharf/pipeline/dataplane/gpu_packing.h"

namespace wharf::pipeline {
namespace {

Nanoseconds FromMicroseconds(double us) { return Nanoseconds(std::llround(us * 1e3)); }

// Where the GPUs of a cluster are, and how much of them and of their links is given away.
class Hosts {
 public:
  Hosts(const Cluster& cluster, Deployment& deployment, Placement placement)
      : deployment_(deployment), placement_(placement) {
    for (const HostGroup& group : cluster.hosts) {
      for (int i = 0; i < group.hosts; ++i) {
        deployment.hosts.push_back({group.link_bits_per_s});
        free_.push_back({group.gpu_class, group.gpus_per_host, 0});
      }
    }
  }

  // A GPU whose traffic is `bits_per_s`: the number of its host; -1 if none of its class is left.
  int Place(int gpu_class, double bits_per_s) {
    int best = -1;
    for (int host = 0; host < static_cast<int>(free_.size()); ++host) {
      if (free_[host].gpu_class != gpu_class || free_[host].gpus == 0) continue;
      if (best < 0 || (placement_ == Placement::kSpread && Load(host) < Load(best))) best = host;
    }
    if (best < 0) return best;
    --free_[best].gpus;
    free_[best].bits_per_s += bits_per_s;
    return best;
  }

 private:
  struct FreeHost {
    int gpu_class, gpus;
    double bits_per_s;  // what the GPUs given away move
  };
  double Load(int host) const { return free_[host].bits_per_s / deployment_.hosts[host].link_bits_per_s; }

  Deployment& deployment_;
  const Placement placement_;
  std::vector<FreeHost> free_;
};

struct GpuToPlace {
  PackedGpu gpu;
  double bits_per_s = 0;  // the busier direction of each of its parts
};

std::vector<GpuToPlace> GpusToPlace(const Plan& plan, Placement placement) {
  std::vector<GpuToPlace> order;
  for (PackedGpu& gpu : PackGpus(plan)) {
    double bits_per_s = 0;
    for (const GpuPart& part : gpu.parts) {
      const Pipeline& pipeline = plan.pipelines[part.pipeline];
      const double in = part.stage == 0 ? 0 : static_cast<double>(pipeline.stages[part.stage - 1].output_bytes);
      const double out = static_cast<double>(pipeline.stages[part.stage].output_bytes);
      bits_per_s += 8 * pipeline.throughput * std::max(in, out) / pipeline.stages[part.stage].vgpus;
    }
    order.push_back({std::move(gpu), bits_per_s});
  }
  if (placement == Placement::kInOrder) return order;
  std::stable_sort(order.begin(), order.end(),
                   [](const GpuToPlace& a, const GpuToPlace& b) { return a.bits_per_s > b.bits_per_s; });
  return order;
}

// `vgpus` to be filled.
DeployedStage DeployedOf(const Pipeline& pipeline, size_t stage) {
  DeployedStage deployed;
  deployed.input_bytes = stage == 0 ? 0 : static_cast<double>(pipeline.stages[stage - 1].output_bytes);
  Nanoseconds least(1);
  for (const double us : pipeline.stages[stage].latency_us) {
    least = std::max(least, FromMicroseconds(us));  // measured times may fall with the batch; the data plane's do not
    deployed.compute.push_back(least);
  }
  return deployed;
}

}  // namespace

int DeployedPipeline::Batch() const { return std::ranges::min_element(stages, {}, &DeployedStage::Batch)->Batch(); }

Nanoseconds Deployment::TransferTime(int from_host, int to_host, double bytes) const {
  if (from_host == to_host || bytes <= 0) return Nanoseconds(0);
  const double bytes_per_ns = std::min(hosts[from_host].link_bits_per_s, hosts[to_host].link_bits_per_s) / 8e9;
  return Nanoseconds(std::max<int64_t>(1, static_cast<int64_t>(std::ceil(bytes / bytes_per_ns))));
}

absl::StatusOr<Deployment> Deploy(const Plan& plan, Placement placement) {
  WHARF_RETURN_IF_ERROR(CheckStructure(plan));
  Deployment deployment;
  for (int c = 0; c < static_cast<int>(plan.cluster.classes.size()); ++c) {
    deployment.classes.push_back({plan.cluster.classes[c].name, plan.cluster.Gpus(c)});
  }
  double per_weight = std::numeric_limits<double>::infinity();
  for (const ServedModel& model : plan.models) per_weight = std::min(per_weight, model.throughput / model.weight);
  for (const ServedModel& model : plan.models) {
    deployment.models.push_back({model.name, FromMicroseconds(model.slo_us), per_weight * model.weight, {}});
  }
  for (const Pipeline& pipeline : plan.pipelines) {
    deployment.models[pipeline.model].pipelines.push_back(static_cast<int>(deployment.pipelines.size()));
    deployment.pipelines.push_back({pipeline.model, {}});
    for (size_t s = 0; s < pipeline.stages.size(); ++s) {
      deployment.pipelines.back().stages.push_back(DeployedOf(pipeline, s));
    }
  }
  Hosts hosts(plan.cluster, deployment, placement);
  int gpus = 0;
  for (const GpuToPlace& next : GpusToPlace(plan, placement)) {
    const int host = hosts.Place(next.gpu.gpu_class, next.bits_per_s);
    if (host < 0) {
      return InvalidArgument("the plan wants more GPUs of class {} than there are",
                             plan.cluster.classes[next.gpu.gpu_class].name);
    }
    for (const GpuPart& part : next.gpu.parts) {
      const Stage& stage = plan.pipelines[part.pipeline].stages[part.stage];
      deployment.pipelines[part.pipeline].stages[part.stage].vgpus.push_back(static_cast<int>(deployment.vgpus.size()));
      deployment.vgpus.push_back({host, stage.gpu_class, 1.0 / stage.vgpus_per_gpu, gpus});
    }
    ++gpus;
  }
  for (DeployedPipeline& pipeline : deployment.pipelines) {
    for (DeployedStage& stage : pipeline.stages) {
      std::stable_sort(stage.vgpus.begin(), stage.vgpus.end(),
                       [&](int a, int b) { return deployment.vgpus[a].host < deployment.vgpus[b].host; });
    }
  }
  return deployment;
}

}  // namespace wharf::pipeline
