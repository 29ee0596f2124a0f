// Linear equations over and over, as programs that estimate states solve them: `solver INFERENCES`. Each inference has
// a positive definite matrix and a right side of its own, which Cholesky's factors solve (cuSOLVER); then the
// differences of neighbours in the solution, by a sparse matrix (cuSPARSE). The host checks both. Exit codes: 0 all
// right, 3 an error (named on stderr), 4 a wrong result.
#include <cusolverDn.h>
#include <cusparse.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "check.h"

#define SOLVER(call) Check((call) == CUSOLVER_STATUS_SUCCESS, #call)
#define SPARSE(call) Check((call) == CUSPARSE_STATUS_SUCCESS, #call)

constexpr int kSize = 24;

struct Problem {
  float matrix[kSize * kSize];
  float right[kSize];  // the solution takes its place
  float differences[kSize];
  int info;
};

static Problem Pose(int number) {
  Problem problem{};
  for (int j = 0; j < kSize; ++j) {
    for (int i = 0; i < kSize; ++i) {
      const int apart = std::abs(i - j);
      problem.matrix[i + j * kSize] = apart == 0 ? 4.0f : 1.0f / static_cast<float>(2 + apart * apart + number % 5);
    }
    problem.right[j] = std::sin(static_cast<float>(j + number));
  }
  return problem;
}

static bool IsSolved(const Problem& posed, const Problem& solved) {
  for (int i = 0; i < kSize; ++i) {
    float sum = 0;
    for (int j = 0; j < kSize; ++j) sum += posed.matrix[i + j * kSize] * solved.right[j];
    const float difference = solved.right[i] - (i > 0 ? solved.right[i - 1] : 0);
    if (!(std::abs(sum - posed.right[i]) < 1e-4f && std::abs(difference - solved.differences[i]) < 1e-5f)) return false;
  }
  return solved.info == 0;
}

// Row i: element i less the one before it.
struct Rows {
  std::vector<int> offsets{0}, columns;
  std::vector<float> values;
};
static Rows Neighbours() {
  Rows rows;
  for (int i = 0; i < kSize; ++i) {
    if (i > 0) {
      rows.columns.push_back(i - 1);
      rows.values.push_back(-1);
    }
    rows.columns.push_back(i);
    rows.values.push_back(1);
    rows.offsets.push_back(static_cast<int>(rows.columns.size()));
  }
  return rows;
}
template <typename T>
T* Upload(const std::vector<T>& values) {
  T* to = nullptr;
  CHECK(cudaMalloc(&to, values.size() * sizeof(T)));
  CHECK(cudaMemcpy(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return to;
}

int main(int argc, char** argv) {
  const int inferences = std::atoi(argc > 1 ? argv[1] : "10");
  Problem* on_device = nullptr;
  CHECK(cudaMalloc(&on_device, sizeof(Problem)));
  cusolverDnHandle_t solver;
  SOLVER(cusolverDnCreate(&solver));
  int elements = 0;
  SOLVER(cusolverDnSpotrf_bufferSize(solver, CUBLAS_FILL_MODE_LOWER, kSize, on_device->matrix, kSize, &elements));
  float* work = Upload(std::vector<float>(static_cast<size_t>(elements)));

  cusparseHandle_t sparse;
  SPARSE(cusparseCreate(&sparse));
  const Rows rows = Neighbours();
  cusparseSpMatDescr_t neighbours;
  cusparseDnVecDescr_t solution, differences;
  SPARSE(cusparseCreateCsr(&neighbours, kSize, kSize, static_cast<int64_t>(rows.values.size()), Upload(rows.offsets),
                           Upload(rows.columns), Upload(rows.values), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                           CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  SPARSE(cusparseCreateDnVec(&solution, kSize, on_device->right, CUDA_R_32F));
  SPARSE(cusparseCreateDnVec(&differences, kSize, on_device->differences, CUDA_R_32F));
  const float one = 1, zero = 0;
  size_t bytes = 0;
  SPARSE(cusparseSpMV_bufferSize(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, neighbours, solution, &zero,
                                 differences, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
  char* buffer = Upload(std::vector<char>(bytes));

  for (int i = 0; i < inferences; ++i) {
    const Problem posed = Pose(i);
    Problem solved{};
    CHECK(cudaMemcpy(on_device, &posed, sizeof posed, cudaMemcpyHostToDevice));
    SOLVER(cusolverDnSpotrf(solver, CUBLAS_FILL_MODE_LOWER, kSize, on_device->matrix, kSize, work, elements,
                            &on_device->info));
    SOLVER(cusolverDnSpotrs(solver, CUBLAS_FILL_MODE_LOWER, kSize, 1, on_device->matrix, kSize, on_device->right, kSize,
                            &on_device->info));
    SPARSE(cusparseSpMV(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, neighbours, solution, &zero, differences,
                        CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, buffer));
    CHECK(cudaMemcpy(&solved, on_device, sizeof solved, cudaMemcpyDeviceToHost));
    if (!IsSolved(posed, solved)) {
      std::fprintf(stderr, "inference %d is wrong\n", i);
      return 4;
    }
  }
  std::puts("done");
  return 0;
}
