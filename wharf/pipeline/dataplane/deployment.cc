#include "wharf/pipeline/dataplane/deployment.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

  // One GPU of the class, whose traffic is `bits_per_s`, divided into `vgpus`; false if none is left.
  bool Place(int gpu_class, int vgpus, double bits_per_s, std::vector<int>& pool) {
    int best = -1;
    for (int host = 0; host < static_cast<int>(free_.size()); ++host) {
      if (free_[host].gpu_class != gpu_class || free_[host].gpus == 0) continue;
      if (best < 0 || (placement_ == Placement::kSpread && Load(host) < Load(best))) best = host;
    }
    if (best < 0) return false;
    --free_[best].gpus;
    free_[best].bits_per_s += bits_per_s;
    for (int i = 0; i < vgpus; ++i) {
      pool.push_back(static_cast<int>(deployment_.vgpus.size()));
      deployment_.vgpus.push_back({best, gpu_class, 1.0 / vgpus});
    }
    return true;
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

struct StageToPlace {
  int pipeline, stage;
  double bits_per_s;  // of one of its GPUs: the busier direction
};

std::vector<StageToPlace> StagesToPlace(const Plan& plan, Placement placement) {
  std::vector<StageToPlace> order;
  for (int p = 0; p < static_cast<int>(plan.pipelines.size()); ++p) {
    const Pipeline& pipeline = plan.pipelines[p];
    for (int s = 0; s < static_cast<int>(pipeline.stages.size()); ++s) {
      const double in = s == 0 ? 0 : static_cast<double>(pipeline.stages[s - 1].output_bytes);
      const double out = static_cast<double>(pipeline.stages[s].output_bytes);
      order.push_back({p, s, 8 * pipeline.throughput * std::max(in, out) / std::max(1, pipeline.stages[s].gpus)});
    }
  }
  if (placement == Placement::kInOrder) return order;
  std::stable_sort(order.begin(), order.end(),
                   [](const StageToPlace& a, const StageToPlace& b) { return a.bits_per_s > b.bits_per_s; });
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
  for (const StageToPlace& next : StagesToPlace(plan, placement)) {
    const Stage& stage = plan.pipelines[next.pipeline].stages[next.stage];
    std::vector<int>& pool = deployment.pipelines[next.pipeline].stages[next.stage].vgpus;
    for (int gpu = 0; gpu < stage.gpus; ++gpu) {
      if (!hosts.Place(stage.gpu_class, stage.vgpus_per_gpu, next.bits_per_s, pool)) {
        return InvalidArgument("the plan wants more GPUs of class {} than there are",
                               plan.cluster.classes[stage.gpu_class].name);
      }
    }
    std::stable_sort(pool.begin(), pool.end(),
                     [&](int a, int b) { return deployment.vgpus[a].host < deployment.vgpus[b].host; });
  }
  return deployment;
}

}  // namespace wharf::pipeline
