// cuBLAS: the interface of cublas.h, which has no handles: functions of every shape that it has, their letters, its own
// memory, and what cublasGetError says. Elements are small integers, so that all is exact.
#include <cublas.h>

#include "tests/cuda/cublas_numbers.h"

using namespace blas;

namespace {

using Complex = std::complex<float>;
const cuComplex kAlpha{2, -1}, kBeta{-1, 3};
const Complex kAlphaHere(2, -1), kBetaHere(-1, 3);
#define EXPECT_NO_ERROR() EXPECT_EQ(cublasGetError(), CUBLAS_STATUS_SUCCESS)

struct Library {
  Library() { BLAS_OK(cublasInit()); }
  ~Library() { BLAS_OK(cublasShutdown()); }
};

}  // namespace

// The first call initializes the library, also after a shutdown; there may be none to shut down.
CASE(without_initialization) {
  EXPECT_NO_ERROR();
  BLAS_OK(cublasShutdown());
  const std::vector<float> numbers = Smalls<float>(8, 1);
  Buffer<float> x(numbers);
  for (const float factor : {2, 4}) {
    cublasSscal(8, 2, x, 1);
    std::vector<float> want = numbers;
    for (float& value : want) value *= factor;
    EXPECT_SAME(Plain(x.Get()), Plain(want));
    BLAS_OK(cublasShutdown());
  }
  BLAS_OK(cublasSetKernelStream(nullptr));
  EXPECT_NO_ERROR();
  BLAS_OK(cublasShutdown());
}

CASE(vectors) {
  Library library;
  int version = 0;
  BLAS_OK(cublasGetVersion(&version));
  EXPECT(version >= 12000);
  const int n = 100;
  std::vector<float> x = Smalls<float>(n, 1), y = Smalls<float>(n, 2);
  void *memory_x = nullptr, *memory_y = nullptr;
  BLAS_OK(cublasAlloc(n, sizeof(float), &memory_x));
  BLAS_OK(cublasAlloc(n, sizeof(float), &memory_y));
  auto *const dx = static_cast<float*>(memory_x), *const dy = static_cast<float*>(memory_y);
  BLAS_OK(cublasSetVector(n, sizeof(float), x.data(), 1, dx, 1));
  BLAS_OK(cublasSetVector_64(n, sizeof(float), y.data(), 1, dy, 1));
  float sum = 0, sizes = 0, squares = 0;
  int most = 0, least = 0;
  for (int i = 0; i < n; ++i) {
    sum += x[i] * y[i], sizes += std::fabs(x[i]), squares += x[i] * x[i];
    if (std::fabs(x[i]) > std::fabs(x[most])) most = i;
    if (std::fabs(x[i]) < std::fabs(x[least])) least = i;
  }
  EXPECT_EQ(cublasSdot(n, dx, 1, dy, 1), sum);
  EXPECT_EQ(cublasSasum(n, dx, 1), sizes);
  EXPECT(std::fabs(cublasSnrm2(n, dx, 1) - std::sqrt(squares)) < 1e-4f);
  EXPECT_EQ(cublasIsamax(n, dx, 1), most + 1);
  EXPECT_EQ(cublasIsamin(n, dx, 1), least + 1);
  cublasSscal(n, 3, dx, 1);
  cublasSaxpy(n, -2, dx, 1, dy, 1);
  cublasSrot(n, dx, 1, dy, 1, 2, 3);
  cublasSswap(n, dx, 1, dy, 1);
  for (int i = 0; i < n; ++i) {
    const float a = 3 * x[i], b = y[i] - 2 * a;
    y[i] = 2 * a + 3 * b, x[i] = 2 * b - 3 * a;
  }
  std::vector<float> got(n);
  BLAS_OK(cublasGetVector_64(n, sizeof(float), dx, 1, got.data(), 1));
  EXPECT_SAME(Plain(got), Plain(x));
  BLAS_OK(cublasGetVector(n, sizeof(float), dy, 1, got.data(), 1));
  EXPECT_SAME(Plain(got), Plain(y));
  BLAS_OK(cublasFree(dx));
  BLAS_OK(cublasFree(dy));
  EXPECT_NO_ERROR();
}

CASE(complex_vectors) {
  Library library;
  const int n = 50;
  const std::vector<Complex> x = Smalls<Complex>(n, 3), y = Smalls<Complex>(n, 4);
  Buffer<Complex> dx(x), dy(y);
  Complex plain = 0, conjugated = 0;
  float sizes = 0;
  for (int i = 0; i < n; ++i) {
    plain += x[i] * y[i], conjugated += std::conj(x[i]) * y[i];
    sizes += std::fabs(x[i].real()) + std::fabs(x[i].imag());
  }
  const cuComplex dotu = cublasCdotu(n, On(dx), 1, On(dy), 1), dotc = cublasCdotc(n, On(dx), 1, On(dy), 1);
  EXPECT(dotu.x == plain.real() && dotu.y == plain.imag());
  EXPECT(dotc.x == conjugated.real() && dotc.y == conjugated.imag());
  EXPECT_EQ(cublasScasum(n, On(dx), 1), sizes);
  cublasCsscal(n, 3, On(dx), 1);
  cublasCaxpy(n, kAlpha, On(dx), 1, On(dy), 1);
  std::vector<Complex> want = y;
  for (int i = 0; i < n; ++i) want[i] += kAlphaHere * (x[i] * 3.0f);
  EXPECT_SAME(Plain(dy.Get()), Plain(want));
  float a = 3, b = 4, c = 0, s = 0;
  cublasSrotg(&a, &b, &c, &s);
  EXPECT(std::fabs(c * 3 + s * 4 - a) < 1e-5f && std::fabs(std::fabs(a) - 5) < 1e-5f);
  cuComplex ca{3, 1}, cs{};
  cublasCrotg(&ca, cuComplex{2, -1}, &c, &cs);
  EXPECT(std::fabs(c * c + cs.x * cs.x + cs.y * cs.y - 1) < 1e-5f);
  EXPECT_NO_ERROR();
}

CASE(matrices_and_vectors) {
  Library library;
  const int n = 9;
  const Matrix<Complex> a(n, n, 5);
  const std::vector<Complex> x = Smalls<Complex>(n, 6), y = Smalls<Complex>(n, 7);
  Buffer<Complex> da(a.data), dx(x), dy(y);
  cublasCgemv('c', n, n, kAlpha, On(da), a.leading, On(dx), 1, kBeta, On(dy), 1);
  std::vector<Complex> want = y;
  for (int i = 0; i < n; ++i) {
    Complex sum = 0;
    for (int j = 0; j < n; ++j) sum += std::conj(a(j, i)) * x[j];
    want[i] = kAlphaHere * sum + kBetaHere * y[i];
  }
  EXPECT_SAME(Plain(dy.Get()), Plain(want));
  cublasChemv('L', n, kAlpha, On(da), a.leading, On(dx), 1, kBeta, On(dy), 1);
  for (int i = 0; i < n; ++i) {
    Complex sum = 0;
    for (int j = 0; j < n; ++j) sum += (i > j ? a(i, j) : i < j ? std::conj(a(j, i)) : Complex(a(i, i).real())) * x[j];
    want[i] = kAlphaHere * sum + kBetaHere * want[i];
  }
  EXPECT_SAME(Plain(dy.Get()), Plain(want));
  dx.Set(x);
  cublasCtrmv('U', 'N', 'U', n, On(da), a.leading, On(dx), 1);
  want = x;
  for (int i = 0; i < n; ++i)
    for (int j = i + 1; j < n; ++j) want[i] += a(i, j) * x[j];
  EXPECT_SAME(Plain(dx.Get()), Plain(want));
  cublasCtrsv('u', 'n', 'u', n, On(da), a.leading, On(dx), 1);
  EXPECT_SAME(Plain(dx.Get()), Plain(x));
  cublasCgerc(n, n, kAlpha, On(dx), 1, On(dx), 1, On(da), a.leading);
  cublasCher('U', n, 3, On(dx), 1, On(da), a.leading);
  Matrix<Complex> updated = a;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      updated(i, j) += kAlphaHere * x[i] * std::conj(x[j]);
      if (i <= j) updated(i, j) += 3.0f * x[i] * std::conj(x[j]);
      if (i == j) updated(i, i) = updated(i, i).real();
    }
  EXPECT_SAME(Plain(da.Get()), Plain(updated.data));
  EXPECT_NO_ERROR();
}

CASE(matrices) {
  Library library;
  cudaStream_t stream = nullptr;
  CUDA_OK(cudaStreamCreate(&stream));
  BLAS_OK(cublasSetKernelStream(stream));
  const int m = 7, n = 9, k = 5;
  const Matrix<Complex> a(k, m, 1), b(k, n, 2), triangle(m, m, 3);
  Matrix<Complex> c(m, n, 4), hermitian(n, n, 5);
  Buffer<Complex> da(a.data), db(b.data), dc(c.data), dt(triangle.data), dh(hermitian.data);
  cublasCgemm('T', 'N', m, n, k, kAlpha, On(da), a.leading, On(db), b.leading, kBeta, On(dc), c.leading);
  cublasCtrmm('L', 'L', 'N', 'N', m, n, kAlpha, On(dt), triangle.leading, On(dc), c.leading);
  cublasCherk('U', 'C', n, k, 2, On(db), b.leading, -1, On(dh), hermitian.leading);
  Matrix<Complex> product = c;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      Complex sum = 0;
      for (int l = 0; l < k; ++l) sum += a(l, i) * b(l, j);
      product(i, j) = kAlphaHere * sum + kBetaHere * c(i, j);
    }
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      Complex sum = 0;
      for (int l = 0; l <= i; ++l) sum += triangle(i, l) * product(l, j);
      c(i, j) = kAlphaHere * sum;
    }
  for (int i = 0; i < n; ++i)
    for (int j = i; j < n; ++j) {
      Complex sum = 0;
      for (int l = 0; l < k; ++l) sum += std::conj(b(l, i)) * b(l, j);
      hermitian(i, j) = 2.0f * sum - hermitian(i, j);
      if (i == j) hermitian(i, i) = hermitian(i, i).real();
    }
  CUDA_OK(cudaStreamSynchronize(stream));
  EXPECT_SAME(Plain(dc.Get()), Plain(c.data));
  EXPECT_SAME(Plain(dh.Get()), Plain(hermitian.data));
  BLAS_OK(cublasSetKernelStream(nullptr));
  CUDA_OK(cudaStreamDestroy(stream));
  EXPECT_NO_ERROR();
}

CASE(what_is_wrong_is_told_once) {
  Library library;
  const std::vector<float> numbers = Smalls<float>(16, 1);
  Buffer<float> a(numbers);
  void* memory = nullptr;
  cublasSgemm('x', 'N', 4, 4, 4, 1, a, 4, a, 4, 0, a, 4);
  EXPECT_EQ(cublasGetError(), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_NO_ERROR();
  cublasStrsv('?', 'N', 'N', 4, a, 4, a, 1);
  EXPECT_EQ(cublasGetError(), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasAlloc(0, 4, &memory), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_NO_ERROR();  // that was told at once
  EXPECT_SAME(a.Get(), numbers);
}
