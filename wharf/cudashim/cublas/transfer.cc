// Vectors and matrices between host and device: strided copies.
#include "wharf/cudashim/client/memory.h"
#include "wharf/cudashim/cublas/blas.h"

namespace wharf::cudashim {
namespace {

using client::CopyKind;

client::Box BoxAt(const void* data, int64_t pitch) {
  return {reinterpret_cast<uint64_t>(data), static_cast<uint64_t>(pitch), 0};
}

CudaError CopyVector(int64_t n, int64_t element, const void* from, int64_t step_from, void* to, int64_t step_to,
                     CopyKind kind, cudaStream_t stream, bool async) {
  if (n < 0 || element <= 0 || step_from <= 0 || step_to <= 0) return CudaError::kInvalidValue;
  const device::Extent extent{static_cast<uint64_t>(element), static_cast<uint64_t>(n), 1};
  return client::Copy(reinterpret_cast<client::StreamHandle>(stream), BoxAt(to, step_to * element),
                      BoxAt(from, step_from * element), extent, kind, async);
}

CudaError CopyMatrix(int64_t rows, int64_t columns, int64_t element, const void* from, int64_t ld_from, void* to,
                     int64_t ld_to, CopyKind kind, cudaStream_t stream, bool async) {
  if (rows < 0 || columns < 0 || element <= 0 || ld_from < rows || ld_to < rows) return CudaError::kInvalidValue;
  const device::Extent extent{static_cast<uint64_t>(rows * element), static_cast<uint64_t>(columns), 1};
  return client::Copy(reinterpret_cast<client::StreamHandle>(stream), BoxAt(to, ld_to * element),
                      BoxAt(from, ld_from * element), extent, kind, async);
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

#define WHARF_VECTOR(name, suffix, direction, Int)                                                               \
  cublasStatus_t name##suffix(Int n, Int element, const void* from, Int step_from, void* to, Int step_to) {      \
    return ToStatus(client::Run(Call::k_##name##suffix, [&] {                                                    \
      return CopyVector(n, element, from, step_from, to, step_to, CopyKind::direction, nullptr, false);          \
    }));                                                                                                         \
  }                                                                                                              \
  cublasStatus_t name##Async##suffix(Int n, Int element, const void* from, Int step_from, void* to, Int step_to, \
                                     cudaStream_t stream) {                                                      \
    return ToStatus(client::Run(Call::k_##name##Async##suffix, [&] {                                             \
      return CopyVector(n, element, from, step_from, to, step_to, CopyKind::direction, stream, true);            \
    }));                                                                                                         \
  }
#define WHARF_MATRIX(name, suffix, direction, Int)                                                                \
  cublasStatus_t name##suffix(Int rows, Int columns, Int element, const void* from, Int ld_from, void* to,        \
                              Int ld_to) {                                                                        \
    return ToStatus(client::Run(Call::k_##name##suffix, [&] {                                                     \
      return CopyMatrix(rows, columns, element, from, ld_from, to, ld_to, CopyKind::direction, nullptr, false);   \
    }));                                                                                                          \
  }                                                                                                               \
  cublasStatus_t name##Async##suffix(Int rows, Int columns, Int element, const void* from, Int ld_from, void* to, \
                                     Int ld_to, cudaStream_t stream) {                                            \
    return ToStatus(client::Run(Call::k_##name##Async##suffix, [&] {                                              \
      return CopyMatrix(rows, columns, element, from, ld_from, to, ld_to, CopyKind::direction, stream, true);     \
    }));                                                                                                          \
  }
#define WHARF_TRANSFERS(suffix, Int)                        \
  WHARF_VECTOR(cublasSetVector, suffix, kHostToDevice, Int) \
  WHARF_VECTOR(cublasGetVector, suffix, kDeviceToHost, Int) \
  WHARF_MATRIX(cublasSetMatrix, suffix, kHostToDevice, Int) \
  WHARF_MATRIX(cublasGetMatrix, suffix, kDeviceToHost, Int)
WHARF_TRANSFERS(, int)
WHARF_TRANSFERS(_64, int64_t)

}  // extern "C"
