// Matrix times vector, as a product with a matrix of one column. Vectors run forwards.
#include <algorithm>

#include "wharf/cudashim/cublas/blas.h"

namespace wharf::cudashim {
namespace {

struct GemvCall {
  cublasOperation_t transpose;
  int64_t m, n;
  ElementType type;
  const void* alpha;
  const void* a;
  int64_t lda;
  const void* x;
  int64_t step_x;
  const void* beta;
  void* y;
  int64_t step_y;
};

CudaError RunGemv(cublasHandle_t handle, const GemvCall& call) {
  if (call.m < 0 || call.n < 0 || call.lda < std::max<int64_t>(1, call.m) || call.step_x == 0 || call.step_y == 0) {
    return CudaError::kInvalidValue;
  }
  if (call.step_x < 0 || call.step_y < 0) return CudaError::kNotSupported;
  const bool plain = call.transpose == CUBLAS_OP_N;
  const int64_t out = plain ? call.m : call.n, in = plain ? call.n : call.m;
  const Operand a{call.a, call.type, call.lda}, x{call.x, call.type, call.step_x};
  if (call.step_y == 1) {  // y is a column; x, one row of step_x, is transposed into one
    return RunGemm(handle, {call.transpose,
                            CUBLAS_OP_T,
                            out,
                            1,
                            in,
                            call.type,
                            call.alpha,
                            a,
                            x,
                            call.beta,
                            {call.y, call.type, std::max<int64_t>(1, out)}});
  }
  // y with gaps is a row: y' = x' op(A)'.
  const bool complex = call.type == ElementType::kC32 || call.type == ElementType::kC64;
  if (call.transpose == CUBLAS_OP_C && complex) return CudaError::kNotSupported;
  return RunGemm(handle, {CUBLAS_OP_N,
                          plain ? CUBLAS_OP_T : CUBLAS_OP_N,
                          1,
                          out,
                          in,
                          call.type,
                          call.alpha,
                          x,
                          a,
                          call.beta,
                          {call.y, call.type, call.step_y}});
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

#define WHARF_GEMV(name, T, element, Int)                                                                           \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transpose, Int m, Int n, const T* alpha, const T* a, \
                      Int lda, const T* x, Int step_x, const T* beta, T* y, Int step_y) {                           \
    return Blas(Call::k_##name, handle, [&] {                                                                       \
      return RunGemv(handle, {transpose, m, n, ElementType::element, alpha, a, lda, x, step_x, beta, y, step_y});   \
    });                                                                                                             \
  }
WHARF_GEMV(cublasSgemv_v2, float, kF32, int)
WHARF_GEMV(cublasSgemv_v2_64, float, kF32, int64_t)
WHARF_GEMV(cublasDgemv_v2, double, kF64, int)
WHARF_GEMV(cublasDgemv_v2_64, double, kF64, int64_t)
WHARF_GEMV(cublasCgemv_v2, cuComplex, kC32, int)
WHARF_GEMV(cublasCgemv_v2_64, cuComplex, kC32, int64_t)
WHARF_GEMV(cublasZgemv_v2, cuDoubleComplex, kC64, int)
WHARF_GEMV(cublasZgemv_v2_64, cuDoubleComplex, kC64, int64_t)

}  // extern "C"
