// Relaxation: what a plan could reach if GPUs could be divided at will among stages, pipelines and models. A linear
// program over the candidates; its bound is certified here, whatever the solver says.
#pragma once

#include <span>
#include <vector>

#include "wharf/pipeline/planner/candidates.h"

namespace wharf::pipeline {

// GPUs of each class that a candidate needs for one request/s.
std::vector<double> GpusPerRate(const Candidate& candidate, int classes, Mode mode);

struct Relaxation {
  // No plan is better. kThroughput: its normalised throughput is no higher; kCost: its cost is no lower.
  double bound = 0;
  std::vector<double> gpu_prices;  // [class], not negative: what one GPU is worth, in units of the objective
  std::vector<double>
      request_prices;  // [model]: what the GPUs of a request/s are worth at least, whatever the candidate
};

// Weak duality: at any prices, a model's request/s costs at least what its cheapest candidate's GPUs cost, which bounds
// every plan; the solver only proposes the prices. `weights`: requests/s of each model (kCost) or shares. REQUIRES:
// every model has a candidate. kFailedPrecondition: kCost, and the cluster is too small. O(the linear program) +
// O(candidates).
absl::StatusOr<Relaxation> Relax(const Cluster& cluster, std::span<const std::vector<Candidate>> candidates,
                                 std::span<const double> weights, Objective objective, Mode mode);

}  // namespace wharf::pipeline
