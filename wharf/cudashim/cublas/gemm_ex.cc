// The gemm family with types as arguments.
#include "wharf/cudashim/cublas/blas.h"

namespace wharf::cudashim {
namespace {

// Turns the vendor's types into ours; kNotSupported for those a device does not multiply.
CudaError RunTyped(cublasHandle_t handle, GemmCall call, cudaDataType a, cudaDataType b, cudaDataType c,
                   cublasComputeType_t compute) {
  const auto type_a = TypeOf(a), type_b = TypeOf(b), type_c = TypeOf(c);
  if (!type_a || !type_b || !type_c) return CudaError::kNotSupported;
  const auto type = ComputeTypeOf(compute, *type_c);
  if (!type || !IsProduct(*type_a, *type_b, *type_c, *type)) return CudaError::kNotSupported;
  call.a.type = *type_a;
  call.b.type = *type_b;
  call.c.type = *type_c;
  call.compute = *type;
  return RunGemm(handle, call);
}

constexpr ElementType kUnset = ElementType::kF32;  // RunTyped sets the types

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

#define WHARF_GEMM_EX(name, Int)                                                                                    \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, Int m, Int n, Int k,       \
                      const void* alpha, const void* a, cudaDataType type_a, Int lda, const void* b,                \
                      cudaDataType type_b, Int ldb, const void* beta, void* c, cudaDataType type_c, Int ldc,        \
                      cublasComputeType_t compute, cublasGemmAlgo_t) {                                              \
    return Blas(Call::k_##name, handle, [&] {                                                                       \
      return RunTyped(handle,                                                                                       \
                      {ta, tb, m, n, k, kUnset, alpha, {a, kUnset, lda}, {b, kUnset, ldb}, beta, {c, kUnset, ldc}}, \
                      type_a, type_b, type_c, compute);                                                             \
    });                                                                                                             \
  }
#define WHARF_GEMM_BATCHED_EX(name, Int)                                                                             \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, Int m, Int n, Int k,        \
                      const void* alpha, const void* const a[], cudaDataType type_a, Int lda, const void* const b[], \
                      cudaDataType type_b, Int ldb, const void* beta, void* const c[], cudaDataType type_c, Int ldc, \
                      Int batch, cublasComputeType_t compute, cublasGemmAlgo_t) {                                    \
    return Blas(Call::k_##name, handle, [&] {                                                                        \
      return RunTyped(                                                                                               \
          handle,                                                                                                    \
          {ta, tb, m, n, k, kUnset, alpha, {a, kUnset, lda}, {b, kUnset, ldb}, beta, {c, kUnset, ldc}, batch, true}, \
          type_a, type_b, type_c, compute);                                                                          \
    });                                                                                                              \
  }
#define WHARF_GEMM_STRIDED_EX(name, Int)                                                                          \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, Int m, Int n, Int k,     \
                      const void* alpha, const void* a, cudaDataType type_a, Int lda, long long stride_a,         \
                      const void* b, cudaDataType type_b, Int ldb, long long stride_b, const void* beta, void* c, \
                      cudaDataType type_c, Int ldc, long long stride_c, Int batch, cublasComputeType_t compute,   \
                      cublasGemmAlgo_t) {                                                                         \
    return Blas(Call::k_##name, handle, [&] {                                                                     \
      return RunTyped(handle,                                                                                     \
                      {ta,                                                                                        \
                       tb,                                                                                        \
                       m,                                                                                         \
                       n,                                                                                         \
                       k,                                                                                         \
                       kUnset,                                                                                    \
                       alpha,                                                                                     \
                       {a, kUnset, lda, stride_a},                                                                \
                       {b, kUnset, ldb, stride_b},                                                                \
                       beta,                                                                                      \
                       {c, kUnset, ldc, stride_c},                                                                \
                       batch},                                                                                    \
                      type_a, type_b, type_c, compute);                                                           \
    });                                                                                                           \
  }
#define WHARF_GEMM_TYPED(name, T, Int)                                                                                 \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, Int m, Int n, Int k,          \
                      const T* alpha, const void* a, cudaDataType type_a, Int lda, const void* b, cudaDataType type_b, \
                      Int ldb, const T* beta, void* c, cudaDataType type_c, Int ldc) {                                 \
    return Blas(Call::k_##name, handle, [&] {                                                                          \
      return RunTyped(handle,                                                                                          \
                      {ta, tb, m, n, k, kUnset, alpha, {a, kUnset, lda}, {b, kUnset, ldb}, beta, {c, kUnset, ldc}},    \
                      type_a, type_b, type_c, CUBLAS_COMPUTE_32F);                                                     \
    });                                                                                                                \
  }
WHARF_GEMM_EX(cublasGemmEx, int)
WHARF_GEMM_EX(cublasGemmEx_64, int64_t)
WHARF_GEMM_BATCHED_EX(cublasGemmBatchedEx, int)
WHARF_GEMM_BATCHED_EX(cublasGemmBatchedEx_64, int64_t)
WHARF_GEMM_STRIDED_EX(cublasGemmStridedBatchedEx, int)
WHARF_GEMM_STRIDED_EX(cublasGemmStridedBatchedEx_64, int64_t)
WHARF_GEMM_TYPED(cublasSgemmEx, float, int)
WHARF_GEMM_TYPED(cublasSgemmEx_64, float, int64_t)
WHARF_GEMM_TYPED(cublasCgemmEx, cuComplex, int)
WHARF_GEMM_TYPED(cublasCgemmEx_64, cuComplex, int64_t)
WHARF_GEMM_TYPED(cublasCgemm3mEx, cuComplex, int)
WHARF_GEMM_TYPED(cublasCgemm3mEx_64, cuComplex, int64_t)

}  // extern "C"
