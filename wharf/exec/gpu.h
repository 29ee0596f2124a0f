// The GPUs that this build's LibTorch can use: gpu_cuda.cc where it is one with CUDA (cmake -DWHARF_LIBTORCH=DIR),
// gpu_none.cc elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::exec {

// By number, at least one. kFailedPrecondition: there is none, with the reason and what to do.
absl::StatusOr<std::vector<std::string>> GpuNames();

// Of GPU `gpu`'s memory, this process's tensors may take so much; an allocation beyond it is refused. Throws c10::Error
// if the GPU cannot be used. REQUIRES: gpu is one of GpuNames.
void LimitGpuMemory(int gpu, uint64_t bytes);

}  // namespace wharf::exec
