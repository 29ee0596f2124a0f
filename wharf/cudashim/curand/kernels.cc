#include "wharf/cudashim/curand/kernels.h"

#include "wharf/cudashim/client/library/kernels.h"

namespace wharf::cudashim {
namespace {

constexpr uint32_t kThreads = 128;  // of a block

}  // namespace

extern const char* const kRandomPtx[];  // of kernels.cu, for each EngineKind

CudaError LaunchRandom(const curandGenerator_st& generator, const char* kernel, uint64_t threads,
                       void* const* arguments) {
  static auto* const kernels = new client::LibraryKernels(kRandomPtx);
  client::Function* function = nullptr;
  const CudaError error = kernels->Find(static_cast<int>(generator.engine), kernel, &function);
  if (error != CudaError::kSuccess) return error;
  client::LaunchShape shape;
  shape.grid = {static_cast<uint32_t>((threads + kThreads - 1) / kThreads), 1, 1};
  shape.block = {kThreads, 1, 1};
  if (threads == 1) shape.block.x = 1;
  return client::Launch(function, shape, StreamOf(generator), arguments, nullptr, 0);
}

}  // namespace wharf::cudashim
