// cublasLtMatmul and its one algorithm.
#include "wharf/cudashim/client/device_info.h"
#include "wharf/cudashim/cublaslt/descriptors.h"

namespace wharf::cudashim {
namespace {

constexpr int kAlgorithm = 0;  // the server's library chooses by itself

// nullopt for those that need more than the product: auxiliary outputs, gradients.
std::optional<device::Epilogue> EpilogueOf(uint32_t epilogue) {
  switch (epilogue & ~static_cast<uint32_t>(CUBLASLT_EPILOGUE_BIAS)) {
    case 0:
    case CUBLASLT_EPILOGUE_DEFAULT:
      return device::Epilogue::kNone;
    case CUBLASLT_EPILOGUE_RELU:
      return device::Epilogue::kRelu;
    case CUBLASLT_EPILOGUE_GELU:
      return device::Epilogue::kGelu;
    default:
      return std::nullopt;
  }
}

struct Layouts {
  const Layout &a, &b, &c, &d;
};

bool AreColumns(const Layouts& l) {
  return l.a.order == CUBLASLT_ORDER_COL && l.b.order == CUBLASLT_ORDER_COL && l.c.order == CUBLASLT_ORDER_COL &&
         l.d.order == CUBLASLT_ORDER_COL && l.a.batch_mode == 0 && l.b.batch_mode == 0 && l.c.batch_mode == 0 &&
         l.d.batch_mode == 0;
}

// Types, epilogue, transposition: everything that says whether a device here computes this product at all.
CudaError SetKinds(const Matmul& m, const Layouts& l, device::Gemm* gemm) {
  const auto type_a = TypeOf(static_cast<cudaDataType>(l.a.type)), type_b = TypeOf(static_cast<cudaDataType>(l.b.type));
  const auto type_c = TypeOf(static_cast<cudaDataType>(l.c.type));
  const auto epilogue = EpilogueOf(m.epilogue);
  if (!type_a || !type_b || !type_c || !epilogue || l.c.type != l.d.type || !AreColumns(l)) {
    return CudaError::kNotSupported;
  }
  const auto compute = ComputeTypeOf(static_cast<cublasComputeType_t>(m.compute), *type_c);
  // alpha and beta must be of the type products are summed in.
  if (!compute || TypeOf(static_cast<cudaDataType>(m.scale_type)) != compute) return CudaError::kNotSupported;
  if (!IsProduct(*type_a, *type_b, *type_c, *compute)) return CudaError::kNotSupported;
  const bool biased = (m.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
  if (biased && m.bias_type >= 0 && m.bias_type != l.d.type) return CudaError::kNotSupported;
  if (m.unsupported || m.transpose_c != CUBLAS_OP_N || m.fill_mode != CUBLAS_FILL_MODE_FULL ||
      m.pointer_mode > CUBLASLT_POINTER_MODE_DEVICE || (biased && m.bias_stride != 0 && l.d.batch_count > 1)) {
    return CudaError::kNotSupported;
  }
  const auto transpose_a = TransposeOf(static_cast<cublasOperation_t>(m.transpose_a));
  const auto transpose_b = TransposeOf(static_cast<cublasOperation_t>(m.transpose_b));
  if (!transpose_a || !transpose_b || (biased && m.bias == 0)) return CudaError::kInvalidValue;
  gemm->transpose_a = *transpose_a;
  gemm->transpose_b = *transpose_b;
  gemm->type_a = *type_a;
  gemm->type_b = *type_b;
  gemm->type_c = *type_c;
  gemm->compute = *compute;
  gemm->epilogue = *epilogue;
  gemm->bias = biased ? m.bias : 0;
  return CudaError::kSuccess;
}

// Sizes; they must agree among the four matrices.
CudaError SetShapes(const Layouts& l, device::Gemm* gemm) {
  const bool plain_a = gemm->transpose_a == device::Transpose::kNone;
  const bool plain_b = gemm->transpose_b == device::Transpose::kNone;
  const uint64_t m = plain_a ? l.a.rows : l.a.columns, k = plain_a ? l.a.columns : l.a.rows;
  const uint64_t n = plain_b ? l.b.columns : l.b.rows, k_of_b = plain_b ? l.b.rows : l.b.columns;
  if (k != k_of_b || l.c.rows != m || l.c.columns != n || l.d.rows != m || l.d.columns != n) {
    return CudaError::kInvalidValue;
  }
  if (l.a.batch_count != l.d.batch_count || l.b.batch_count != l.d.batch_count || l.c.batch_count != l.d.batch_count) {
    return CudaError::kInvalidValue;
  }
  gemm->m = static_cast<int64_t>(m);
  gemm->n = static_cast<int64_t>(n);
  gemm->k = static_cast<int64_t>(k);
  gemm->batch = l.d.batch_count;
  gemm->lda = l.a.ld, gemm->ldb = l.b.ld, gemm->ldc = l.c.ld, gemm->ldd = l.d.ld;
  gemm->stride_a = l.a.batch_stride, gemm->stride_b = l.b.batch_stride;
  gemm->stride_c = l.c.batch_stride, gemm->stride_d = l.d.batch_stride;
  return CudaError::kSuccess;
}

CudaError Describe(cublasLtMatmulDesc_t m, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                   cublasLtMatrixLayout_t d, device::Gemm* gemm) {
  if (m == nullptr || a == nullptr || b == nullptr || c == nullptr || d == nullptr) return CudaError::kInvalidValue;
  const Layouts layouts{In(a), In(b), In(c), In(d)};
  const CudaError error = SetKinds(In(m), layouts, gemm);
  return error != CudaError::kSuccess ? error : SetShapes(layouts, gemm);
}

void FillResult(cublasLtMatmulHeuristicResult_t* result) {
  *result = {};
  result->algo.data[0] = kAlgorithm;
  result->state = CUBLAS_STATUS_SUCCESS;
  result->wavesCount = 1.0f;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t matmul, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t layout_a, const void* b, cublasLtMatrixLayout_t layout_b,
                              const void* beta, const void* c, cublasLtMatrixLayout_t layout_c, void* d,
                              cublasLtMatrixLayout_t layout_d, const cublasLtMatmulAlgo_t*, void*, size_t,
                              cudaStream_t stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  return ToStatus(client::Run(Call::k_cublasLtMatmul, [&] {
    device::Gemm gemm;
    const CudaError error = Describe(matmul, layout_a, layout_b, layout_c, layout_d, &gemm);
    if (error != CudaError::kSuccess) return error;
    if (alpha == nullptr || beta == nullptr || a == nullptr || b == nullptr || d == nullptr) {
      return CudaError::kInvalidValue;
    }
    gemm.a = reinterpret_cast<uint64_t>(a);
    gemm.b = reinterpret_cast<uint64_t>(b);
    gemm.d = reinterpret_cast<uint64_t>(d);
    gemm.c = c == nullptr ? gemm.d : reinterpret_cast<uint64_t>(c);
    SetScalars(gemm, alpha, beta, In(matmul).pointer_mode == CUBLASLT_POINTER_MODE_DEVICE);
    if (gemm.m == 0 || gemm.n == 0 || gemm.batch == 0) return CudaError::kSuccess;
    return client::RunGemm(reinterpret_cast<client::StreamHandle>(stream), gemm);
  }));
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t matmul, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                              cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* count) {
  return LtLocal(Call::k_cublasLtMatmulAlgoGetHeuristic, [&] {
    if (results == nullptr || count == nullptr || wanted <= 0) return CudaError::kInvalidValue;
    *count = 0;
    device::Gemm gemm;
    const CudaError error = Describe(matmul, a, b, c, d, &gemm);
    if (error != CudaError::kSuccess) return error;
    FillResult(&results[0]);
    *count = 1;
    return CudaError::kSuccess;
  });
}

cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t, cublasComputeType_t, cudaDataType_t, cudaDataType_t,
                                        cudaDataType_t, cudaDataType_t, cudaDataType_t, int wanted, int ids[],
                                        int* count) {
  return LtLocal(Call::k_cublasLtMatmulAlgoGetIds, [&] {
    if (ids == nullptr || count == nullptr || wanted <= 0) return CudaError::kInvalidValue;
    ids[0] = kAlgorithm;
    *count = 1;
    return CudaError::kSuccess;
  });
}

cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t, cublasComputeType_t, cudaDataType_t, cudaDataType_t,
                                      cudaDataType_t, cudaDataType_t, cudaDataType_t, int id,
                                      cublasLtMatmulAlgo_t* algorithm) {
  return LtLocal(Call::k_cublasLtMatmulAlgoInit, [&] {
    if (algorithm == nullptr || id != kAlgorithm) return CudaError::kInvalidValue;
    *algorithm = {};
    return CudaError::kSuccess;
  });
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t matmul, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t*, cublasLtMatmulHeuristicResult_t* result) {
  return LtLocal(Call::k_cublasLtMatmulAlgoCheck, [&] {
    device::Gemm gemm;
    const CudaError error = Describe(matmul, a, b, c, d, &gemm);
    if (error == CudaError::kSuccess && result != nullptr) FillResult(result);
    return error;
  });
}

// An algorithm has nothing to configure but its number.
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, void* to,
                                                    size_t size, size_t* written) {
  return LtLocal(Call::k_cublasLtMatmulAlgoConfigGetAttribute, [&] {
    if (algorithm == nullptr || attribute != CUBLASLT_ALGO_CONFIG_ID) return CudaError::kInvalidValue;
    if (written != nullptr) *written = sizeof(int32_t);
    if (to == nullptr || size < sizeof(int32_t)) return CudaError::kInvalidValue;
    *static_cast<int32_t*>(to) = kAlgorithm;
    return CudaError::kSuccess;
  });
}

cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t, const void*, size_t) {
  return LtLocal(Call::k_cublasLtMatmulAlgoConfigSetAttribute,
                 [&] { return algorithm == nullptr ? CudaError::kInvalidValue : CudaError::kSuccess; });
}

}  // extern "C"
