#include "wharf/cudashim/cublas/solver_kernels.h"

#include <algorithm>

#include "wharf/cudashim/client/library/kernels.h"

namespace wharf::cudashim {

extern const char* const kSolverPtx[];  // of solvers.cu
extern const char* const kVectorPtx[];  // of vectors.cu

namespace {

CudaError LaunchOf(client::LibraryKernels& kernels, cublasHandle_t handle, ElementType type, const char* kernel,
                   const SolverGrid& grid, const void* parameters) {
  constexpr int64_t kMostInY = 65535;
  client::Function* function = nullptr;
  const CudaError error = kernels.Find(client::BlasVariant(type), kernel, &function);
  if (error != CudaError::kSuccess) return error;
  const int64_t blocks = std::clamp<int64_t>((grid.lines + kSolverThreads - 1) / kSolverThreads, 1, kMostInY);
  client::LaunchShape shape;
  shape.grid = {static_cast<uint32_t>(grid.batch), static_cast<uint32_t>(blocks), 1};
  shape.block = {kSolverThreads, 1, 1};
  void* arguments[] = {const_cast<void*>(parameters)};
  return client::Launch(function, shape, StreamOf(handle), arguments, nullptr, 0);
}

}  // namespace

CudaError LaunchSolver(cublasHandle_t handle, ElementType type, const char* kernel, const SolverGrid& grid,
                       const void* parameters) {
  static auto* const kernels = new client::LibraryKernels(kSolverPtx);
  return LaunchOf(*kernels, handle, type, kernel, grid, parameters);
}

CudaError LaunchVector(cublasHandle_t handle, ElementType type, const char* kernel, const SolverGrid& grid,
                       const void* parameters) {
  static auto* const kernels = new client::LibraryKernels(kVectorPtx);
  return LaunchOf(*kernels, handle, type, kernel, grid, parameters);
}

ScalarArgument ScalarOf(cublasHandle_t handle, const void* scalar, ElementType type, bool real) {
  ScalarArgument argument{nullptr, {0, 0}, real ? 1 : 0};
  if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
    argument.on_device = scalar;
  } else {
    const auto number = ReadScalar(scalar, real ? RealTypeOf(type) : type);
    std::copy(number.begin(), number.end(), argument.number);
  }
  return argument;
}

CudaError Workspace(cublasHandle_t handle, uint64_t bytes, void** data) {
  cublasContext::Workspace& kept = handle->workspaces[handle->stream];
  if (kept.bytes < bytes) {
    if (kept.bytes > 0) handle->outgrown.push_back(kept.address);
    const uint64_t grown = std::max(bytes, 2 * kept.bytes);
    kept = {};
    const CudaError error = client::AllocateOwn(grown, &kept.address);
    if (error != CudaError::kSuccess) return error;
    kept.bytes = grown;
  }
  *data = reinterpret_cast<void*>(kept.address);
  return CudaError::kSuccess;
}

}  // namespace wharf::cudashim
