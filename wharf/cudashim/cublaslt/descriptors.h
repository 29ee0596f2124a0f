// What libcublasLt.so.13 keeps inside the vendor's opaque descriptors, which programs may place on their own stack.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <utility>

#include "wharf/cudashim/client/call.h"
#include "wharf/cudashim/client/gemm_types.h"

namespace wharf::cudashim {

using client::Call;
using device::CudaError;

struct Layout {
  int32_t type = CUDA_R_32F, order = CUBLASLT_ORDER_COL;
  uint64_t rows = 0, columns = 0;
  int64_t ld = 0, batch_stride = 0;
  int32_t batch_count = 1, batch_mode = 0;
};
static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t));

struct Matmul {
  int32_t compute = CUBLAS_COMPUTE_32F, scale_type = CUDA_R_32F, pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N, transpose_c = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  int32_t bias_type = -1;  // -1: as the output
  uint64_t bias = 0;
  int64_t bias_stride = 0;
  int32_t fill_mode = CUBLAS_FILL_MODE_FULL, sm_count_target = 0;
  int8_t fast_accumulation = 0;
  bool unsupported = false;  // an attribute was set that changes the result in a way no device here computes
};
static_assert(sizeof(Matmul) <= sizeof(cublasLtMatmulDescOpaque_t));

struct Preference {
  uint64_t max_workspace = 0;
};
static_assert(sizeof(Preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t));

inline Layout& In(cublasLtMatrixLayout_t opaque) { return *reinterpret_cast<Layout*>(opaque->data); }
inline Matmul& In(cublasLtMatmulDesc_t opaque) { return *reinterpret_cast<Matmul*>(opaque->data); }
inline Preference& In(cublasLtMatmulPreference_t opaque) { return *reinterpret_cast<Preference*>(opaque->data); }

// A getter, setter or constructor: answered here.
template <typename Body>
cublasStatus_t LtLocal(Call call, Body&& body) {
  return ToStatus(client::RunLocal(call, std::forward<Body>(body)));
}

}  // namespace wharf::cudashim
