#include <algorithm>

#include "wharf/cudashim/cublas/blas.h"

namespace wharf::cudashim {
namespace {

bool LeadingDimensionsFit(const GemmCall& call) {
  const int64_t rows_a = call.transpose_a == CUBLAS_OP_N ? call.m : call.k;
  const int64_t rows_b = call.transpose_b == CUBLAS_OP_N ? call.k : call.n;
  return call.a.ld >= std::max<int64_t>(1, rows_a) && call.b.ld >= std::max<int64_t>(1, rows_b) &&
         call.c.ld >= std::max<int64_t>(1, call.m);
}

}  // namespace

bool IsValidGemm(const GemmCall& call) {
  return TransposeOf(call.transpose_a) && TransposeOf(call.transpose_b) && call.m >= 0 && call.n >= 0 && call.k >= 0 &&
         call.batch >= 0 && LeadingDimensionsFit(call) && call.alpha != nullptr && call.beta != nullptr;
}

CudaError RunGemm(cublasHandle_t handle, const GemmCall& call) {
  if (!IsValidGemm(call)) return CudaError::kInvalidValue;
  if (call.m == 0 || call.n == 0 || call.batch == 0) return CudaError::kSuccess;
  device::Gemm gemm;
  gemm.transpose_a = *TransposeOf(call.transpose_a);
  gemm.transpose_b = *TransposeOf(call.transpose_b);
  gemm.m = call.m;
  gemm.n = call.n;
  gemm.k = call.k;
  gemm.type_a = call.a.type;
  gemm.type_b = call.b.type;
  gemm.type_c = call.c.type;
  gemm.compute = call.compute;
  gemm.a = reinterpret_cast<uint64_t>(call.a.data);
  gemm.b = reinterpret_cast<uint64_t>(call.b.data);
  gemm.c = gemm.d = reinterpret_cast<uint64_t>(call.c.data);
  gemm.lda = call.a.ld;
  gemm.ldb = call.b.ld;
  gemm.ldc = gemm.ldd = call.c.ld;
  gemm.stride_a = call.a.stride;
  gemm.stride_b = call.b.stride;
  gemm.stride_c = gemm.stride_d = call.c.stride;
  gemm.batch = call.batch;
  gemm.pointer_arrays = call.pointer_arrays;
  SetScalars(gemm, call.alpha, call.beta, handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE);
  return client::RunGemm(StreamOf(handle), gemm);
}

}  // namespace wharf::cudashim
