// Matrix times vector, and batches of them, as a product with a matrix of one column. What no product is, such as
// vectors that run backwards, is a kernel's.
#include <algorithm>

#include "wharf/cudashim/cublas/solver_kernels.h"

namespace wharf::cudashim {
namespace {

CudaError GemvByKernel(cublasHandle_t handle, const GemvCall& call) {
  const bool plain = call.transpose == CUBLAS_OP_N;
  VectorProduct p{};
  p.a.data = call.a.data;
  p.a.leading = call.a.ld;
  p.a.below = call.m;
  p.a.above = call.n;
  if (!plain) std::swap(p.a.below, p.a.above);
  p.a.swapped = !plain;
  p.a.conjugated = call.transpose == CUBLAS_OP_C;
  p.x = VectorOf(call.x);
  p.y = VectorOf(call.y);
  p.alpha = ScalarOf(handle, call.alpha, call.compute);
  p.beta = ScalarOf(handle, call.beta, call.compute);
  p.rows = plain ? call.m : call.n;
  p.columns = plain ? call.n : call.m;
  p.stride_a = call.a.stride;
  p.stride_x = call.x.stride;
  p.stride_y = call.y.stride;
  p.batched = call.pointer_arrays;
  return LaunchVector(handle, call.compute, "multiply_vector", {call.batch, p.rows}, &p);
}

// y without gaps is a column; x, one row of its step, is transposed into one. y with gaps is a row: y' = x' op(A)'.
CudaError GemvByProduct(cublasHandle_t handle, const GemvCall& call) {
  const bool plain = call.transpose == CUBLAS_OP_N;
  const int64_t out = plain ? call.m : call.n, in = plain ? call.n : call.m;
  GemmCall product{call.transpose, CUBLAS_OP_T, out,       1,      in,         call.compute,       call.alpha,
                   call.a,         call.x,      call.beta, call.y, call.batch, call.pointer_arrays};
  if (call.y.ld == 1) {
    product.c.ld = std::max<int64_t>(1, out);
  } else {
    product.transpose_a = CUBLAS_OP_N;
    product.transpose_b = plain ? CUBLAS_OP_T : CUBLAS_OP_N;
    std::swap(product.m, product.n);
    std::swap(product.a, product.b);
  }
  return RunGemm(handle, product);
}

}  // namespace

CudaError RunGemv(cublasHandle_t handle, const GemvCall& call) {
  if (!TransposeOf(call.transpose) || call.m < 0 || call.n < 0 || call.batch < 0 ||
      call.a.ld < std::max<int64_t>(1, call.m) || call.x.ld == 0 || call.y.ld == 0 || call.alpha == nullptr ||
      call.beta == nullptr) {
    return CudaError::kInvalidValue;
  }
  if (call.m == 0 || call.n == 0 || call.batch == 0) return CudaError::kSuccess;
  const bool conjugated = call.transpose == CUBLAS_OP_C && IsComplex(call.compute);
  if (call.x.ld > 0 && call.y.ld > 0 && !(conjugated && call.y.ld != 1)) return GemvByProduct(handle, call);
  return call.a.type == call.compute ? GemvByKernel(handle, call) : CudaError::kNotSupported;
}

}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

#define WHARF_GEMV(name, T, element, Int)                                                                             \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transpose, Int m, Int n, const T* alpha, const T* a,   \
                      Int lda, const T* x, Int step_x, const T* beta, T* y, Int step_y) {                             \
    return Blas(Call::k_##name, handle, [&] {                                                                         \
      constexpr ElementType kType = ElementType::element;                                                             \
      return RunGemv(handle,                                                                                          \
                     {transpose, m, n, kType, alpha, {a, kType, lda}, {x, kType, step_x}, beta, {y, kType, step_y}}); \
    });                                                                                                               \
  }
// `in` and `out` are of A and x, and of y.
#define WHARF_GEMV_BATCHED(name, Scalar_, compute, In, in, Out, out, Int)                                     \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transpose, Int m, Int n, const Scalar_* alpha, \
                      const In* const a[], Int lda, const In* const x[], Int step_x, const Scalar_* beta,     \
                      Out* const y[], Int step_y, Int batch) {                                                \
    return Blas(Call::k_##name, handle, [&] {                                                                 \
      return RunGemv(handle, {transpose,                                                                      \
                              m,                                                                              \
                              n,                                                                              \
                              ElementType::compute,                                                           \
                              alpha,                                                                          \
                              {a, ElementType::in, lda},                                                      \
                              {x, ElementType::in, step_x},                                                   \
                              beta,                                                                           \
                              {y, ElementType::out, step_y},                                                  \
                              batch,                                                                          \
                              true});                                                                         \
    });                                                                                                       \
  }
#define WHARF_GEMV_STRIDED(name, Scalar_, compute, In, in, Out, out, Int)                                     \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transpose, Int m, Int n, const Scalar_* alpha, \
                      const In* a, Int lda, long long stride_a, const In* x, Int step_x, long long stride_x,  \
                      const Scalar_* beta, Out* y, Int step_y, long long stride_y, Int batch) {               \
    return Blas(Call::k_##name, handle, [&] {                                                                 \
      return RunGemv(handle, {transpose,                                                                      \
                              m,                                                                              \
                              n,                                                                              \
                              ElementType::compute,                                                           \
                              alpha,                                                                          \
                              {a, ElementType::in, lda, stride_a},                                            \
                              {x, ElementType::in, step_x, stride_x},                                         \
                              beta,                                                                           \
                              {y, ElementType::out, step_y, stride_y},                                        \
                              batch});                                                                        \
    });                                                                                                       \
  }
#define WHARF_GEMV_BATCHES(letters, Scalar_, compute, In, in, Out, out)                            \
  WHARF_GEMV_BATCHED(cublas##letters##gemvBatched, Scalar_, compute, In, in, Out, out, int)        \
  WHARF_GEMV_BATCHED(cublas##letters##gemvBatched_64, Scalar_, compute, In, in, Out, out, int64_t) \
  WHARF_GEMV_STRIDED(cublas##letters##gemvStridedBatched, Scalar_, compute, In, in, Out, out, int) \
  WHARF_GEMV_STRIDED(cublas##letters##gemvStridedBatched_64, Scalar_, compute, In, in, Out, out, int64_t)
#define WHARF_GEMV_FAMILY(letter, T, element)                 \
  WHARF_GEMV(cublas##letter##gemv_v2, T, element, int)        \
  WHARF_GEMV(cublas##letter##gemv_v2_64, T, element, int64_t) \
  WHARF_GEMV_BATCHES(letter, T, element, T, element, T, element)
WHARF_GEMV_FAMILY(S, float, kF32)
WHARF_GEMV_FAMILY(D, double, kF64)
WHARF_GEMV_FAMILY(C, cuComplex, kC32)
WHARF_GEMV_FAMILY(Z, cuDoubleComplex, kC64)
WHARF_GEMV_BATCHES(HSH, float, kF32, __half, kF16, __half, kF16)
WHARF_GEMV_BATCHES(HSS, float, kF32, __half, kF16, float, kF32)
WHARF_GEMV_BATCHES(TST, float, kF32, __nv_bfloat16, kBF16, __nv_bfloat16, kBF16)
WHARF_GEMV_BATCHES(TSS, float, kF32, __nv_bfloat16, kBF16, float, kF32)

}  // extern "C"
