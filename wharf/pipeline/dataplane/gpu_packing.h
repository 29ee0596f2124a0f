// PackGpus: which virtual GPUs of a plan are parts of the same GPU.
#pragma once

#include <vector>

#include "wharf/pipeline/plan.h"

namespace wharf::pipeline {

// A virtual GPU: one of those of a stage.
struct GpuPart {
  int pipeline = 0, stage = 0;
  friend bool operator==(const GpuPart&, const GpuPart&) = default;
};

// A GPU, whose parts all serve one model. Together they are at most the GPU.
struct PackedGpu {
  int gpu_class = 0;
  std::vector<GpuPart> parts;
};

// Every virtual GPU of every stage once, on as many GPUs of each class as plan.GpusUsed says. First those whose parts
// all serve one stage, as their times were measured, by pipeline and stage; then those that stages share.
// Deterministic. REQUIRES: CheckStructure(plan) is fine.
std::vector<PackedGpu> PackGpus(const Plan& plan);

}  // namespace wharf::pipeline
