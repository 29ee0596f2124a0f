// cuBLAS: triangular systems, factorizations of batches and what is solved by them, and products of complex vectors, in
// the four types of BLAS. Checked is what the results are good for: A X - B is small.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <complex>
#include <deque>

#include "tests/cuda/harness.h"

#define BLAS_OK(call) EXPECT_EQ((call), CUBLAS_STATUS_SUCCESS)

namespace {

struct Handle {
  cublasHandle_t handle = nullptr;
  Handle() { BLAS_OK(cublasCreate(&handle)); }
  ~Handle() { cublasDestroy(handle); }
  operator cublasHandle_t() const { return handle; }
};

// The functions of a type, by one name each.
template <class T>
struct Blas;
#define BLAS_OF(letter, T, Device)                                    \
  template <>                                                         \
  struct Blas<T> {                                                    \
    using Element = Device;                                           \
    static constexpr auto trsm = cublas##letter##trsm;                \
    static constexpr auto trsm_64 = cublas##letter##trsm_v2_64;       \
    static constexpr auto trsm_batched = cublas##letter##trsmBatched; \
    static constexpr auto getrf = cublas##letter##getrfBatched;       \
    static constexpr auto getrs = cublas##letter##getrsBatched;       \
    static constexpr auto getri = cublas##letter##getriBatched;       \
    static constexpr auto geqrf = cublas##letter##geqrfBatched;       \
    static constexpr auto gels = cublas##letter##gelsBatched;         \
  };
BLAS_OF(S, float, float)
BLAS_OF(D, double, double)
BLAS_OF(C, std::complex<float>, cuComplex)
BLAS_OF(Z, std::complex<double>, cuDoubleComplex)

float Conjugate(float a) { return a; }
double Conjugate(double a) { return a; }
template <class R>
std::complex<R> Conjugate(std::complex<R> a) {
  return std::conj(a);
}
template <class T>
using Real = decltype(std::abs(T()));

double Uniform(harness::Random& random) { return random.Uniform() * 2 - 1; }
void Fill(float& to, harness::Random& random) { to = float(Uniform(random)); }
void Fill(double& to, harness::Random& random) { to = Uniform(random); }
template <class R>
void Fill(std::complex<R>& to, harness::Random& random) {
  const double real = Uniform(random);
  to = {R(real), R(Uniform(random))};
}

// Column major, with rows to spare.
template <class T>
struct Matrix {
  int rows, columns, leading;
  std::vector<T> data;
  Matrix(int m, int n, int spare = 2) : rows(m), columns(n), leading(m + spare), data(size_t(leading) * n) {}
  T& operator()(int i, int j) { return data[size_t(j) * leading + i]; }
  const T& operator()(int i, int j) const { return data[size_t(j) * leading + i]; }
};
template <class T>
Matrix<T> RandomMatrix(int rows, int columns, int seed, double diagonal = 0) {
  Matrix<T> matrix(rows, columns);
  harness::Random random(static_cast<uint64_t>(seed) + 1);
  for (T& value : matrix.data) Fill(value, random);
  for (int i = 0; i < std::min(rows, columns); ++i) matrix(i, i) += T(Real<T>(diagonal));
  return matrix;
}
template <class T>
Matrix<T> Operated(const Matrix<T>& a, cublasOperation_t op) {
  if (op == CUBLAS_OP_N) return a;
  Matrix<T> out(a.columns, a.rows);
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < a.columns; ++j) out(j, i) = op == CUBLAS_OP_C ? Conjugate(a(i, j)) : a(i, j);
  return out;
}
template <class T>
Matrix<T> Product(const Matrix<T>& a, const Matrix<T>& b) {
  Matrix<T> out(a.rows, b.columns);
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < b.columns; ++j)
      for (int k = 0; k < a.columns; ++k) out(i, j) += a(i, k) * b(k, j);
  return out;
}
template <class T>
Matrix<T> Triangle(const Matrix<T>& a, cublasFillMode_t fill, cublasDiagType_t diagonal) {
  Matrix<T> out(a.rows, a.columns);
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < a.columns; ++j) {
      const bool in = fill == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j;
      out(i, j) = i == j && diagonal == CUBLAS_DIAG_UNIT ? T(1) : in ? a(i, j) : T(0);
    }
  return out;
}
template <class T>
double Distance(const Matrix<T>& a, const Matrix<T>& b) {
  double most = 0;
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < a.columns; ++j) {
      const double distance = std::abs(a(i, j) - b(i, j));
      most = std::isnan(distance) ? 1e30 : std::max(most, distance);
    }
  return most;
}
template <class T>
constexpr double kClose = sizeof(Real<T>) == sizeof(float) ? 2e-3 : 1e-10;
#define EXPECT_CLOSE(T, a, b) EXPECT(Distance((a), (b)) < kClose<T>)

// Some matrices on the device, and the array of their addresses.
template <class T>
struct Batch {
  using Element = typename Blas<T>::Element;
  std::vector<Matrix<T>> host;
  std::deque<Buffer<T>> buffers;
  Buffer<Element*> pointers;
  explicit Batch(std::vector<Matrix<T>> matrices) : host(std::move(matrices)), pointers(host.size()) {
    std::vector<Element*> addresses;
    for (const Matrix<T>& matrix : host) {
      buffers.emplace_back(matrix.data);
      addresses.push_back(reinterpret_cast<Element*>(buffers.back().get()));
    }
    CUDA_OK(cudaMemcpy(pointers, addresses.data(), addresses.size() * sizeof(Element*), cudaMemcpyHostToDevice));
  }
  int count() const { return int(host.size()); }
  int leading() const { return host[0].leading; }
  Matrix<T> Get(int index) {
    Matrix<T> out = host[size_t(index)];
    out.data = buffers[size_t(index)].Get();
    return out;
  }
};
template <class T>
Batch<T> RandomBatch(int rows, int columns, int seed, int count, double diagonal = 0) {
  std::vector<Matrix<T>> matrices;
  for (int i = 0; i < count; ++i) matrices.push_back(RandomMatrix<T>(rows, columns, seed + 10 * i, diagonal));
  return Batch<T>(std::move(matrices));
}
template <class T>
auto* On(Buffer<T>& buffer) {
  return reinterpret_cast<typename Blas<T>::Element*>(buffer.get());
}
template <class T>
const auto* Scalar(const T& value) {
  return reinterpret_cast<const typename Blas<T>::Element*>(&value);
}

struct System {
  cublasSideMode_t side;
  cublasFillMode_t fill;
  cublasOperation_t op;
  cublasDiagType_t diagonal;
  int m, n;
  int size() const { return side == CUBLAS_SIDE_LEFT ? m : n; }
};
std::vector<System> Systems(int m, int n) {
  std::vector<System> out;
  for (int way = 0; way < 24; ++way) {
    out.push_back({way & 1 ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT,
                   way & 2 ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER,
                   way % 3 == 0   ? CUBLAS_OP_N
                   : way % 3 == 1 ? CUBLAS_OP_T
                                  : CUBLAS_OP_C,
                   way & 4 ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT, m, n});
  }
  return out;
}
// Well conditioned whatever its diagonal is taken for: what is beside it is small.
template <class T>
Matrix<T> Tame(int size, int seed) {
  Matrix<T> a = RandomMatrix<T>(size, size, seed);
  for (T& value : a.data) value *= T(Real<T>(1.0 / size));
  for (int i = 0; i < size; ++i) a(i, i) += T(Real<T>(2));
  return a;
}
template <class T>
void ExpectSolved(const System& s, const Matrix<T>& a, const Matrix<T>& x, const Matrix<T>& b, T alpha) {
  const Matrix<T> factor = Operated(Triangle(a, s.fill, s.diagonal), s.op);
  Matrix<T> wanted = b;
  for (T& value : wanted.data) value *= alpha;
  EXPECT_CLOSE(T, s.side == CUBLAS_SIDE_LEFT ? Product(factor, x) : Product(x, factor), wanted);
}

template <class T>
void CheckTriangles(int m, int n, bool on_device) {
  Handle handle;
  const T alpha = T(Real<T>(1.5));
  Buffer<T> device_alpha(std::vector<T>{alpha});
  if (on_device) BLAS_OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
  for (const System& s : Systems(m, n)) {
    const Matrix<T> a = Tame<T>(s.size(), 1);
    Matrix<T> b = RandomMatrix<T>(m, n, 2), x = b;
    Buffer<T> da(a.data), db(b.data);
    if (on_device) {
      BLAS_OK(Blas<T>::trsm_64(handle, s.side, s.fill, s.op, s.diagonal, m, n, On(device_alpha), On(da), a.leading,
                               On(db), b.leading));
    } else {
      BLAS_OK(Blas<T>::trsm(handle, s.side, s.fill, s.op, s.diagonal, m, n, Scalar(alpha), On(da), a.leading, On(db),
                            b.leading));
    }
    x.data = db.Get();
    ExpectSolved(s, a, x, b, alpha);
    for (int j = 0; j < n; ++j)
      for (int i = m; i < b.leading; ++i)
        EXPECT(x.data[size_t(j) * b.leading + i] == b.data[size_t(j) * b.leading + i]);
  }
}

template <class T>
void CheckTrianglesOfABatch() {
  Handle handle;
  const T alpha = T(Real<T>(-2));
  for (const System& s : Systems(5, 7)) {
    Batch<T> a({Tame<T>(s.size(), 3), Tame<T>(s.size(), 4), Tame<T>(s.size(), 5)});
    Batch<T> b = RandomBatch<T>(s.m, s.n, 6, 3);
    BLAS_OK(Blas<T>::trsm_batched(handle, s.side, s.fill, s.op, s.diagonal, s.m, s.n, Scalar(alpha), a.pointers,
                                  a.leading(), b.pointers, b.leading(), 3));
    for (int i = 0; i < 3; ++i) ExpectSolved(s, a.host[size_t(i)], b.Get(i), b.host[size_t(i)], alpha);
  }
}

template <class T>
void CheckLu(int n) {
  Handle handle;
  const int count = 3, lines = 4;
  Batch<T> a = RandomBatch<T>(n, n, 7, count);
  Buffer<int> pivots(size_t(n) * count), info(count);
  BLAS_OK(Blas<T>::getrf(handle, n, a.pointers, a.leading(), pivots, info, count));
  EXPECT_SAME(info.Get(), std::vector<int>(count));
  for (const int pivot : pivots.Get()) EXPECT(pivot >= 1 && pivot <= n);
  for (const cublasOperation_t op : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
    Batch<T> b = RandomBatch<T>(n, lines, 8, count);
    int wrong = -1;
    BLAS_OK(
        Blas<T>::getrs(handle, op, n, lines, a.pointers, a.leading(), pivots, b.pointers, b.leading(), &wrong, count));
    EXPECT_EQ(wrong, 0);
    for (int i = 0; i < count; ++i)
      EXPECT_CLOSE(T, Product(Operated(a.host[size_t(i)], op), b.Get(i)), b.host[size_t(i)]);
  }
  Batch<T> inverse = RandomBatch<T>(n, n, 9, count);
  BLAS_OK(Blas<T>::getri(handle, n, a.pointers, a.leading(), pivots, inverse.pointers, inverse.leading(), info, count));
  EXPECT_SAME(info.Get(), std::vector<int>(count));
  Matrix<T> one(n, n);
  for (int i = 0; i < n; ++i) one(i, i) = T(1);
  for (int i = 0; i < count; ++i) EXPECT_CLOSE(T, Product(a.host[size_t(i)], inverse.Get(i)), one);
}

template <class T>
void CheckLuOfSingularOnes() {
  Handle handle;
  Matrix<T> whole = Tame<T>(4, 1), empty(4, 4), half = Tame<T>(4, 2);
  for (int i = 0; i < 4; ++i) half(i, 2) = T(0);
  Batch<T> a({whole, empty, half});
  Buffer<int> info(3);
  // Without exchanging rows.
  BLAS_OK(Blas<T>::getrf(handle, 4, a.pointers, a.leading(), nullptr, info, 3));
  EXPECT_SAME(info.Get(), (std::vector<int>{0, 1, 3}));
  Batch<T> b = RandomBatch<T>(4, 2, 3, 3);
  int wrong = -1;
  BLAS_OK(
      Blas<T>::getrs(handle, CUBLAS_OP_N, 4, 2, a.pointers, a.leading(), nullptr, b.pointers, b.leading(), &wrong, 1));
  EXPECT_CLOSE(T, Product(whole, b.Get(0)), b.host[0]);
}

template <class T>
void CheckQr(int m, int n) {
  Handle handle;
  Batch<T> a = RandomBatch<T>(m, n, 11, 2), tau = RandomBatch<T>(std::min(m, n), 1, 12, 2);
  int wrong = -1;
  BLAS_OK(Blas<T>::geqrf(handle, m, n, a.pointers, a.leading(), tau.pointers, &wrong, 2));
  EXPECT_EQ(wrong, 0);
  for (int index = 0; index < 2; ++index) {
    const Matrix<T> factored = a.Get(index), factors = tau.Get(index);
    // Q R, the reflections one after the other.
    Matrix<T> q_r(m, n);
    for (int j = 0; j < n; ++j)
      for (int i = 0; i <= std::min(j, m - 1); ++i) q_r(i, j) = factored(i, j);
    for (int k = std::min(m, n) - 1; k >= 0; --k) {
      std::vector<T> v(static_cast<size_t>(m));
      v[size_t(k)] = T(1);
      for (int i = k + 1; i < m; ++i) v[size_t(i)] = factored(i, k);
      for (int j = 0; j < n; ++j) {
        T sum = T(0);
        for (int i = k; i < m; ++i) sum += Conjugate(v[size_t(i)]) * q_r(i, j);
        for (int i = k; i < m; ++i) q_r(i, j) -= factors(k, 0) * v[size_t(i)] * sum;
      }
    }
    EXPECT_CLOSE(T, q_r, a.host[size_t(index)]);
  }
}

// What is left over is orthogonal to A's columns.
template <class T>
void CheckLeastSquares() {
  Handle handle;
  const int m = 13, n = 6, lines = 3;
  Batch<T> a = RandomBatch<T>(m, n, 13, 2), c = RandomBatch<T>(m, lines, 14, 2);
  Buffer<int> info(2);
  int wrong = -1;
  BLAS_OK(Blas<T>::gels(handle, CUBLAS_OP_N, m, n, lines, a.pointers, a.leading(), c.pointers, c.leading(), &wrong,
                        info, 2));
  EXPECT_EQ(wrong, 0);
  EXPECT_SAME(info.Get(), std::vector<int>(2));
  for (int i = 0; i < 2; ++i) {
    const Matrix<T> solution = c.Get(i);
    Matrix<T> x(n, lines);
    for (int j = 0; j < lines; ++j)
      for (int k = 0; k < n; ++k) x(k, j) = solution(k, j);
    Matrix<T> rest = Product(a.host[size_t(i)], x);
    for (int j = 0; j < lines; ++j)
      for (int k = 0; k < m; ++k) rest(k, j) -= c.host[size_t(i)](k, j);
    EXPECT_CLOSE(T, Product(Operated(a.host[size_t(i)], CUBLAS_OP_C), rest), Matrix<T>(n, lines));
  }
}

// Small integers: exact whatever the order of summation.
template <class T>
std::vector<T> Integers(int n, int seed) {
  std::vector<T> out;
  for (int i = 0; i < n; ++i) out.push_back(T(float((i * 7 + seed * 5) % 9 - 4), float((i * 5 + seed) % 7 - 3)));
  return out;
}

template <class T, class Device, class Real, class Dotu, class Dotc, class Axpy, class Scal, class Copy, class Norm>
void CheckComplexVectors(Dotu dotu, Dotc dotc, Axpy axpy, Scal scal, Copy copy, Norm norm) {
  Handle handle;
  const int n = 37;
  const std::vector<T> x = Integers<T>(2 * n, 1), y = Integers<T>(3 * n, 2);
  Buffer<T> dx(x), dy(y);
  auto* const px = reinterpret_cast<Device*>(dx.get());
  auto* const py = reinterpret_cast<Device*>(dy.get());
  T plain = T(0), conjugated = T(0), got = T(0);
  Real square = 0, length = 0;
  for (int i = 0; i < n; ++i) {
    plain += x[size_t(2 * i)] * y[size_t(3 * i)];
    conjugated += std::conj(x[size_t(2 * i)]) * y[size_t(3 * i)];
    square += std::norm(x[size_t(2 * i)]);
  }
  BLAS_OK(dotu(handle, n, px, 2, py, 3, reinterpret_cast<Device*>(&got)));
  EXPECT(got == plain);
  BLAS_OK(dotc(handle, n, px, 2, py, 3, reinterpret_cast<Device*>(&got)));
  EXPECT(got == conjugated);
  BLAS_OK(norm(handle, n, px, 2, &length));
  EXPECT(std::abs(length - std::sqrt(square)) < 1e-4);
  Buffer<T> result(1);
  BLAS_OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
  BLAS_OK(dotc(handle, n, px, 2, py, 3, reinterpret_cast<Device*>(result.get())));
  EXPECT(result.Get()[0] == conjugated);
  BLAS_OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
  const T alpha(2, -3);
  std::vector<T> wanted = y;
  for (int i = 0; i < n; ++i) wanted[size_t(3 * i)] = (wanted[size_t(3 * i)] + alpha * x[size_t(2 * i)]) * alpha;
  BLAS_OK(axpy(handle, n, reinterpret_cast<const Device*>(&alpha), px, 2, py, 3));
  BLAS_OK(scal(handle, n, reinterpret_cast<const Device*>(&alpha), py, 3));
  EXPECT(dy.Get() == wanted);
  BLAS_OK(copy(handle, n, px, 2, py, 3));
  for (int i = 0; i < n; ++i) wanted[size_t(3 * i)] = x[size_t(2 * i)];
  EXPECT(dy.Get() == wanted);
}

}  // namespace

#define FOR_ALL_TYPES(check)                                 \
  CASE(check##_of_float) { check<float>(); }                 \
  CASE(check##_of_double) { check<double>(); }               \
  CASE(check##_of_complex) { check<std::complex<float>>(); } \
  CASE(check##_of_complex_double) { check<std::complex<double>>(); }

template <class T>
static void triangles() {
  CheckTriangles<T>(5, 7, false);
  CheckTriangles<T>(5, 3, true);
}
template <class T>
static void triangles_in_blocks() {
  CheckTriangles<T>(150, 9, false);
  CheckTriangles<T>(70, 65, true);
}
template <class T>
static void lu() {
  CheckLu<T>(1);
  CheckLu<T>(9);
  CheckLu<T>(45);
  CheckLuOfSingularOnes<T>();
}
template <class T>
static void qr() {
  CheckQr<T>(9, 5);
  CheckQr<T>(4, 6);
  CheckLeastSquares<T>();
}
template <class T>
static void batches_of_triangles() {
  CheckTrianglesOfABatch<T>();
}
FOR_ALL_TYPES(triangles)
FOR_ALL_TYPES(batches_of_triangles)
FOR_ALL_TYPES(lu)
FOR_ALL_TYPES(qr)
CASE(large_triangles_of_float) { triangles_in_blocks<float>(); }
CASE(large_triangles_of_complex_double) { triangles_in_blocks<std::complex<double>>(); }

CASE(more_threads_than_matrices_have_rows_and_the_reverse) { CheckLu<double>(200); }

// A factor of zero makes zeros of what is there, as long as it is finite: whether the library reads it is its own
// matter.
CASE(a_factor_of_zero_makes_zeros) {
  Handle handle;
  const float zero = 0;
  std::vector<float> triangle(100 * 100, 0.25f);
  for (size_t i = 0; i < 100; ++i) triangle[i * 101] = 2;
  Buffer<float> a(triangle), b(triangle);
  for (const int size : {10, 100}) {
    BLAS_OK(cublasStrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, size, 3,
                        &zero, a, 100, b, 100));
    const std::vector<float> got = b.Get();
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < size; ++i) EXPECT_EQ(got[size_t(j) * 100 + i], 0.0f);
  }
}

CASE(singular_upper_triangle_of_least_squares) {
  Handle handle;
  Matrix<double> matrix = RandomMatrix<double>(5, 3, 1);
  for (int i = 0; i < 5; ++i) matrix(i, 1) = 0;
  Batch<double> a({matrix}), c = RandomBatch<double>(5, 1, 2, 1);
  Buffer<int> info(1);
  int wrong = -1;
  BLAS_OK(cublasDgelsBatched(handle, CUBLAS_OP_N, 5, 3, 1, a.pointers, a.leading(), c.pointers, c.leading(), &wrong,
                             info, 1));
  EXPECT_EQ(info.Get()[0], 2);
}

CASE(what_cannot_be_is_refused) {
  Handle handle;
  const float one = 1;
  Buffer<float> matrix(16);
  Batch<float> a = RandomBatch<float>(3, 3, 1, 1);
  Buffer<int> info(1);
  const auto trsm = [&](int m, int n, int lda, int ldb) {
    return cublasStrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, m, n, &one,
                       matrix, lda, matrix, ldb);
  };
  EXPECT_EQ(trsm(-1, 1, 4, 4), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(trsm(3, 1, 2, 4), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(trsm(3, 1, 3, 2), CUBLAS_STATUS_INVALID_VALUE);
  BLAS_OK(trsm(0, 1, 1, 1));
  EXPECT_EQ(cublasSgetrfBatched(handle, 3, a.pointers, 2, nullptr, info, 1), CUBLAS_STATUS_INVALID_VALUE);
  int wrong = 0;
  EXPECT_EQ(cublasSgetrsBatched(handle, CUBLAS_OP_N, 3, -1, a.pointers, 5, nullptr, a.pointers, 5, &wrong, 1),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(wrong, -3);
  EXPECT_EQ(cublasSgelsBatched(handle, CUBLAS_OP_N, 2, 3, 1, a.pointers, 5, a.pointers, 5, &wrong, nullptr, 1),
            CUBLAS_STATUS_NOT_SUPPORTED);
}

CHILD(addresses_of_nothing) {
  Handle handle;
  Buffer<float*> pointers(2);
  Buffer<int> info(2);
  CUDA_OK(cudaMemset(pointers, 0, 2 * sizeof(float*)));
  // A quick device has faulted before the call returns.
  const cublasStatus_t status = cublasSgetrfBatched(handle, 4, pointers, 4, nullptr, info, 2);
  if (status != CUBLAS_STATUS_SUCCESS) EXPECT_EQ(status, CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}
CASE(matrices_at_addresses_of_nothing_are_a_fault) {
  const harness::ChildResult child = harness::RunChild("addresses_of_nothing");
  EXPECT_EQ(child.status, 0);
  if (child.status != 0) std::printf("%s", child.output.c_str());
}

CASE(complex_vectors) {
  CheckComplexVectors<std::complex<float>, cuComplex, float>(cublasCdotu, cublasCdotc, cublasCaxpy, cublasCscal,
                                                             cublasCcopy, cublasScnrm2);
  CheckComplexVectors<std::complex<double>, cuDoubleComplex, double>(cublasZdotu, cublasZdotc, cublasZaxpy, cublasZscal,
                                                                     cublasZcopy, cublasDznrm2);
}

template <class T>
static void CheckDotOf(cudaDataType type) {
  Handle handle;
  std::vector<T> x, y;
  float wanted = 0;
  for (int i = 0; i < 50; ++i) {
    x.push_back(T(float(i % 5 - 2)));
    y.push_back(T(float(i % 7 - 3)));
    wanted += float(i % 5 - 2) * float(i % 7 - 3);
  }
  Buffer<T> dx(x), dy(y);
  T got = T(0.0f);
  BLAS_OK(cublasDotEx(handle, 50, dx.get(), type, 1, dy.get(), type, 1, &got, type, CUDA_R_32F));
  EXPECT_EQ(float(got), wanted);
}
CASE(dot_products_of_halves) {
  CheckDotOf<__half>(CUDA_R_16F);
  CheckDotOf<__nv_bfloat16>(CUDA_R_16BF);
  CheckDotOf<float>(CUDA_R_32F);
}
