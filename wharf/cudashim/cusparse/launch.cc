#include <algorithm>

#include "wharf/cudashim/client/library/kernels.h"
#include "wharf/cudashim/cusparse/sparse.h"

namespace wharf::cudashim {

extern const char* const kSparsePtx[];         // of kernels.cu
extern const char* const kFactorizationPtx[];  // of factorizations.cu

namespace {

cusparseStatus_t LaunchOf(client::LibraryKernels& kernels, cusparseHandle_t handle, cudaDataType type,
                          const char* kernel, int64_t threads, const void* parameters) {
  constexpr int64_t kMostBlocks = int64_t{1} << 20;
  if (threads <= 0) return CUSPARSE_STATUS_SUCCESS;
  client::Function* function = nullptr;
  const int variant = client::BlasVariant(SparseTypeOf(type).value_or(ElementType::kF32));
  const CudaError error = kernels.Find(variant, kernel, &function);
  if (error != CudaError::kSuccess) return SparseStatusOf(error);
  client::LaunchShape shape;
  shape.grid = {static_cast<uint32_t>(std::min(kMostBlocks, (threads - 1) / kSparseThreads + 1)), 1, 1};
  shape.block = {kSparseThreads, 1, 1};
  void* arguments[] = {const_cast<void*>(parameters)};
  const auto stream = reinterpret_cast<client::StreamHandle>(handle->stream);
  return SparseStatusOf(client::Launch(function, shape, stream, arguments, nullptr, 0));
}

cusparseStatus_t CopyBytes(cusparseHandle_t handle, const void* from, void* to, size_t bytes, client::CopyKind kind) {
  client::Box target, source;
  target.address = reinterpret_cast<uint64_t>(to);
  source.address = reinterpret_cast<uint64_t>(from);
  const auto stream = reinterpret_cast<client::StreamHandle>(handle->stream);
  return SparseStatusOf(client::Copy(stream, target, source, {bytes, 1, 1}, kind, false));
}

}  // namespace

cusparseStatus_t LaunchSparse(cusparseHandle_t handle, cudaDataType type, const char* kernel, int64_t threads,
                              const void* parameters) {
  static auto* const kernels = new client::LibraryKernels(kSparsePtx);
  return LaunchOf(*kernels, handle, type, kernel, threads, parameters);
}

cusparseStatus_t LaunchFactorization(cusparseHandle_t handle, cudaDataType type, const char* kernel, int64_t threads,
                                     const void* parameters) {
  static auto* const kernels = new client::LibraryKernels(kFactorizationPtx);
  return LaunchOf(*kernels, handle, type, kernel, threads, parameters);
}

cusparseStatus_t CopyOnDevice(cusparseHandle_t handle, const void* from, void* to, size_t bytes) {
  return CopyBytes(handle, from, to, bytes, client::CopyKind::kDeviceToDevice);
}

cusparseStatus_t ReadBack(cusparseHandle_t handle, const void* place, void* to, size_t bytes) {
  return CopyBytes(handle, place, to, bytes, client::CopyKind::kDeviceToHost);
}

}  // namespace wharf::cudashim
