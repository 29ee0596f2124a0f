// cuBLAS: largest and smallest elements (amax, amin), sums of sizes (asum), norms into device memory, exchange (swap),
// scaled rows and columns (dgmm), updates of rank one (ger), in the four types of BLAS. Elements are small integers, so
// that all but norms is exact.
#include <cublas_v2.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "tests/cuda/harness.h"

#define BLAS_OK(call) EXPECT_EQ((call), CUBLAS_STATUS_SUCCESS)

namespace {

template <class T>
struct Blas;
#define BLAS_OF(letter, small, sum, norm, rank_one, T, Device)    \
  template <>                                                     \
  struct Blas<T> {                                                \
    using Element = Device;                                       \
    static constexpr auto amax = cublasI##small##amax;            \
    static constexpr auto amax_64 = cublasI##small##amax_64;      \
    static constexpr auto amin = cublasI##small##amin;            \
    static constexpr auto amin_64 = cublasI##small##amin_64;      \
    static constexpr auto asum = cublas##sum##asum;               \
    static constexpr auto asum_64 = cublas##sum##asum_64;         \
    static constexpr auto nrm2 = cublas##norm##nrm2;              \
    static constexpr auto swap = cublas##letter##swap;            \
    static constexpr auto swap_64 = cublas##letter##swap_64;      \
    static constexpr auto dgmm = cublas##letter##dgmm;            \
    static constexpr auto dgmm_64 = cublas##letter##dgmm_64;      \
    static constexpr auto ger = cublas##letter##rank_one;         \
    static constexpr auto ger_64 = cublas##letter##rank_one##_64; \
  };
BLAS_OF(S, s, S, S, ger, float, float)
BLAS_OF(D, d, D, D, ger, double, double)
BLAS_OF(C, c, Sc, Sc, geru, std::complex<float>, cuComplex)
BLAS_OF(Z, z, Dz, Dz, geru, std::complex<double>, cuDoubleComplex)

double Size(float a) { return std::fabs(a); }
double Size(double a) { return std::fabs(a); }
template <class R>
double Size(std::complex<R> a) {
  return std::fabs(a.real()) + std::fabs(a.imag());
}
template <class T>
T Number(int re, int im);
template <>
float Number(int re, int) {
  return float(re);
}
template <>
double Number(int re, int) {
  return re;
}
template <>
std::complex<float> Number(int re, int im) {
  return {float(re), float(im)};
}
template <>
std::complex<double> Number(int re, int im) {
  return {double(re), double(im)};
}
template <class T>
using RealOf = decltype(std::abs(T{}));

template <class T>
std::vector<T> Numbers(int count, int seed) {
  std::vector<T> numbers;
  for (int i = 0; i < count; ++i) {
    numbers.push_back(Number<T>((i * 37 + seed * 11) % 101 - 50, (i * 53 + seed * 7) % 89 - 44));
  }
  return numbers;
}

// On the device, for cuBLAS.
template <class T>
struct Vector {
  explicit Vector(const std::vector<T>& host) : data(host) {}
  typename Blas<T>::Element* get() { return reinterpret_cast<typename Blas<T>::Element*>(data.get()); }
  Buffer<T> data;
};

template <class T>
void CheckExtremes(cublasHandle_t handle) {
  using B = Blas<T>;
  for (const int n : {1, 2, 127, 128, 1000}) {
    for (const int step : {1, 3}) {
      std::vector<T> host = Numbers<T>(n * step, n);
      if (n > 2) host[(n - 1) * step] = host[(n / 2) * step] = Number<T>(300, 1);  // the first of two counts
      int most = 0, least = 0;
      double sum = 0;
      for (int i = 0; i < n; ++i) {
        if (Size(host[i * step]) > Size(host[most * step])) most = i;
        if (Size(host[i * step]) < Size(host[least * step])) least = i;
        sum += Size(host[i * step]);
      }
      Vector<T> x(host);
      int at = 0;
      int64_t wide = 0;
      RealOf<T> total = 0;
      BLAS_OK(B::amax(handle, n, x.get(), step, &at));
      EXPECT_EQ(at, most + 1);
      BLAS_OK(B::amin(handle, n, x.get(), step, &at));
      EXPECT_EQ(at, least + 1);
      BLAS_OK(B::amax_64(handle, n, x.get(), step, &wide));
      EXPECT_EQ(wide, most + 1);
      BLAS_OK(B::amin_64(handle, n, x.get(), step, &wide));
      EXPECT_EQ(wide, least + 1);
      BLAS_OK(B::asum(handle, n, x.get(), step, &total));
      EXPECT_EQ(double(total), sum);
      BLAS_OK(B::asum_64(handle, n, x.get(), step, &total));
      EXPECT_EQ(double(total), sum);
    }
  }
}

// Results where the pointer mode says.
template <class T>
void CheckOnDevice(cublasHandle_t handle) {
  using B = Blas<T>;
  const std::vector<T> host = Numbers<T>(500, 3);
  int most = 0;
  double squares = 0;
  for (int i = 0; i < 500; ++i) {
    if (Size(host[i]) > Size(host[most])) most = i;
    squares += std::norm(std::complex<double>(host[i]));
  }
  Vector<T> x(host);
  Buffer<int> place(std::vector<int>{-1});
  Buffer<RealOf<T>> norm(std::vector<RealOf<T>>{0});
  BLAS_OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
  BLAS_OK(B::amax(handle, 500, x.get(), 1, place.get()));
  BLAS_OK(B::nrm2(handle, 500, x.get(), 1, norm.get()));
  BLAS_OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
  EXPECT_EQ(place.Get()[0], most + 1);
  EXPECT(std::fabs(norm.Get()[0] - std::sqrt(squares)) < 1e-5 * std::sqrt(squares));
}

template <class T>
void CheckSwap(cublasHandle_t handle) {
  using B = Blas<T>;
  const int n = 300;
  std::vector<T> a = Numbers<T>(2 * n, 1), b = Numbers<T>(n, 2);
  Vector<T> x(a), y(b);
  BLAS_OK(B::swap(handle, n, x.get(), 2, y.get(), -1));
  for (int i = 0; i < n; ++i) std::swap(a[2 * i], b[n - 1 - i]);
  EXPECT(x.data.Get() == a && y.data.Get() == b);
  BLAS_OK(B::swap_64(handle, n, x.get(), 1, y.get(), 1));
  for (int i = 0; i < n; ++i) std::swap(a[i], b[i]);
  EXPECT(x.data.Get() == a && y.data.Get() == b);
}

template <class T>
void CheckMatrices(cublasHandle_t handle) {
  using B = Blas<T>;
  const int m = 37, n = 21, ld = 40;
  std::vector<T> a = Numbers<T>(ld * n, 4), c = Numbers<T>(ld * n, 5);
  const std::vector<T> x = Numbers<T>(2 * m, 6), y = Numbers<T>(n, 7);
  const T alpha = Number<T>(2, -1);
  Vector<T> da(a), dc(c), dx(x), dy(y);
  const auto* scalar = reinterpret_cast<const typename B::Element*>(&alpha);
  BLAS_OK(B::ger(handle, m, n, scalar, dx.get(), 2, dy.get(), 1, da.get(), ld));
  BLAS_OK(B::ger_64(handle, m, n, scalar, dx.get(), 2, dy.get(), 1, da.get(), ld));
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) a[i + j * ld] += alpha * x[2 * i] * y[j] * T(2);
  }
  EXPECT(da.data.Get() == a);
  BLAS_OK(B::dgmm(handle, CUBLAS_SIDE_LEFT, m, n, da.get(), ld, dx.get(), -2, dc.get(), ld));
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) c[i + j * ld] = a[i + j * ld] * x[2 * (m - 1 - i)];
  }
  EXPECT(dc.data.Get() == c);
  BLAS_OK(B::dgmm_64(handle, CUBLAS_SIDE_RIGHT, m, n, da.get(), ld, dy.get(), 1, da.get(), ld));
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) a[i + j * ld] *= y[j];
  }
  EXPECT(da.data.Get() == a);
}

struct Handle {
  Handle() { BLAS_OK(cublasCreate(&handle)); }
  ~Handle() { BLAS_OK(cublasDestroy(handle)); }
  cublasHandle_t handle = nullptr;
};

#define ALL_TYPES(check)                   \
  Handle blas;                             \
  check<float>(blas.handle);               \
  check<double>(blas.handle);              \
  check<std::complex<float>>(blas.handle); \
  check<std::complex<double>>(blas.handle)

}  // namespace

CASE(extremes_and_sums) { ALL_TYPES(CheckExtremes); }
CASE(results_on_the_device) { ALL_TYPES(CheckOnDevice); }
CASE(exchanges) { ALL_TYPES(CheckSwap); }
CASE(scaled_lines_and_rank_one) { ALL_TYPES(CheckMatrices); }

CASE(nothing_and_what_is_wrong) {
  Handle blas;
  Vector<float> x(Numbers<float>(4, 1));
  int at = 7;
  float sum = 7;
  BLAS_OK(cublasIsamax(blas.handle, 0, x.get(), 1, &at));
  EXPECT_EQ(at, 0);
  at = 7;
  BLAS_OK(cublasIsamin(blas.handle, 4, x.get(), 0, &at));
  EXPECT_EQ(at, 0);
  BLAS_OK(cublasSasum(blas.handle, 0, x.get(), 1, &sum));
  EXPECT_EQ(sum, 0.0f);
  const float one = 1;
  EXPECT_EQ(cublasIsamax(blas.handle, 4, x.get(), 1, nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSdgmm(blas.handle, CUBLAS_SIDE_LEFT, 4, 1, x.get(), 3, x.get(), 1, x.get(), 4),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSger(blas.handle, 2, 2, &one, x.get(), 0, x.get(), 1, x.get(), 2), CUBLAS_STATUS_INVALID_VALUE);
}
