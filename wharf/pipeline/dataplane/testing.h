// What the data plane's tests share: deployments by hand and random ones.
#pragma once

#include <rapidcheck.h>

#include <utility>
#include <vector>

#include "wharf/pipeline/dataplane/deployment.h"

namespace wharf::pipeline {

// Hosts one after the other, each with its virtual GPUs, all of one class; then models and their pipelines.
class DeploymentBuilder {
 public:
  // Returns the host's virtual GPUs.
  std::vector<int> AddHost(int vgpus, double bytes_per_ns) {
    deployment_.hosts.push_back({bytes_per_ns * 8e9});
    std::vector<int> added;
    for (int i = 0; i < vgpus; ++i) {
      added.push_back(static_cast<int>(deployment_.vgpus.size()));
      deployment_.vgpus.push_back({static_cast<int>(deployment_.hosts.size()) - 1, 0, 1});
    }
    return added;
  }
  int AddModel(Nanoseconds slo, double planned_rate) {
    deployment_.models.push_back({"model", slo, planned_rate, {}});
    return static_cast<int>(deployment_.models.size()) - 1;
  }
  int AddPipeline(int model, std::vector<DeployedStage> stages) {
    const int pipeline = static_cast<int>(deployment_.pipelines.size());
    deployment_.models[model].pipelines.push_back(pipeline);
    deployment_.pipelines.push_back({model, std::move(stages)});
    return pipeline;
  }
  Deployment Build() {
    deployment_.classes = {{"L4", static_cast<int>(deployment_.vgpus.size())}};
    return deployment_;
  }

 private:
  Deployment deployment_;
};

inline std::vector<Nanoseconds> Times(std::initializer_list<int64_t> ns) {
  std::vector<Nanoseconds> times;
  for (const int64_t one : ns) times.emplace_back(one);
  return times;
}

// A few hosts and pipelines of one to three stages, of one batch size or of their own; times of a few units of `unit`.
inline Deployment ArbitraryDeployment(Nanoseconds unit) {
  DeploymentBuilder builder;
  const int models = *rc::gen::inRange(1, 3);
  for (int model = 0; model < models; ++model) {
    builder.AddModel(unit * *rc::gen::inRange(10, 60), 0);
    const int pipelines = *rc::gen::inRange(1, 3);
    for (int i = 0; i < pipelines; ++i) {
      std::vector<DeployedStage> stages(*rc::gen::inRange<size_t>(1, 4));
      const bool unified = *rc::gen::arbitrary<bool>();
      int batch = *rc::gen::inRange(1, 4);
      for (size_t s = 0; s < stages.size(); ++s) {
        if (!unified) batch = *rc::gen::inRange(1, 4);
        const int hosts = *rc::gen::inRange(1, 3);
        for (int host = 0; host < hosts; ++host) {
          const double bytes_per_ns = *rc::gen::inRange(1, 4);
          for (const int vgpu : builder.AddHost(*rc::gen::inRange(1, 3), bytes_per_ns)) stages[s].vgpus.push_back(vgpu);
        }
        Nanoseconds compute(0);
        for (int n = 0; n < batch; ++n) {
          compute += unit * *rc::gen::inRange(n == 0 ? 1 : 0, 6);
          stages[s].compute.push_back(compute);
        }
        if (s > 0) stages[s].input_bytes = static_cast<double>((unit * *rc::gen::inRange(0, 8)).count());
      }
      builder.AddPipeline(model, std::move(stages));
    }
  }
  return builder.Build();
}

}  // namespace wharf::pipeline
