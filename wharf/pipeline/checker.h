// CheckPlan: whether a plan keeps what it promises. Knows nothing of how plans are made, so that it can doubt them.
#pragma once

#include <span>

#include "wharf/pipeline/model_profile.h"
#include "wharf/pipeline/plan.h"

namespace wharf::pipeline {

// kInvalidArgument: CheckStructure fails, or a model is not in `profiles`. kFailedPrecondition names the broken
// promise:
// - a stage's latencies, bytes or transfer are not the profile's and the cluster's;
// - a batch's building, latencies and transfers exceed the SLO less the margin;
// - a pipeline's throughput is more than its slowest stage makes: of each virtual GPU batch / latency, but no more than
//   its even share of the narrowest link carries in and out;
// - sums, value or bounds do not agree, or of kCost a model gets less than its rate.
absl::Status CheckPlan(const Plan& plan, std::span<const ModelProfile> profiles);

}  // namespace wharf::pipeline
