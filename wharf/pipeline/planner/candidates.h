// Candidates: every pipeline that serves a model within its latency budget, before anybody decides how many GPUs it
// has.
#pragma once

#include <vector>

#include "wharf/pipeline/cluster.h"
#include "wharf/pipeline/model_profile.h"
#include "wharf/pipeline/plan.h"

namespace wharf::pipeline {

struct CandidateStage {
  int first_block = 0, end_block = 0;
  int gpu_class = 0, vgpus_per_gpu = 1;
  double latency_us = 0;   // of a batch
  double transfer_us = 0;  // of a batch to the next stage
  // Requests/s of one whole GPU: of each of its virtual GPUs batch / latency, or what its even share of the host's link
  // lets in or out if that is less.
  double gpu_rate = 0;
  int batch = 1;

  // Of one of them.
  double VgpuRate() const { return gpu_rate / vgpus_per_gpu; }
};

struct Candidate {
  int batch = 1;  // the stages' largest
  std::vector<CandidateStage> stages;

  double LatencyUs() const;  // of all stages and transfers
};

enum class Mode {
  kOurs,
  kNoPartitioning,  // NP: one stage, no virtual GPUs
  kDartR,           // DART-r: one GPU each of two classes, replicated; or one stage; no virtual GPUs
};

struct CandidateRules {
  Mode mode = Mode::kOurs;
  int max_partitions = 2;
  // Virtual GPUs are given to stages one by one, and those of one GPU may serve different stages of one model.
  // Otherwise a stage has whole GPUs. Without virtual GPUs it is all the same.
  bool share_gpus = true;
  // All stages of a pipeline have one batch size (thesis 4.5.4, 4.B); otherwise each has its own (4.A).
  bool unify_batches = true;
  // Stages may compute on parts of GPUs; otherwise on whole ones only (4.A).
  bool divide_gpus = true;
};

// All whose latencies, transfers and batch building meet model.BudgetUs of their largest batch, without those that
// another one dominates: one with stages on the same classes, none of them slower, and of rules.share_gpus each on
// parts that make up the other's. No plan is lost by that. Empty: the budget cannot be met. What the profile does not
// have was not measured and is not used.
std::vector<Candidate> FindCandidates(const Cluster& cluster, const ModelProfile& profile, const ServedModel& model,
                                      const CandidateRules& rules);

}  // namespace wharf::pipeline
