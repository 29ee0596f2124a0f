#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>

#include <algorithm>

#include "wharf/exec/gpu.h"
#include "wharf/exec/torch_device.h"
#include "wharf/exec/torch_engine.h"

namespace wharf::exec {

absl::StatusOr<std::vector<std::string>> GpuNames() {
  int count = 0;
  try {
    count = c10::cuda::device_count_ensure_non_zero();
  } catch (const std::exception& error) {
    return FailedPrecondition(
        "LibTorch {} can use no GPU ({}): say cpu, or see to it that nvidia-smi works and its driver is new enough",
        TorchVersion(), FirstLine(error));
  }
  std::vector<std::string> names;
  for (int gpu = 0; gpu < count; ++gpu) {
    cudaDeviceProp properties{};
    const bool known = cudaGetDeviceProperties(&properties, gpu) == cudaSuccess;
    names.emplace_back(known ? properties.name : "unknown GPU");
  }
  return names;
}

void LimitGpuMemory(int gpu, uint64_t bytes) {
  cudaDeviceProp properties{};
  C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, gpu));
  const double share = static_cast<double>(bytes) / static_cast<double>(properties.totalGlobalMem);
  c10::cuda::CUDACachingAllocator::setMemoryFraction(std::min(share, 1.0), static_cast<c10::DeviceIndex>(gpu));
}

}  // namespace wharf::exec
