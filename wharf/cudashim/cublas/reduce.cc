// What is no product: the largest and smallest elements of vectors (amax, amin), sums of sizes (asum), exchange (swap),
// rows or columns times those of a vector (dgmm).
#include <algorithm>
#include <climits>

#include "wharf/cudashim/client/memory.h"
#include "wharf/cudashim/cublas/solver_kernels.h"

namespace wharf::cudashim {
namespace {

// The address of a vector's first element, which lies last in memory if the vector runs backwards.
const void* First(const Operand& vector, int64_t count) {
  const int64_t offset = vector.ld < 0 ? (1 - count) * vector.ld : 0;
  return static_cast<const char*>(vector.data) + offset * static_cast<int64_t>(device::ElementBytes(vector.type));
}

struct ReductionCall {
  const char* kernel;
  int64_t n;
  Operand x;  // its leading dimension is the step
  void* result;
  uint64_t result_bytes;
  bool least = false;
};

CudaError Reduce(cublasHandle_t handle, const ReductionCall& call) {
  if (call.result == nullptr) return CudaError::kInvalidValue;
  const bool on_device = handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
  VectorReduction v{};
  v.x = call.x.data;
  v.count = call.x.ld <= 0 ? 0 : std::max<int64_t>(call.n, 0);  // then nothing is looked at, as in BLAS
  v.step = call.x.ld;
  v.least = call.least;
  v.wide = call.result_bytes == sizeof(int64_t);
  uint64_t place = 0;
  CudaError error = PlaceOfResult(handle, &place);
  if (error != CudaError::kSuccess) return error;
  v.result = on_device ? call.result : reinterpret_cast<void*>(place);
  error = LaunchSolver(handle, call.x.type, call.kernel, {}, &v);
  if (error != CudaError::kSuccess || on_device) return error;
  return client::Copy(StreamOf(handle), {reinterpret_cast<uint64_t>(call.result), 0, 0}, {place, 0, 0},
                      {call.result_bytes, 1, 1}, client::CopyKind::kDeviceToHost, false);
}

CudaError ExchangeVectors(cublasHandle_t handle, int64_t n, const Operand& x, const Operand& y) {
  if (n <= 0) return CudaError::kSuccess;
  const VectorExchange v{const_cast<void*>(First(x, n)), const_cast<void*>(First(y, n)), n, x.ld, y.ld};
  return LaunchSolver(handle, x.type, "exchange_vectors", {1, n}, &v);
}

CudaError ScaleLines(cublasHandle_t handle, cublasSideMode_t side, int64_t m, int64_t n, const Operand& a,
                     const Operand& x, const Operand& c) {
  if (!IsSide(side) || m < 0 || n < 0 || a.ld < std::max<int64_t>(1, m) || c.ld < std::max<int64_t>(1, m)) {
    return CudaError::kInvalidValue;
  }
  if (m == 0 || n == 0) return CudaError::kSuccess;
  if (m > INT_MAX || n > INT_MAX) return CudaError::kNotSupported;
  const bool left = side == CUBLAS_SIDE_LEFT;
  const LineScale s{MatrixOf(a, false), MatrixOf(c, false), First(x, left ? m : n), m, n, x.ld, left};
  return LaunchSolver(handle, a.type, "scale_lines", {1, m * n}, &s);
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

#define WHARF_EXTREME(name, T, element, Int, least)                                                            \
  cublasStatus_t name(cublasHandle_t handle, Int n, const T* x, Int step, Int* result) {                       \
    return Blas(Call::k_##name, handle, [&] {                                                                  \
      return Reduce(handle, {"find_extreme", n, {x, ElementType::element, step}, result, sizeof(Int), least}); \
    });                                                                                                        \
  }
#define WHARF_ASUM(name, T, Real, element, Int)                                                       \
  cublasStatus_t name(cublasHandle_t handle, Int n, const T* x, Int step, Real* result) {             \
    return Blas(Call::k_##name, handle, [&] {                                                         \
      return Reduce(handle, {"sum_sizes", n, {x, ElementType::element, step}, result, sizeof(Real)}); \
    });                                                                                               \
  }
#define WHARF_SWAP(name, T, element, Int)                                                                      \
  cublasStatus_t name(cublasHandle_t handle, Int n, T* x, Int step_x, T* y, Int step_y) {                      \
    return Blas(Call::k_##name, handle, [&] {                                                                  \
      return ExchangeVectors(handle, n, {x, ElementType::element, step_x}, {y, ElementType::element, step_y}); \
    });                                                                                                        \
  }
#define WHARF_DGMM(name, T, element, Int)                                                                          \
  cublasStatus_t name(cublasHandle_t handle, cublasSideMode_t side, Int m, Int n, const T* a, Int lda, const T* x, \
                      Int step, T* c, Int ldc) {                                                                   \
    return Blas(Call::k_##name, handle, [&] {                                                                      \
      constexpr ElementType kType = ElementType::element;                                                          \
      return ScaleLines(handle, side, m, n, {a, kType, lda}, {x, kType, step}, {c, kType, ldc});                   \
    });                                                                                                            \
  }
#define WHARF_REDUCTIONS(letter, small, asum, T, Real, element, suffix, suffix_64, Int) \
  WHARF_EXTREME(cublasI##small##amax##suffix, T, element, Int, false)                   \
  WHARF_EXTREME(cublasI##small##amin##suffix, T, element, Int, true)                    \
  WHARF_ASUM(cublas##asum##suffix, T, Real, element, Int)                               \
  WHARF_SWAP(cublas##letter##swap##suffix, T, element, Int)                             \
  WHARF_DGMM(cublas##letter##dgmm##suffix_64, T, element, Int)
#define WHARF_REDUCTION_FAMILY(letter, small, asum, T, Real, element) \
  WHARF_REDUCTIONS(letter, small, asum, T, Real, element, _v2, , int) \
  WHARF_REDUCTIONS(letter, small, asum, T, Real, element, _v2_64, _64, int64_t)
WHARF_REDUCTION_FAMILY(S, s, Sasum, float, float, kF32)
WHARF_REDUCTION_FAMILY(D, d, Dasum, double, double, kF64)
WHARF_REDUCTION_FAMILY(C, c, Scasum, cuComplex, float, kC32)
WHARF_REDUCTION_FAMILY(Z, z, Dzasum, cuDoubleComplex, double, kC64)

}  // extern "C"
