// Groups of products: a batch by arrays of pointers for each group, which have shapes and scalars of their own. Groups
// are described in the program's memory.
#include <type_traits>

#include "wharf/cudashim/cublas/blas.h"

namespace wharf::cudashim {
namespace {

template <typename Int>
struct GroupedCall {
  const cublasOperation_t *transpose_a, *transpose_b;
  const Int *m, *n, *k;
  const void* alpha;
  const void* const* a;  // arrays on the device, of the products of all groups
  const Int* lda;
  const void* const* b;
  const Int* ldb;
  const void* beta;
  const void* const* c;
  const Int* ldc;
  int64_t groups;
  const Int* sizes;
};
struct GroupedTypes {
  ElementType a, b, c, compute;
};

template <typename Int>
GemmCall GroupOf(const GroupedCall<Int>& call, const GroupedTypes& types, int64_t group, int64_t before) {
  const auto scalar = [&](const void* scalars) {
    return static_cast<const char*>(scalars) + static_cast<size_t>(group) * device::ElementBytes(types.compute);
  };
  return {call.transpose_a[group],
          call.transpose_b[group],
          call.m[group],
          call.n[group],
          call.k[group],
          types.compute,
          scalar(call.alpha),
          {call.a + before, types.a, call.lda[group]},
          {call.b + before, types.b, call.ldb[group]},
          scalar(call.beta),
          {call.c + before, types.c, call.ldc[group]},
          call.sizes[group],
          true};
}

// All groups are checked before the first is sent.
template <typename Int>
CudaError RunGroups(cublasHandle_t handle, const GroupedCall<Int>& call, const GroupedTypes& types) {
  if (call.groups < 0) return CudaError::kInvalidValue;
  if (handle->pointer_mode != CUBLAS_POINTER_MODE_HOST) return CudaError::kNotSupported;  // as the vendor's
  if (call.groups == 0) return CudaError::kSuccess;
  const auto is_null = [](auto... arrays) { return ((arrays == nullptr) || ...); };
  if (is_null(call.transpose_a, call.transpose_b, call.m, call.n, call.k, call.alpha, call.lda, call.ldb, call.beta,
              call.ldc, call.sizes)) {
    return CudaError::kInvalidValue;
  }
  for (const bool checking : {true, false}) {
    int64_t before = 0;
    for (int64_t group = 0; group < call.groups; ++group) {
      const GemmCall product = GroupOf(call, types, group, before);
      if (checking && !IsValidGemm(product)) return CudaError::kInvalidValue;
      const CudaError error = checking ? CudaError::kSuccess : RunGemm(handle, product);
      if (error != CudaError::kSuccess) return error;
      before += call.sizes[group];
    }
  }
  return CudaError::kSuccess;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

#define WHARF_GEMM_GROUPED(name, T, element, Int)                                                                 \
  cublasStatus_t name(cublasHandle_t handle, const cublasOperation_t ta[], const cublasOperation_t tb[],          \
                      const Int m[], const Int n[], const Int k[], const T alpha[], const T* const a[],           \
                      const Int lda[], const T* const b[], const Int ldb[], const T beta[], T* const c[],         \
                      const Int ldc[], Int groups, const Int sizes[]) {                                           \
    return Blas(Call::k_##name, handle, [&] {                                                                     \
      constexpr ElementType kType = ElementType::element;                                                         \
      const auto array = [](const T* const* pointers) { return reinterpret_cast<const void* const*>(pointers); }; \
      return RunGroups<Int>(                                                                                      \
          handle, {ta, tb, m, n, k, alpha, array(a), lda, array(b), ldb, beta, array(c), ldc, groups, sizes},     \
          {kType, kType, kType, kType});                                                                          \
    });                                                                                                           \
  }
#define WHARF_GEMM_GROUPED_EX(name, Int)                                                                          \
  cublasStatus_t name(cublasHandle_t handle, const cublasOperation_t ta[], const cublasOperation_t tb[],          \
                      const Int m[], const Int n[], const Int k[], const void* alpha, const void* const a[],      \
                      cudaDataType_t type_a, const Int lda[], const void* const b[], cudaDataType_t type_b,       \
                      const Int ldb[], const void* beta, void* const c[], cudaDataType_t type_c, const Int ldc[], \
                      Int groups, const Int sizes[], cublasComputeType_t compute) {                               \
    return Blas(Call::k_##name, handle, [&] {                                                                     \
      const auto of_a = TypeOf(type_a), of_b = TypeOf(type_b), of_c = TypeOf(type_c);                             \
      if (!of_a || !of_b || !of_c) return CudaError::kNotSupported;                                               \
      const auto type = ComputeTypeOf(compute, *of_c);                                                            \
      if (!type || !IsProduct(*of_a, *of_b, *of_c, *type)) return CudaError::kNotSupported;                       \
      return RunGroups<Int>(handle, {ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, groups, sizes},        \
                            {*of_a, *of_b, *of_c, *type});                                                        \
    });                                                                                                           \
  }
WHARF_GEMM_GROUPED(cublasSgemmGroupedBatched, float, kF32, int)
WHARF_GEMM_GROUPED(cublasSgemmGroupedBatched_64, float, kF32, int64_t)
WHARF_GEMM_GROUPED(cublasDgemmGroupedBatched, double, kF64, int)
WHARF_GEMM_GROUPED(cublasDgemmGroupedBatched_64, double, kF64, int64_t)
WHARF_GEMM_GROUPED_EX(cublasGemmGroupedBatchedEx, int)
WHARF_GEMM_GROUPED_EX(cublasGemmGroupedBatchedEx_64, int64_t)

}  // extern "C"
