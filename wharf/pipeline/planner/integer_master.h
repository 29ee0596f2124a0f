// The integer master: how many GPUs, or virtual GPUs, each stage of each candidate gets, as an integer program for CBC.
// For clusters whose PoolGrid is too large for PoolTable.
#pragma once

#include <span>
#include <vector>

#include "wharf/pipeline/planner/candidates.h"
#include "wharf/pipeline/planner/pool_table.h"
#include "wharf/pipeline/planner/relaxation.h"

namespace wharf::pipeline {

struct MasterOptions {
  double gap = 0.005;             // share of the best at which CBC may stop
  double seconds = 0.8;           // after which it stops with what it has
  int candidates_per_model = 12;  // those that are worth most at the relaxation's prices
};

// [model]: the shares. kFailedPrecondition: CBC found nothing, or nothing there is.
absl::StatusOr<std::vector<std::vector<Share>>> SolveMaster(const Cluster& cluster,
                                                            std::span<const std::vector<Candidate>> candidates,
                                                            std::span<const double> weights, Objective objective,
                                                            const CandidateRules& rules, const Relaxation& relaxation,
                                                            const MasterOptions& options);

}  // namespace wharf::pipeline
