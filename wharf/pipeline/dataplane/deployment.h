// Deployment: a plan on named machines: which virtual GPU serves which stage, and in which host it is. What the data
// plane and whoever carries out its commands (the simulator, real workers) both go by.
#pragma once

#include <string>
#include <vector>

#include "wharf/base/clock.h"
#include "wharf/pipeline/plan.h"

namespace wharf::pipeline {

struct Host {
  double link_bits_per_s = 0;  // of its network interface, each direction; shared by all of its GPUs
};

struct VirtualGpu {
  int host = 0;       // index into Deployment::hosts
  int gpu_class = 0;  // index into Deployment::classes
  double share = 1;   // of a physical GPU
  int gpu = 0;        // which: those with the same number are parts of one GPU
};

struct DeployedStage {
  std::vector<int> vgpus;            // the pool; ascending by host
  std::vector<Nanoseconds> compute;  // [batch - 1], of a whole batch on one of them; more takes no less
  double input_bytes = 0;            // of one request, from the stage before; 0 of the first stage

  int Batch() const { return static_cast<int>(compute.size()); }
};

struct DeployedPipeline {
  int model = 0;
  std::vector<DeployedStage> stages;
  // The most requests that every stage computes as one: of batches that stay together all the way.
  int Batch() const;
};

struct DeployedModel {
  std::string name;
  Nanoseconds slo{0};       // from arrival to answer
  double planned_rate = 0;  // requests/s at load 1: all models' throughputs scaled down to their weights
  std::vector<int> pipelines;
};

struct DeployedClass {
  std::string name;
  int gpus = 0;  // in the cluster, used or not
};

struct Deployment {
  std::vector<DeployedClass> classes;
  std::vector<Host> hosts;
  std::vector<VirtualGpu> vgpus;
  std::vector<DeployedModel> models;
  std::vector<DeployedPipeline> pipelines;

  // Of `bytes` from one host to another, alone on both links. Within a host nothing crosses a link: 0.
  Nanoseconds TransferTime(int from_host, int to_host, double bytes) const;
};

enum class Placement {
  // Those GPUs that move most over the network first, each to the host whose link has least to carry: the heaviest
  // stages do not share a link if they need not.
  kSpread,
  kInOrder,  // stage after stage, host after host
};

// Every stage's virtual GPUs on GPUs (gpu_packing.h), and these on hosts of their class. Deterministic.
// kInvalidArgument: CheckStructure fails.
absl::StatusOr<Deployment> Deploy(const Plan& plan, Placement placement = Placement::kSpread);

}  // namespace wharf::pipeline
