// Plan: which pipelines serve which models on a cluster. Made by the planner (planner.h), carried out by the data
// plane; it says all that serving needs: the cluster, the pools, and how long each stage takes at every batch size up
// to the planned one.
//
// A request of a model goes through one of the model's pipelines: stage after stage, on any virtual GPU of each stage's
// pool, in batches of at most the pipeline's size; between stages the batch's feature maps cross both hosts' links.
// A virtual GPU serves one stage; those of one GPU may serve different stages of one model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/pipeline/cluster.h"

namespace wharf::pipeline {

inline constexpr double kBatchBuildingFactor = 1.3;  // as the published plans have it

struct Stage {
  int first_block = 0, end_block = 0;  // [first, end)
  int gpu_class = 0;                   // index into the cluster's classes
  int vgpus_per_gpu = 1;
  int vgpus = 0;                   // virtual ones, each 1 / vgpus_per_gpu of a GPU: any of them serves a batch
  std::vector<double> latency_us;  // [batch - 1], batch = 1 … Batch(): of a whole batch on one virtual GPU
  int64_t output_bytes = 0;        // sent to the next stage for one sample; 0 of the last stage
  double transfer_us = 0;          // of a full batch to the next stage, alone on the links; 0 of the last stage

  // Requests that it computes as one at most: the pipeline's where batch sizes are unified, or less.
  int Batch() const { return static_cast<int>(latency_us.size()); }
  friend bool operator==(const Stage&, const Stage&) = default;
};

// What the stage's virtual GPUs are together, in units of 1/kUnitsPerGpu of a GPU. REQUIRES: vgpus_per_gpu is 1 to
// kMaxVgpus.
inline int64_t UnitsOf(const Stage& stage) { return int64_t{stage.vgpus} * (kUnitsPerGpu / stage.vgpus_per_gpu); }

struct Pipeline {
  int model = 0;  // index into Plan::models
  int batch = 1;  // the stages' largest, and with batch size unification (thesis 4.5.4) every stage's
  std::vector<Stage> stages;
  double throughput = 0;  // requests/s: of its slowest stage

  // Whether every stage has the same batch size. Otherwise batches are formed anew at each stage.
  bool HasUnifiedBatches() const;
  friend bool operator==(const Pipeline&, const Pipeline&) = default;
};

struct ServedModel {
  std::string name;
  int blocks = 0;
  double slo_us = 0;     // from arrival to answer
  double margin_us = 0;  // taken off the SLO in planning only: it leaves room for waiting
  double weight = 1;     // its share of the requests; of kCost: the requests/s asked for
  // Requests/s at which planning lets batches fill up; 0: they are there at once.
  double expected_rate = 0;
  double throughput = 0;  // requests/s: of its pipelines together

  // What planning lets a batch wait until it is full: kBatchBuildingFactor times its further requests' arrival times.
  double BatchBuildingUs(int batch) const;
  // What planning leaves the stages and transfers of a batch.
  double BudgetUs(int batch) const { return slo_us - margin_us - BatchBuildingUs(batch); }
  friend bool operator==(const ServedModel&, const ServedModel&) = default;
};

enum class Objective { kThroughput, kCost };

struct Plan {
  Cluster cluster;
  std::vector<ServedModel> models;
  std::vector<Pipeline> pipelines;
  Objective objective = Objective::kThroughput;
  // kThroughput: min over models of throughput / weight, requests/s, to be large. kCost: of all GPUs, to be small.
  double value = 0;
  double bound = 0;  // certified: no plan under the planner's rules has a better value
  // No plan had a better value even if GPUs could be divided at will among stages and models: the linear relaxation's.
  double linear_bound = 0;
  double solve_s = 0;

  // How far `value` may be from the best, as a share of it: 0 is proven optimal.
  double Gap() const;
  // GPUs of a class that some stage uses. A GPU serves one model, its virtual GPUs any of that model's stages: so many
  // hold all of them, whatever their sizes (dataplane/gpu_packing.h).
  int GpusUsed(int gpu_class) const;
  friend bool operator==(const Plan&, const Plan&) = default;
};

std::string ToJson(const Plan& plan);
// What ToJson writes, and nothing else: kInvalidArgument says in one line what is wrong, a plan that does not hold
// together (CheckStructure) included. Safe on hostile text; the text is at most 16 MiB.
absl::StatusOr<Plan> ParsePlan(std::string_view json);

// kInvalidArgument: indices out of range, stages that do not cover the model's blocks in order, missing latencies,
// numbers out of range, or more GPUs than there are. Whether a plan keeps its promises is checker.h's business.
absl::Status CheckStructure(const Plan& plan);

}  // namespace wharf::pipeline
