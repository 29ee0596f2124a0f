// What the tests of cuBLAS's matrices and vectors share: numbers that are exact in every type, vectors with gaps,
// scalars on either side, one name for the functions of four types.
#pragma once

#include <cublas_api.h>

#include <complex>
#include <vector>

#include "tests/cuda/harness.h"

#define BLAS_OK(call) EXPECT_EQ((call), CUBLAS_STATUS_SUCCESS)

// A function of a type, with 32- and 64-bit numbers. `suffix`: _v2, or nothing.
#define BLAS_FUNCTION(name, exported, suffix)            \
  static constexpr auto name = cublas##exported##suffix; \
  static constexpr auto name##_64 = cublas##exported##suffix##_64;

namespace blas {

inline float Conjugate(float a) { return a; }
inline double Conjugate(double a) { return a; }
template <class R>
std::complex<R> Conjugate(std::complex<R> a) {
  return std::conj(a);
}
inline void Set(float& to, double re, double) { to = float(re); }
inline void Set(double& to, double re, double) { to = re; }
template <class R>
void Set(std::complex<R>& to, double re, double im) {
  to = {R(re), R(im)};
}
template <class T>
T Number(double re, double im = 0) {
  T number;
  Set(number, re, im);
  return number;
}
template <class T>
using Real = decltype(std::abs(T()));
template <class T>
constexpr bool kIsComplex = !std::is_same_v<T, Real<T>>;

// What must not be looked at.
template <class T>
T Poison() {
  return Number<T>(NAN, NAN);
}
template <class T>
T Small(harness::Random& random) {
  const int re = random.Below(7) - 3;
  return Number<T>(re, random.Below(7) - 3);
}
template <class T>
std::vector<T> Smalls(int count, int seed) {
  harness::Random random(uint64_t(seed) + 1);
  std::vector<T> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(Small<T>(random));
  return numbers;
}

template <class T>
struct ElementOf {
  using Type = T;
};
template <>
struct ElementOf<std::complex<float>> {
  using Type = cuComplex;
};
template <>
struct ElementOf<std::complex<double>> {
  using Type = cuDoubleComplex;
};
template <class T>
auto* On(const Buffer<T>& buffer) {
  return reinterpret_cast<typename ElementOf<T>::Type*>(buffer.get());
}
template <class T>
auto* At(const T* scalar) {
  return reinterpret_cast<const typename ElementOf<T>::Type*>(scalar);
}
template <class T>
auto* At(T* scalar) {
  return reinterpret_cast<typename ElementOf<T>::Type*>(scalar);
}

// Where a handle wants it.
template <class T>
struct Scalar {
  T host;
  Buffer<T> device;
  bool on_device;
  Scalar(T value, bool there) : host(value), device(std::vector<T>{value}), on_device(there) {}
  const auto* get() const { return At(on_device ? static_cast<const T*>(device.get()) : &host); }
};

struct Handle {
  cublasHandle_t handle = nullptr;
  explicit Handle(bool on_device = false) {
    BLAS_OK(cublasCreate_v2(&handle));
    if (on_device) BLAS_OK(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE));
  }
  ~Handle() { cublasDestroy_v2(handle); }
  operator cublasHandle_t() const { return handle; }
};

// Column major, with rows to spare.
template <class T>
struct Matrix {
  int rows, columns, leading;
  std::vector<T> data;
  Matrix(int m, int n, int seed, int spare = 2)
      : rows(m), columns(n), leading(m + spare), data(Smalls<T>(leading * n, seed)) {}
  T& operator()(int i, int j) { return data[size_t(j) * leading + i]; }
  T operator()(int i, int j) const { return data[size_t(j) * leading + i]; }
  T Of(cublasOperation_t op, int i, int j) const {
    return op == CUBLAS_OP_N ? (*this)(i, j) : op == CUBLAS_OP_T ? (*this)(j, i) : Conjugate((*this)(j, i));
  }
  void Fill(T value) { std::fill(data.begin(), data.end(), value); }
};

// A vector as BLAS has it in memory: what lies in the gaps is to stay there.
template <class T>
std::vector<T> Spread(const std::vector<T>& values, int step) {
  const int count = int(values.size()), gap = std::abs(step);
  if (count == 0) return {};
  std::vector<T> memory(size_t(count - 1) * gap + 1, Number<T>(77, 7));
  for (int i = 0; i < count; ++i) memory[size_t(step > 0 ? i : count - 1 - i) * gap] = values[size_t(i)];
  return memory;
}

// Zeros without a sign, which depends on the order of summation.
template <class T>
std::vector<T> Plain(std::vector<T> values) {
  for (T& value : values) value += T(0);
  return values;
}

inline bool In(cublasFillMode_t fill, int i, int j) { return fill == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j; }

constexpr cublasFillMode_t kFills[] = {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER};
constexpr cublasOperation_t kOps[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
constexpr cublasDiagType_t kDiagonals[] = {CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT};
constexpr int kSteps[] = {1, 3, -2};

template <class Check>
void OfAllTypes(const Check& check) {
  check(float());
  check(double());
  check(std::complex<float>());
  check(std::complex<double>());
}
template <class Check>
void OfComplexTypes(const Check& check) {
  check(std::complex<float>());
  check(std::complex<double>());
}

}  // namespace blas
