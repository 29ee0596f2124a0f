// The gemm family with a type in its name: plain, batched by an array of pointers, batched by strides; with 32- and
// 64-bit dimensions.
#include "wharf/cudashim/cublas/blas.h"

using namespace wharf;            // NOLINT: the vendor's names live in the global namespace
using namespace wharf::cudashim;  // NOLINT

extern "C" {

#define WHARF_GEMM(exported, name, T, element, Int)                                                             \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, Int m, Int n, Int k,   \
                      const T* alpha, const T* a, Int lda, const T* b, Int ldb, const T* beta, T* c, Int ldc) { \
    return Blas(Call::k_##exported, handle, [&] {                                                               \
      constexpr ElementType kType = ElementType::element;                                                       \
      return RunGemm(handle,                                                                                    \
                     {ta, tb, m, n, k, kType, alpha, {a, kType, lda}, {b, kType, ldb}, beta, {c, kType, ldc}}); \
    });                                                                                                         \
  }
#define WHARF_GEMM_BATCHED(name, T, element, Int)                                                                 \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, Int m, Int n, Int k,     \
                      const T* alpha, const T* const a[], Int lda, const T* const b[], Int ldb, const T* beta,    \
                      T* const c[], Int ldc, Int batch) {                                                         \
    return Blas(Call::k_##name, handle, [&] {                                                                     \
      constexpr ElementType kType = ElementType::element;                                                         \
      return RunGemm(                                                                                             \
          handle,                                                                                                 \
          {ta, tb, m, n, k, kType, alpha, {a, kType, lda}, {b, kType, ldb}, beta, {c, kType, ldc}, batch, true}); \
    });                                                                                                           \
  }
#define WHARF_GEMM_STRIDED(name, T, element, Int)                                                             \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, Int m, Int n, Int k, \
                      const T* alpha, const T* a, Int lda, long long stride_a, const T* b, Int ldb,           \
                      long long stride_b, const T* beta, T* c, Int ldc, long long stride_c, Int batch) {      \
    return Blas(Call::k_##name, handle, [&] {                                                                 \
      constexpr ElementType kType = ElementType::element;                                                     \
      return RunGemm(handle, {ta,                                                                             \
                              tb,                                                                             \
                              m,                                                                              \
                              n,                                                                              \
                              k,                                                                              \
                              kType,                                                                          \
                              alpha,                                                                          \
                              {a, kType, lda, stride_a},                                                      \
                              {b, kType, ldb, stride_b},                                                      \
                              beta,                                                                           \
                              {c, kType, ldc, stride_c},                                                      \
                              batch});                                                                        \
    });                                                                                                       \
  }
#define WHARF_GEMM_FAMILY(letter, T, element)                                             \
  WHARF_GEMM(cublas##letter##gemm_v2, cublas##letter##gemm_v2, T, element, int)           \
  WHARF_GEMM(cublas##letter##gemm_v2_64, cublas##letter##gemm_v2_64, T, element, int64_t) \
  WHARF_GEMM_BATCHED(cublas##letter##gemmBatched, T, element, int)                        \
  WHARF_GEMM_BATCHED(cublas##letter##gemmBatched_64, T, element, int64_t)                 \
  WHARF_GEMM_STRIDED(cublas##letter##gemmStridedBatched, T, element, int)

WHARF_GEMM_FAMILY(S, float, kF32)
WHARF_GEMM_FAMILY(D, double, kF64)
WHARF_GEMM_FAMILY(C, cuComplex, kC32)
WHARF_GEMM_FAMILY(Z, cuDoubleComplex, kC64)
WHARF_GEMM_STRIDED(cublasSgemmStridedBatched_64, float, kF32, int64_t)
WHARF_GEMM_STRIDED(cublasDgemmStridedBatched_64, double, kF64, int64_t)
WHARF_GEMM_STRIDED(cublasCgemmStridedBatched_64, cuComplex, kC32, int64_t)
WHARF_GEMM_STRIDED(cublasZgemmStridedBatched_64, cuDoubleComplex, kC64, int64_t)
WHARF_GEMM(cublasHgemm, cublasHgemm, __half, kF16, int)
WHARF_GEMM(cublasHgemm_64, cublasHgemm_64, __half, kF16, int64_t)
WHARF_GEMM_BATCHED(cublasHgemmBatched, __half, kF16, int)
WHARF_GEMM_BATCHED(cublasHgemmBatched_64, __half, kF16, int64_t)
WHARF_GEMM_STRIDED(cublasHgemmStridedBatched, __half, kF16, int)
WHARF_GEMM_STRIDED(cublasHgemmStridedBatched_64, __half, kF16, int64_t)
WHARF_GEMM(cublasCgemm3m, cublasCgemm3m, cuComplex, kC32, int)
WHARF_GEMM(cublasCgemm3m_64, cublasCgemm3m_64, cuComplex, kC32, int64_t)
WHARF_GEMM_BATCHED(cublasCgemm3mBatched, cuComplex, kC32, int)
WHARF_GEMM_BATCHED(cublasCgemm3mBatched_64, cuComplex, kC32, int64_t)
WHARF_GEMM_STRIDED(cublasCgemm3mStridedBatched, cuComplex, kC32, int)
WHARF_GEMM_STRIDED(cublasCgemm3mStridedBatched_64, cuComplex, kC32, int64_t)
WHARF_GEMM(cublasZgemm3m, cublasZgemm3m, cuDoubleComplex, kC64, int)
WHARF_GEMM(cublasZgemm3m_64, cublasZgemm3m_64, cuDoubleComplex, kC64, int64_t)

}  // extern "C"
