#include <algorithm>

#include "wharf/cudashim/client/library/kernels.h"
#include "wharf/cudashim/cusparse/sparse.h"

namespace wharf::cudashim {

extern const char* const kSparsePtx[];  // of kernels.cu

cusparseStatus_t LaunchSparse(cusparseHandle_t handle, cudaDataType type, const char* kernel, int64_t threads,
                              const void* parameters) {
  constexpr int64_t kMostBlocks = int64_t{1} << 20;
  if (threads <= 0) return CUSPARSE_STATUS_SUCCESS;
  static auto* const kernels = new client::LibraryKernels(kSparsePtx);
  client::Function* function = nullptr;
  const int variant = client::BlasVariant(SparseTypeOf(type).value_or(ElementType::kF32));
  const CudaError error = kernels->Find(variant, kernel, &function);
  if (error != CudaError::kSuccess) return SparseStatusOf(error);
  client::LaunchShape shape;
  shape.grid = {static_cast<uint32_t>(std::min(kMostBlocks, (threads - 1) / kSparseThreads + 1)), 1, 1};
  shape.block = {kSparseThreads, 1, 1};
  void* arguments[] = {const_cast<void*>(parameters)};
  const auto stream = reinterpret_cast<client::StreamHandle>(handle->stream);
  return SparseStatusOf(client::Launch(function, shape, stream, arguments, nullptr, 0));
}

cusparseStatus_t ReadBack(cusparseHandle_t handle, const void* place, void* to_host, size_t bytes) {
  client::Box to, from;
  to.address = reinterpret_cast<uint64_t>(to_host);
  from.address = reinterpret_cast<uint64_t>(place);
  const auto stream = reinterpret_cast<client::StreamHandle>(handle->stream);
  return SparseStatusOf(client::Copy(stream, to, from, {bytes, 1, 1}, client::CopyKind::kDeviceToHost, false));
}

}  // namespace wharf::cudashim
