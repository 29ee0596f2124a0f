#include "wharf/cudashim/cublas/solver_kernels.h"

#include <algorithm>

#include "wharf/cudashim/client/library/kernels.h"

namespace wharf::cudashim {

extern const char* const kSolverPtx[];  // of solvers.cu

CudaError LaunchSolver(cublasHandle_t handle, ElementType type, const char* kernel, const SolverGrid& grid,
                       const void* parameters) {
  constexpr int64_t kMostInY = 65535;
  static auto* const kernels = new client::LibraryKernels(kSolverPtx);
  client::Function* function = nullptr;
  const CudaError error = kernels->Find(client::BlasVariant(type), kernel, &function);
  if (error != CudaError::kSuccess) return error;
  const int64_t blocks = std::clamp<int64_t>((grid.lines + kSolverThreads - 1) / kSolverThreads, 1, kMostInY);
  client::LaunchShape shape;
  shape.grid = {static_cast<uint32_t>(grid.batch), static_cast<uint32_t>(blocks), 1};
  shape.block = {kSolverThreads, 1, 1};
  void* arguments[] = {const_cast<void*>(parameters)};
  return client::Launch(function, shape, StreamOf(handle), arguments, nullptr, 0);
}

}  // namespace wharf::cudashim
