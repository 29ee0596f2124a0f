// cuSOLVER's dense routines by what they promise, in all four types, by both kinds of calls; what wrong calls return.
#include <cusolverDn.h>

#include <complex>
#include <limits>

#include "tests/cuda/harness.h"

#define SOLVER_OK(call) EXPECT_EQ(call, CUSOLVER_STATUS_SUCCESS)

using Value = std::complex<double>;
using Matrix = std::vector<Value>;  // column major

__global__ void Negate(float* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = -values[i];
}

static Matrix Product(const Matrix& a, const Matrix& b, int m, int k, int n) {
  Matrix c(size_t(m) * n);
  for (int j = 0; j < n; ++j)
    for (int l = 0; l < k; ++l)
      for (int i = 0; i < m; ++i) c[i + size_t(j) * m] += a[i + size_t(l) * m] * b[l + size_t(j) * k];
  return c;
}
static Matrix Adjoint(const Matrix& a, int m, int n) {
  Matrix t(a.size());
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) t[j + size_t(i) * n] = std::conj(a[i + size_t(j) * m]);
  return t;
}
static Matrix Identity(int n) {
  Matrix a(size_t(n) * n);
  for (int i = 0; i < n; ++i) a[i + size_t(i) * n] = 1;
  return a;
}
// The first `columns` of those of `rows`, scaled.
static Matrix Scaled(Matrix a, int rows, const std::vector<double>& by) {
  a.resize(size_t(rows) * by.size());
  for (size_t j = 0; j < by.size(); ++j)
    for (int i = 0; i < rows; ++i) a[i + j * rows] *= by[j];
  return a;
}
static double Difference(const Matrix& a, const Matrix& b) {
  double most = a.size() == b.size() ? 0 : 1e9;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

// What the four types have in common.
template <typename T>
struct Traits;
#define TRAITS(T, R, Letter, type, real, orm, org, syev, sygv, kComplex_)                     \
  template <>                                                                                 \
  struct Traits<T> {                                                                          \
    using Real = R;                                                                           \
    static constexpr bool kComplex = kComplex_;                                               \
    static constexpr cudaDataType kType = type, kReal = real;                                 \
    static constexpr auto potrf = cusolverDn##Letter##potrf;                                  \
    static constexpr auto potrf_size = cusolverDn##Letter##potrf_bufferSize;                  \
    static constexpr auto potrs = cusolverDn##Letter##potrs;                                  \
    static constexpr auto potri = cusolverDn##Letter##potri;                                  \
    static constexpr auto potri_size = cusolverDn##Letter##potri_bufferSize;                  \
    static constexpr auto getrf = cusolverDn##Letter##getrf;                                  \
    static constexpr auto getrf_size = cusolverDn##Letter##getrf_bufferSize;                  \
    static constexpr auto getrs = cusolverDn##Letter##getrs;                                  \
    static constexpr auto geqrf = cusolverDn##Letter##geqrf;                                  \
    static constexpr auto geqrf_size = cusolverDn##Letter##geqrf_bufferSize;                  \
    static constexpr auto ormqr = cusolverDn##Letter##orm##qr;                                \
    static constexpr auto ormqr_size = cusolverDn##Letter##orm##qr_bufferSize;                \
    static constexpr auto orgqr = cusolverDn##Letter##org##qr;                                \
    static constexpr auto orgqr_size = cusolverDn##Letter##org##qr_bufferSize;                \
    static constexpr auto sytrf = cusolverDn##Letter##sytrf;                                  \
    static constexpr auto sytrf_size = cusolverDn##Letter##sytrf_bufferSize;                  \
    static constexpr auto gesvd = cusolverDn##Letter##gesvd;                                  \
    static constexpr auto gesvd_size = cusolverDn##Letter##gesvd_bufferSize;                  \
    static constexpr auto gesvdj = cusolverDn##Letter##gesvdj;                                \
    static constexpr auto gesvdj_size = cusolverDn##Letter##gesvdj_bufferSize;                \
    static constexpr auto gesvdj_batched = cusolverDn##Letter##gesvdjBatched;                 \
    static constexpr auto gesvdj_batched_size = cusolverDn##Letter##gesvdjBatched_bufferSize; \
    static constexpr auto syevd = cusolverDn##Letter##syev##d;                                \
    static constexpr auto syevd_size = cusolverDn##Letter##syev##d_bufferSize;                \
    static constexpr auto syevj = cusolverDn##Letter##syev##j;                                \
    static constexpr auto syevj_size = cusolverDn##Letter##syev##j_bufferSize;                \
    static constexpr auto syevj_batched = cusolverDn##Letter##syev##jBatched;                 \
    static constexpr auto syevj_batched_size = cusolverDn##Letter##syev##jBatched_bufferSize; \
    static constexpr auto sygvd = cusolverDn##Letter##sygv##d;                                \
    static constexpr auto sygvd_size = cusolverDn##Letter##sygv##d_bufferSize;                \
  };
TRAITS(float, float, S, CUDA_R_32F, CUDA_R_32F, orm, org, syev, sygv, false)
TRAITS(double, double, D, CUDA_R_64F, CUDA_R_64F, orm, org, syev, sygv, false)
TRAITS(cuComplex, float, C, CUDA_C_32F, CUDA_R_32F, unm, ung, heev, hegv, true)
TRAITS(cuDoubleComplex, double, Z, CUDA_C_64F, CUDA_R_64F, unm, ung, heev, hegv, true)

static Value ValueOf(float x) { return x; }
static Value ValueOf(double x) { return x; }
static Value ValueOf(cuComplex x) { return {x.x, x.y}; }
static Value ValueOf(cuDoubleComplex x) { return {x.x, x.y}; }
template <typename T>
static T ElementOf(Value v) {
  if constexpr (Traits<T>::kComplex) {
    using R = typename Traits<T>::Real;
    return {R(v.real()), R(v.imag())};
  } else {
    return T(v.real());
  }
}

static cusolverDnHandle_t solver;
static cusolverDnParams_t params;
// They are there while it lives.
struct Session {
  Session() {
    SOLVER_OK(cusolverDnCreate(&solver));
    SOLVER_OK(cusolverDnCreateParams(&params));
  }
  ~Session() {
    SOLVER_OK(cusolverDnDestroyParams(params));
    SOLVER_OK(cusolverDnDestroy(solver));
  }
};

// On the device; columns a bit further apart than they are long.
template <typename T>
class OnDevice {
 public:
  OnDevice(int rows, int columns, const Matrix& values = {}) : rows_(rows), columns_(columns), leading(rows + 1) {
    std::vector<T> all(size_t(leading) * columns, ElementOf<T>(-99));
    for (int j = 0; j < columns && !values.empty(); ++j)
      for (int i = 0; i < rows; ++i) all[i + size_t(j) * leading] = ElementOf<T>(values[i + size_t(j) * rows]);
    CUDA_OK(cudaMalloc(&data, all.size() * sizeof(T)));
    CUDA_OK(cudaMemcpy(data, all.data(), all.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~OnDevice() { cudaFree(data); }
  // And whether nothing between columns was touched.
  Matrix Get() const {
    std::vector<T> all(size_t(leading) * columns_);
    CUDA_OK(cudaMemcpy(all.data(), data, all.size() * sizeof(T), cudaMemcpyDeviceToHost));
    Matrix values(size_t(rows_) * columns_);
    for (int j = 0; j < columns_; ++j) {
      EXPECT(ValueOf(all[rows_ + size_t(j) * leading]) == Value(-99));
      for (int i = 0; i < rows_; ++i) values[i + size_t(j) * rows_] = ValueOf(all[i + size_t(j) * leading]);
    }
    return values;
  }

 private:
  int rows_, columns_;

 public:
  int leading;
  T* data = nullptr;
};

template <typename T>
struct Array {
  explicit Array(size_t n) : size(n) {
    CUDA_OK(cudaMalloc(&data, n * sizeof(T)));
    CUDA_OK(cudaMemset(data, 0x7f, n * sizeof(T)));
  }
  ~Array() { cudaFree(data); }
  std::vector<T> Get() const {
    std::vector<T> values(size);
    CUDA_OK(cudaMemcpy(values.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }
  size_t size;
  T* data = nullptr;
};
template <typename R>
static std::vector<double> Doubles(const Array<R>& array) {
  const std::vector<R> values = array.Get();
  return {values.begin(), values.end()};
}

template <typename T>
struct Checks {
  using Tr = Traits<T>;
  using R = typename Tr::Real;
  const double tolerance = std::is_same_v<R, float> ? 3e-4 : 1e-11;
  harness::Random random{11};
  Array<int> info{8};

  Value Any() {
    const double a = random.Uniform() * 2 - 1, b = random.Uniform() * 2 - 1;
    return Tr::kComplex ? Value(a, b) : Value(a);
  }
  Matrix AnyMatrix(int m, int n) {
    Matrix a(size_t(m) * n);
    // As they are rounded.
    for (Value& value : a) value = ValueOf(ElementOf<T>(Any()));
    return a;
  }
  Matrix Hermitian(int n, double shift, bool conjugated = true) {
    Matrix a = AnyMatrix(n, n);
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < j; ++i)
        a[j + size_t(i) * n] = conjugated ? std::conj(a[i + size_t(j) * n]) : a[i + size_t(j) * n];
      a[j + size_t(j) * n] = ValueOf(ElementOf<T>(a[j + size_t(j) * n].real() + shift));
    }
    return a;
  }
  int Info() { return info.Get()[0]; }
  bool Near(const Matrix& a, const Matrix& b) { return Difference(a, b) < tolerance; }

  void Cholesky() {
    const int n = 12, lines = 3;
    const Matrix whole = Hermitian(n, 10), right = AnyMatrix(n, lines);
    for (const cublasFillMode_t fill : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}) {
      OnDevice<T> a(n, n, whole), b(n, lines, right);
      int size = 0;
      SOLVER_OK(Tr::potrf_size(solver, fill, n, a.data, a.leading, &size));
      Array<T> work(size);
      SOLVER_OK(Tr::potrf(solver, fill, n, a.data, a.leading, work.data, size, info.data));
      EXPECT_EQ(Info(), 0);
      SOLVER_OK(Tr::potrs(solver, fill, n, lines, a.data, a.leading, b.data, b.leading, info.data));
      EXPECT(Near(Product(whole, b.Get(), n, n, lines), right));
      // Likewise by types in arguments.
      OnDevice<T> ax(n, n, whole), bx(n, lines, right);
      size_t device = 0, host = 0;
      SOLVER_OK(cusolverDnXpotrf_bufferSize(solver, params, fill, n, Tr::kType, ax.data, ax.leading, Tr::kType, &device,
                                            &host));
      Array<char> buffer(device);
      std::vector<char> on_host(host);
      SOLVER_OK(cusolverDnXpotrf(solver, params, fill, n, Tr::kType, ax.data, ax.leading, Tr::kType, buffer.data,
                                 device, on_host.data(), host, info.data));
      SOLVER_OK(cusolverDnXpotrs(solver, params, fill, n, lines, Tr::kType, ax.data, ax.leading, Tr::kType, bx.data,
                                 bx.leading, info.data));
      EXPECT(Near(bx.Get(), b.Get()));
      SOLVER_OK(Tr::potri_size(solver, fill, n, a.data, a.leading, &size));
      Array<T> more(size);
      SOLVER_OK(Tr::potri(solver, fill, n, a.data, a.leading, more.data, size, info.data));
      Matrix inverse = a.Get();
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i)
          if (fill == CUBLAS_FILL_MODE_LOWER ? i < j : i > j)
            inverse[i + size_t(j) * n] = std::conj(inverse[j + size_t(i) * n]);
      EXPECT(Near(Product(whole, inverse, n, n, n), Identity(n)));
    }
    Matrix indefinite = whole;
    indefinite[4 + size_t(4) * n] = -70;
    OnDevice<T> a(n, n, indefinite);
    int size = 0;
    SOLVER_OK(Tr::potrf_size(solver, CUBLAS_FILL_MODE_LOWER, n, a.data, a.leading, &size));
    Array<T> work(size);
    SOLVER_OK(Tr::potrf(solver, CUBLAS_FILL_MODE_LOWER, n, a.data, a.leading, work.data, size, info.data));
    EXPECT_EQ(Info(), 5);
  }

  void Lu() {
    const int n = 11, lines = 4;
    const Matrix whole = AnyMatrix(n, n), right = AnyMatrix(n, lines);
    Matrix transposed(whole.size());
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) transposed[j + size_t(i) * n] = whole[i + size_t(j) * n];
    for (const cublasOperation_t operation : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
      const Matrix op = operation == CUBLAS_OP_N ? whole : operation == CUBLAS_OP_T ? transposed : Adjoint(whole, n, n);
      OnDevice<T> a(n, n, whole), b(n, lines, right), bx(n, lines, right), ax(n, n, whole);
      Array<int> pivots(n);
      Array<int64_t> wide(n);
      int size = 0;
      SOLVER_OK(Tr::getrf_size(solver, n, n, a.data, a.leading, &size));
      Array<T> work(size);
      SOLVER_OK(Tr::getrf(solver, n, n, a.data, a.leading, work.data, pivots.data, info.data));
      EXPECT_EQ(Info(), 0);
      SOLVER_OK(Tr::getrs(solver, operation, n, lines, a.data, a.leading, pivots.data, b.data, b.leading, info.data));
      EXPECT(Near(Product(op, b.Get(), n, n, lines), right));
      size_t device = 0, host = 0;
      SOLVER_OK(
          cusolverDnXgetrf_bufferSize(solver, params, n, n, Tr::kType, ax.data, ax.leading, Tr::kType, &device, &host));
      Array<char> buffer(device);
      std::vector<char> on_host(host);
      SOLVER_OK(cusolverDnXgetrf(solver, params, n, n, Tr::kType, ax.data, ax.leading, wide.data, Tr::kType,
                                 buffer.data, device, on_host.data(), host, info.data));
      SOLVER_OK(cusolverDnXgetrs(solver, params, operation, n, lines, Tr::kType, ax.data, ax.leading, wide.data,
                                 Tr::kType, bx.data, bx.leading, info.data));
      EXPECT(Near(bx.Get(), b.Get()));
      const std::vector<int> narrow = pivots.Get();
      EXPECT(std::vector<int64_t>(narrow.begin(), narrow.end()) == wide.Get());
    }
    // Without exchanges, of what needs none; and what is singular.
    const Matrix strong = Hermitian(n, 12);
    OnDevice<T> a(n, n, strong), b(n, lines, right);
    int size = 0;
    SOLVER_OK(Tr::getrf_size(solver, n, n, a.data, a.leading, &size));
    Array<T> work(size);
    SOLVER_OK(Tr::getrf(solver, n, n, a.data, a.leading, work.data, nullptr, info.data));
    SOLVER_OK(Tr::getrs(solver, CUBLAS_OP_N, n, lines, a.data, a.leading, nullptr, b.data, b.leading, info.data));
    EXPECT(Near(Product(strong, b.Get(), n, n, lines), right));
    Matrix singular = Identity(n);
    singular[6 + size_t(6) * n] = 0;
    OnDevice<T> s(n, n, singular);
    Array<int> pivots(n);
    SOLVER_OK(Tr::getrf(solver, n, n, s.data, s.leading, work.data, pivots.data, info.data));
    EXPECT_EQ(Info(), 7);
  }

  void Symmetric() {
    const int n = 8, lines = 2;
    Matrix whole = Hermitian(n, 0, false);
    for (int i = 0; i < n; ++i) whole[i + size_t(i) * n] = 0.1;
    const Matrix right = AnyMatrix(n, lines);
    for (const cublasFillMode_t fill : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}) {
      OnDevice<T> a(n, n, whole), b(n, lines, right);
      Array<int> pivots(n);
      int size = 0;
      SOLVER_OK(Tr::sytrf_size(solver, n, a.data, a.leading, &size));
      Array<T> work(size);
      SOLVER_OK(Tr::sytrf(solver, fill, n, a.data, a.leading, pivots.data, work.data, size, info.data));
      EXPECT_EQ(Info(), 0);
      const std::vector<int> narrow = pivots.Get();
      const std::vector<int64_t> wide(narrow.begin(), narrow.end());
      Array<int64_t> on_device(n);
      CUDA_OK(cudaMemcpy(on_device.data, wide.data(), n * sizeof(int64_t), cudaMemcpyHostToDevice));
      size_t device = 0, host = 0;
      SOLVER_OK(cusolverDnXsytrs_bufferSize(solver, fill, n, lines, Tr::kType, a.data, a.leading, on_device.data,
                                            Tr::kType, b.data, b.leading, &device, &host));
      Array<char> buffer(device);
      std::vector<char> on_host(host);
      SOLVER_OK(cusolverDnXsytrs(solver, fill, n, lines, Tr::kType, a.data, a.leading, on_device.data, Tr::kType,
                                 b.data, b.leading, buffer.data, device, on_host.data(), host, info.data));
      EXPECT(Difference(Product(whole, b.Get(), n, n, lines), right) < 20 * tolerance);
    }
  }

  void Qr() {
    const int m = 10, n = 6;
    const Matrix whole = AnyMatrix(m, n);
    OnDevice<T> a(m, n, whole), c(m, n, whole);
    Array<T> tau(n);
    int size = 0;
    SOLVER_OK(Tr::geqrf_size(solver, m, n, a.data, n, &size));  // as CuPy does
    SOLVER_OK(Tr::geqrf_size(solver, m, n, a.data, a.leading, &size));
    Array<T> work(size);
    SOLVER_OK(Tr::geqrf(solver, m, n, a.data, a.leading, tau.data, work.data, size, info.data));
    EXPECT_EQ(Info(), 0);
    Matrix r = a.Get();
    for (int j = 0; j < n; ++j)
      for (int i = j + 1; i < m; ++i) r[i + size_t(j) * m] = 0;
    const cublasOperation_t adjoint = Tr::kComplex ? CUBLAS_OP_C : CUBLAS_OP_T;
    SOLVER_OK(Tr::ormqr_size(solver, CUBLAS_SIDE_LEFT, adjoint, m, n, n, a.data, a.leading, tau.data, c.data, c.leading,
                             &size));
    Array<T> more(size);
    SOLVER_OK(Tr::ormqr(solver, CUBLAS_SIDE_LEFT, adjoint, m, n, n, a.data, a.leading, tau.data, c.data, c.leading,
                        more.data, size, info.data));
    EXPECT(Near(c.Get(), r));
    SOLVER_OK(Tr::orgqr_size(solver, m, n, n, a.data, a.leading, tau.data, &size));
    Array<T> most(size);
    SOLVER_OK(Tr::orgqr(solver, m, n, n, a.data, a.leading, tau.data, most.data, size, info.data));
    const Matrix q = a.Get();
    Matrix square(size_t(n) * n);
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) square[i + size_t(j) * n] = r[i + size_t(j) * m];
    EXPECT(Near(Product(q, square, m, n, n), whole));
    EXPECT(Near(Product(Adjoint(q, m, n), q, n, m, n), Identity(n)));
    OnDevice<T> x(m, n, whole);
    Array<T> tau_x(n);
    size_t device = 0, host = 0;
    SOLVER_OK(cusolverDnXgeqrf_bufferSize(solver, params, m, n, Tr::kType, x.data, x.leading, Tr::kType, tau_x.data,
                                          Tr::kType, &device, &host));
    Array<char> buffer(device);
    std::vector<char> on_host(host);
    SOLVER_OK(cusolverDnXgeqrf(solver, params, m, n, Tr::kType, x.data, x.leading, Tr::kType, tau_x.data, Tr::kType,
                               buffer.data, device, on_host.data(), host, info.data));
    Matrix rx = x.Get();
    for (int j = 0; j < n; ++j)
      for (int i = j + 1; i < m; ++i) rx[i + size_t(j) * m] = 0;
    EXPECT(Near(rx, r));
  }

  void Singular() {
    const int m = 9, n = 5;
    const Matrix whole = AnyMatrix(m, n);
    for (const char jobs : {'A', 'S'}) {
      for (const bool generic : {false, true}) {
        OnDevice<T> a(m, n, whole), u(m, jobs == 'A' ? m : n), vt(n, n);
        Array<R> s(n), rwork(n);
        int size = 0;
        SOLVER_OK(Tr::gesvd_size(solver, m, n, &size));
        Array<T> work(size);
        if (generic) {
          size_t device = 0, host = 0;
          SOLVER_OK(cusolverDnXgesvd_bufferSize(solver, params, jobs, jobs, m, n, Tr::kType, a.data, a.leading,
                                                Tr::kReal, s.data, Tr::kType, u.data, u.leading, Tr::kType, vt.data,
                                                vt.leading, Tr::kType, &device, &host));
          Array<char> buffer(device);
          std::vector<char> on_host(host);
          SOLVER_OK(cusolverDnXgesvd(solver, params, jobs, jobs, m, n, Tr::kType, a.data, a.leading, Tr::kReal, s.data,
                                     Tr::kType, u.data, u.leading, Tr::kType, vt.data, vt.leading, Tr::kType,
                                     buffer.data, device, on_host.data(), host, info.data));
        } else {
          SOLVER_OK(Tr::gesvd(solver, jobs, jobs, m, n, a.data, a.leading, s.data, u.data, u.leading, vt.data,
                              vt.leading, work.data, size, rwork.data, info.data));
        }
        EXPECT_EQ(Info(), 0);
        const std::vector<double> values = Doubles(s);
        EXPECT(std::is_sorted(values.rbegin(), values.rend()));
        EXPECT(Near(Product(Scaled(u.Get(), m, values), vt.Get(), m, n, n), whole));
      }
    }
    gesvdjInfo_t how;
    SOLVER_OK(cusolverDnCreateGesvdjInfo(&how));
    SOLVER_OK(cusolverDnXgesvdjSetTolerance(how, std::is_same_v<R, float> ? 1e-7 : 1e-14));
    SOLVER_OK(cusolverDnXgesvdjSetMaxSweeps(how, 30));
    SOLVER_OK(cusolverDnXgesvdjSetSortEig(how, 1));
    for (const int thin : {0, 1}) {
      OnDevice<T> a(m, n, whole), u(m, thin ? n : m), v(n, n);
      Array<R> s(n);
      int size = 0;
      SOLVER_OK(Tr::gesvdj_size(solver, CUSOLVER_EIG_MODE_VECTOR, thin, m, n, a.data, a.leading, s.data, u.data,
                                u.leading, v.data, v.leading, &size, how));
      Array<T> work(size);
      SOLVER_OK(Tr::gesvdj(solver, CUSOLVER_EIG_MODE_VECTOR, thin, m, n, a.data, a.leading, s.data, u.data, u.leading,
                           v.data, v.leading, work.data, size, info.data, how));
      EXPECT_EQ(Info(), 0);
      EXPECT(Near(Product(Scaled(u.Get(), m, Doubles(s)), Adjoint(v.Get(), n, n), m, n, n), whole));
    }
    // Two at once, one behind the other.
    const Matrix other = AnyMatrix(m, n);
    Matrix both = whole;
    both.insert(both.end(), other.begin(), other.end());
    OnDevice<T> a(m, 2 * n, both), u(m, 2 * m), v(n, 2 * n);
    Array<R> s(2 * n);
    int size = 0;
    SOLVER_OK(Tr::gesvdj_batched_size(solver, CUSOLVER_EIG_MODE_VECTOR, m, n, a.data, a.leading, s.data, u.data,
                                      u.leading, v.data, v.leading, &size, how, 2));
    Array<T> work(size);
    SOLVER_OK(Tr::gesvdj_batched(solver, CUSOLVER_EIG_MODE_VECTOR, m, n, a.data, a.leading, s.data, u.data, u.leading,
                                 v.data, v.leading, work.data, size, info.data, how, 2));
    const Matrix us = u.Get(), vs = v.Get();
    const std::vector<double> ss = Doubles(s);
    const Matrix second_u(us.begin() + m * m, us.end()), second_v(vs.begin() + n * n, vs.end());
    const std::vector<double> second_s(ss.begin() + n, ss.end());
    EXPECT(Near(Product(Scaled(second_u, m, second_s), Adjoint(second_v, n, n), m, n, n), other));
    SOLVER_OK(cusolverDnDestroyGesvdjInfo(how));
  }

  void Eigen() {
    const int n = 10;
    const Matrix whole = Hermitian(n, 0), metric = Hermitian(n, 12);
    syevjInfo_t how;
    SOLVER_OK(cusolverDnCreateSyevjInfo(&how));
    SOLVER_OK(cusolverDnXsyevjSetTolerance(how, std::is_same_v<R, float> ? 1e-7 : 1e-14));
    SOLVER_OK(cusolverDnXsyevjSetMaxSweeps(how, 30));
    SOLVER_OK(cusolverDnXsyevjSetSortEig(how, 1));
    const auto mode = CUSOLVER_EIG_MODE_VECTOR;
    for (const cublasFillMode_t fill : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}) {
      for (const int call : {0, 1, 2, 3, 4}) {
        OnDevice<T> a(n, n, whole), b(n, n, metric);
        Array<R> w(n);
        int size = 0;
        size_t device = 0, host = 0;
        if (call == 0) {
          SOLVER_OK(Tr::syevd_size(solver, mode, fill, n, a.data, a.leading, w.data, &size));
          Array<T> work(size);
          SOLVER_OK(Tr::syevd(solver, mode, fill, n, a.data, a.leading, w.data, work.data, size, info.data));
        } else if (call == 1) {
          SOLVER_OK(Tr::syevj_size(solver, mode, fill, n, a.data, a.leading, w.data, &size, how));
          Array<T> work(size);
          SOLVER_OK(Tr::syevj(solver, mode, fill, n, a.data, a.leading, w.data, work.data, size, info.data, how));
        } else if (call == 2) {
          SOLVER_OK(Tr::sygvd_size(solver, CUSOLVER_EIG_TYPE_1, mode, fill, n, a.data, a.leading, b.data, b.leading,
                                   w.data, &size));
          Array<T> work(size);
          SOLVER_OK(Tr::sygvd(solver, CUSOLVER_EIG_TYPE_1, mode, fill, n, a.data, a.leading, b.data, b.leading, w.data,
                              work.data, size, info.data));
        } else if (call == 3) {
          SOLVER_OK(cusolverDnXsyevd_bufferSize(solver, params, mode, fill, n, Tr::kType, a.data, a.leading, Tr::kReal,
                                                w.data, Tr::kType, &device, &host));
          Array<char> buffer(device);
          std::vector<char> on_host(host);
          SOLVER_OK(cusolverDnXsyevd(solver, params, mode, fill, n, Tr::kType, a.data, a.leading, Tr::kReal, w.data,
                                     Tr::kType, buffer.data, device, on_host.data(), host, info.data));
        } else {
          SOLVER_OK(Tr::syevj_batched_size(solver, mode, fill, n, a.data, a.leading, w.data, &size, how, 1));
          Array<T> work(size);
          SOLVER_OK(
              Tr::syevj_batched(solver, mode, fill, n, a.data, a.leading, w.data, work.data, size, info.data, how, 1));
        }
        EXPECT_EQ(Info(), 0);
        const std::vector<double> values = Doubles(w);
        EXPECT(std::is_sorted(values.begin(), values.end()));
        const Matrix vectors = a.Get(), scaled = Scaled(vectors, n, values);
        EXPECT(Near(Product(whole, vectors, n, n, n), call == 2 ? Product(metric, scaled, n, n, n) : scaled));
      }
    }
    SOLVER_OK(cusolverDnDestroySyevjInfo(how));
  }

  void All() {
    Cholesky();
    Lu();
    Symmetric();
    Qr();
    Singular();
    Eigen();
  }
};

CASE(float_routines) {
  const Session session;
  Checks<float>().All();
}
CASE(double_routines) {
  const Session session;
  Checks<double>().All();
}
CASE(complex_routines) {
  const Session session;
  Checks<cuComplex>().All();
}
CASE(double_complex_routines) {
  const Session session;
  Checks<cuDoubleComplex>().All();
}

// Behind a kernel, on a stream of its own.
CASE(order_on_streams) {
  const Session session;
  cudaStream_t stream;
  CUDA_OK(cudaStreamCreate(&stream));
  SOLVER_OK(cusolverDnSetStream(solver, stream));
  cudaStream_t set;
  SOLVER_OK(cusolverDnGetStream(solver, &set));
  EXPECT(set == stream);
  const float values[4] = {-4, -2, -2, -5};
  float *a, *b;
  int *info, size = 0;
  CUDA_OK(cudaMalloc(&a, sizeof values));
  CUDA_OK(cudaMalloc(&b, 2 * sizeof(float)));
  CUDA_OK(cudaMalloc(&info, sizeof(int)));
  CUDA_OK(cudaMemcpyAsync(a, values, sizeof values, cudaMemcpyHostToDevice, stream));
  CUDA_OK(cudaMemcpyAsync(b, values + 1, 2 * sizeof(float), cudaMemcpyHostToDevice, stream));
  Negate<<<1, 4, 0, stream>>>(a, 4);
  Negate<<<1, 2, 0, stream>>>(b, 2);
  SOLVER_OK(cusolverDnSpotrf_bufferSize(solver, CUBLAS_FILL_MODE_LOWER, 2, a, 2, &size));
  Array<float> work(size);
  SOLVER_OK(cusolverDnSpotrf(solver, CUBLAS_FILL_MODE_LOWER, 2, a, 2, work.data, size, info));
  SOLVER_OK(cusolverDnSpotrs(solver, CUBLAS_FILL_MODE_LOWER, 2, 1, a, 2, b, 2, info));
  Negate<<<1, 2, 0, stream>>>(b, 2);
  float solved[2];
  CUDA_OK(cudaMemcpyAsync(solved, b, sizeof solved, cudaMemcpyDeviceToHost, stream));
  CUDA_OK(cudaStreamSynchronize(stream));
  EXPECT(std::abs(solved[0] - (-0.375)) < 1e-6);
  EXPECT(std::abs(solved[1] - (-0.25)) < 1e-6);
  SOLVER_OK(cusolverDnSetStream(solver, nullptr));
  CUDA_OK(cudaStreamDestroy(stream));
  cudaFree(a), cudaFree(b), cudaFree(info);
}

CASE(wrong_calls) {
  const Session session;
  float* a;
  int* info;
  CUDA_OK(cudaMalloc(&a, 64));
  CUDA_OK(cudaMalloc(&info, 4));
  const auto invalid = CUSOLVER_STATUS_INVALID_VALUE;
  EXPECT_EQ(cusolverDnSpotrf(solver, CUBLAS_FILL_MODE_LOWER, -1, a, 2, a, 1, info), invalid);
  EXPECT_EQ(cusolverDnSpotrf(solver, CUBLAS_FILL_MODE_LOWER, 4, a, 2, a, 1, info), invalid);
  EXPECT_EQ(cusolverDnSgetrs(solver, CUBLAS_OP_N, 4, 1, a, 2, info, a, 4, info), invalid);
  EXPECT_EQ(cusolverDnSgesvd(solver, 'A', 'A', 2, 4, a, 2, a, a, 2, a, 4, a, 16, nullptr, info), invalid);
  CUDA_OK(cudaFree(a));
  CUDA_OK(cudaFree(info));
}
