// cuBLASLt: matrix products with layouts, epilogues and heuristics, as frameworks call them for linear layers.
#include <cublasLt.h>

#include "tests/cuda/harness.h"

#define LT_OK(call) EXPECT_EQ((call), CUBLAS_STATUS_SUCCESS)

constexpr int kM = 24, kN = 18, kK = 20;

struct Problem {
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  explicit Problem(bool transpose_a) {
    LT_OK(cublasLtCreate(&handle));
    LT_OK(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasOperation_t op = transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    LT_OK(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &op, sizeof(op)));
    LT_OK(cublasLtMatrixLayoutCreate(&a, CUDA_R_32F, transpose_a ? kK : kM, transpose_a ? kM : kK,
                                     transpose_a ? kK : kM));
    LT_OK(cublasLtMatrixLayoutCreate(&b, CUDA_R_32F, kK, kN, kK));
    LT_OK(cublasLtMatrixLayoutCreate(&c, CUDA_R_32F, kM, kN, kM));
  }
  ~Problem() {
    cublasLtMatrixLayoutDestroy(a), cublasLtMatrixLayoutDestroy(b), cublasLtMatrixLayoutDestroy(c);
    cublasLtMatmulDescDestroy(operation), cublasLtDestroy(handle);
  }
  cublasStatus_t Run(const float* pa, const float* pb, const float* pc, float* pd, float alpha, float beta) {
    return cublasLtMatmul(handle, operation, &alpha, pa, a, pb, b, &beta, pc, c, pd, c, nullptr, nullptr, 0, nullptr);
  }
};
static std::vector<float> Small(int n, int seed) {
  std::vector<float> out(n);
  for (int i = 0; i < n; ++i) out[i] = float((i * 5 + seed * 3 + i / 7) % 7 - 3);
  return out;
}
static std::vector<float> Product(const std::vector<float>& a, const std::vector<float>& b, bool transpose_a) {
  std::vector<float> out(kM * kN);
  for (int j = 0; j < kN; ++j)
    for (int i = 0; i < kM; ++i)
      for (int l = 0; l < kK; ++l) out[j * kM + i] += (transpose_a ? a[i * kK + l] : a[l * kM + i]) * b[j * kK + l];
  return out;
}
CASE(plain_and_transposed) {
  for (bool transposed : {false, true}) {
    Problem problem(transposed);
    const std::vector<float> a = Small(kM * kK, 1), b = Small(kK * kN, 2), c = Small(kM * kN, 3);
    Buffer<float> da(a), db(b), dc(c), dd(kM * kN);
    LT_OK(problem.Run(da, db, dc, dd, 2, 3));
    std::vector<float> want = Product(a, b, transposed);
    for (int i = 0; i < kM * kN; ++i) want[i] = 2 * want[i] + 3 * c[i];
    EXPECT_SAME(dd.Get(), want);
  }
}
static void CheckEpilogue(cublasLtEpilogue_t epilogue, bool bias, bool relu) {
  Problem problem(true);
  const std::vector<float> a = Small(kM * kK, 4), b = Small(kK * kN, 5), vector = Small(kM, 6);
  Buffer<float> da(a), db(b), dd(kM * kN), dv(vector);
  LT_OK(cublasLtMatmulDescSetAttribute(problem.operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue)));
  const float* pointer = dv;
  if (bias)
    LT_OK(cublasLtMatmulDescSetAttribute(problem.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &pointer,
                                         sizeof(pointer)));
  LT_OK(problem.Run(da, db, dd, dd, 1, 0));
  std::vector<float> want = Product(a, b, true);
  for (int i = 0; i < kM * kN; ++i) {
    if (bias) want[i] += vector[i % kM];
    if (relu) want[i] = std::max(want[i], 0.0f);
  }
  EXPECT_SAME(dd.Get(), want);
}
CASE(epilogue_bias) { CheckEpilogue(CUBLASLT_EPILOGUE_BIAS, true, false); }
CASE(epilogue_relu) { CheckEpilogue(CUBLASLT_EPILOGUE_RELU, false, true); }
CASE(epilogue_relu_bias) { CheckEpilogue(CUBLASLT_EPILOGUE_RELU_BIAS, true, true); }
CASE(heuristic_then_run) {
  Problem problem(false);
  cublasLtMatmulPreference_t preference;
  LT_OK(cublasLtMatmulPreferenceCreate(&preference));
  const size_t workspace_bytes = 1 << 20;
  LT_OK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
                                             sizeof(workspace_bytes)));
  cublasLtMatmulHeuristicResult_t result;
  int found = 0;
  LT_OK(cublasLtMatmulAlgoGetHeuristic(problem.handle, problem.operation, problem.a, problem.b, problem.c, problem.c,
                                       preference, 1, &result, &found));
  EXPECT_EQ(found, 1);
  const std::vector<float> a = Small(kM * kK, 7), b = Small(kK * kN, 8);
  Buffer<float> da(a), db(b), dd(kM * kN), workspace(workspace_bytes / 4);
  const float one = 1, zero = 0;
  LT_OK(cublasLtMatmul(problem.handle, problem.operation, &one, da, problem.a, db, problem.b, &zero, dd, problem.c, dd,
                       problem.c, &result.algo, workspace, workspace_bytes, nullptr));
  EXPECT_SAME(dd.Get(), Product(a, b, false));
  cublasLtMatmulPreferenceDestroy(preference);
}
CASE(batched_by_layout) {
  Problem problem(false);
  const int batch = 3;
  const int64_t strides[3] = {kM * kK, kK * kN, kM * kN};
  cublasLtMatrixLayout_t layouts[3] = {problem.a, problem.b, problem.c};
  for (int i = 0; i < 3; ++i) {
    LT_OK(cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof(batch)));
    LT_OK(cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &strides[i],
                                           sizeof(strides[i])));
  }
  const std::vector<float> a = Small(kM * kK * batch, 1), b = Small(kK * kN * batch, 2);
  Buffer<float> da(a), db(b), dd(kM * kN * batch);
  LT_OK(problem.Run(da, db, dd, dd, 1, 0));
  std::vector<float> want;
  for (int i = 0; i < batch; ++i) {
    const std::vector<float> part =
        Product(std::vector<float>(a.begin() + i * kM * kK, a.begin() + (i + 1) * kM * kK),
                std::vector<float>(b.begin() + i * kK * kN, b.begin() + (i + 1) * kK * kN), false);
    want.insert(want.end(), part.begin(), part.end());
  }
  EXPECT_SAME(dd.Get(), want);
}
