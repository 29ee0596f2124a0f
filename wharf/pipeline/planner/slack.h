// Slack: what a plan's value does not need, spent on batches that end sooner. A plan of the most throughput has pools
// that are no larger than that needs, and GPUs that nobody uses beside them; and of two ways to divide the same GPUs
// that serve as much it takes no heed which one has a batch done first. Both leave less time to wait in.
#pragma once

#include <vector>

#include "wharf/pipeline/planner/planner.h"

namespace wharf::pipeline {

// Idle GPUs go, one by one, to the pool that is busiest at what the plan serves. Then GPUs that are one stage's alone
// are divided into fewer parts, if that makes no batch longer and the pool no busier than it was at first. Throughputs,
// batch sizes, blocks and the plan's value stay. REQUIRES: demands[i] is of plan.models[i]; the plan is MakePlan's for
// the most throughput. O(GPUs · stages).
void SpendSlack(const std::vector<Demand>& demands, Plan& plan);

// Requests/s of all the virtual GPUs of a stage of a plan.
double StageRate(const Cluster& cluster, const Pipeline& pipeline, size_t stage);

}  // namespace wharf::pipeline
