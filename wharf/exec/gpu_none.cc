#include "wharf/exec/gpu.h"
#include "wharf/exec/torch_engine.h"

namespace wharf::exec {

absl::StatusOr<std::vector<std::string>> GpuNames() {
  return FailedPrecondition(
      "this wharf-model runs models on the CPU only, LibTorch {} has no CUDA: say cpu, or build with "
      "-DWHARF_LIBTORCH=DIR (docs/split.md, \"On a GPU\")",
      TorchVersion());
}

void LimitGpuMemory(int, uint64_t) {}

}  // namespace wharf::exec
