// Products of cuBLAS that need memory of their own while they run, over and over, as filters and optimisers call them:
// `algebra INFERENCES`. Each inference has a symmetric matrix S and a triangle T, of which it takes S B, B B' and T x.
// The host checks all three. Exit codes: 0 all right, 3 an error (named on stderr), 4 a wrong result.
#include <cublas_v2.h>

#include <cstdio>
#include <cstdlib>

#include "check.h"

#define BLAS(call) Check((call) == CUBLAS_STATUS_SUCCESS, #call)

constexpr int kSize = 40;

// By columns. Small whole numbers, so that sums are exact.
struct Matrix {
  float elements[kSize * kSize];
  float& operator()(int row, int column) { return elements[row + column * kSize]; }
  float operator()(int row, int column) const { return elements[row + column * kSize]; }
};

struct Problem {
  Matrix left, right;   // of left the lower triangle counts, for T and for S
  float vector[kSize];  // T x takes its place
  Matrix product, square;
};

static Problem Pose(int number) {
  Problem problem{};
  for (int j = 0; j < kSize; ++j) {
    for (int i = 0; i < kSize; ++i) {
      problem.left(i, j) = static_cast<float>((i * 3 + j * 5 + number) % 7 - 3);
      problem.right(i, j) = static_cast<float>((i * 2 + j + number) % 5 - 2);
    }
    problem.vector[j] = static_cast<float>((j + number) % 9 - 4);
  }
  return problem;
}

static bool IsRight(const Problem& posed, const Problem& solved) {
  for (int i = 0; i < kSize; ++i) {
    float along = 0;
    for (int k = 0; k <= i; ++k) along += posed.left(i, k) * posed.vector[k];
    if (solved.vector[i] != along) return false;
    for (int j = 0; j < kSize; ++j) {
      float product = 0, square = 0;
      for (int k = 0; k < kSize; ++k) {
        product += (i >= k ? posed.left(i, k) : posed.left(k, i)) * posed.right(k, j);
        square += posed.right(i, k) * posed.right(j, k);
      }
      if (solved.product(i, j) != product || (i >= j && solved.square(i, j) != square)) return false;
    }
  }
  return true;
}

int main(int argc, char** argv) {
  const int inferences = std::atoi(argc > 1 ? argv[1] : "10");
  Problem* on_device = nullptr;
  CHECK(cudaMalloc(&on_device, sizeof(Problem)));
  cublasHandle_t blas;
  BLAS(cublasCreate(&blas));
  const float one = 1, zero = 0;
  for (int i = 0; i < inferences; ++i) {
    const Problem posed = Pose(i);
    Problem solved{};
    CHECK(cudaMemcpy(on_device, &posed, sizeof posed, cudaMemcpyHostToDevice));
    float *left = on_device->left.elements, *right = on_device->right.elements;
    BLAS(cublasSsymm(blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, kSize, kSize, &one, left, kSize, right, kSize,
                     &zero, on_device->product.elements, kSize));
    BLAS(cublasSsyrk(blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, kSize, kSize, &one, right, kSize, &zero,
                     on_device->square.elements, kSize));
    BLAS(cublasStrmv(blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, kSize, left, kSize,
                     on_device->vector, 1));
    CHECK(cudaMemcpy(&solved, on_device, sizeof solved, cudaMemcpyDeviceToHost));
    if (!IsRight(posed, solved)) {
      std::fprintf(stderr, "inference %d is wrong\n", i);
      return 4;
    }
  }
  std::puts("done");
  return 0;
}
