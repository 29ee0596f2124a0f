// cuBLAS: Givens rotations and modified ones, made and applied (rot, rotg, rotm, rotmg), complex vectors times real
// numbers (csscal, zdscal), vectors that run backwards, and vectors with types as arguments.
#include "tests/cuda/cublas_numbers.h"

using namespace blas;

namespace {

template <class T>
struct Blas;
#define BLAS_OF(letter, T, dot_)                          \
  template <>                                             \
  struct Blas<T> {                                        \
    BLAS_FUNCTION(rot, letter##rot, _v2)                  \
    BLAS_FUNCTION(axpy, letter##axpy, _v2)                \
    BLAS_FUNCTION(copy, letter##copy, _v2)                \
    BLAS_FUNCTION(dot, letter##dot_, _v2)                 \
    static constexpr auto rotg = cublas##letter##rotg_v2; \
  };
BLAS_OF(S, float, dot)
BLAS_OF(D, double, dot)
BLAS_OF(C, std::complex<float>, dotc)
BLAS_OF(Z, std::complex<double>, dotc)
template <class T>
struct Of;
#define OF_REAL(letter, T)                                  \
  template <>                                               \
  struct Of<T> {                                            \
    BLAS_FUNCTION(rotm, letter##rotm, _v2)                  \
    static constexpr auto rotmg = cublas##letter##rotmg_v2; \
  };
OF_REAL(S, float)
OF_REAL(D, double)
#define OF_COMPLEX(rot_, scal_, T)  \
  template <>                       \
  struct Of<T> {                    \
    BLAS_FUNCTION(rot, rot_, _v2)   \
    BLAS_FUNCTION(scal, scal_, _v2) \
  };
OF_COMPLEX(Csrot, Csscal, std::complex<float>)
OF_COMPLEX(Zdrot, Zdscal, std::complex<double>)

template <class T>
constexpr cudaDataType kType = CUDA_R_32F;
template <>
constexpr cudaDataType kType<double> = CUDA_R_64F;
template <>
constexpr cudaDataType kType<std::complex<float>> = CUDA_C_32F;
template <>
constexpr cudaDataType kType<std::complex<double>> = CUDA_C_64F;

template <class T>
struct Pair {
  std::vector<T> x, y;
  int step_x, step_y;
  Buffer<T> dx, dy;
  Pair(int n, int a, int b)
      : x(Smalls<T>(n, 1)), y(Smalls<T>(n, 2)), step_x(a), step_y(b), dx(Spread(x, a)), dy(Spread(y, b)) {}
  void Turn(T xx, T xy, T yx, T yy) {
    for (size_t i = 0; i < x.size(); ++i) {
      const T before = x[i];
      x[i] = xx * before + xy * y[i];
      y[i] = yx * before + yy * y[i];
    }
  }
  void Check() {
    EXPECT_SAME(Plain(dx.Get()), Plain(Spread(x, step_x)));
    EXPECT_SAME(Plain(dy.Get()), Plain(Spread(y, step_y)));
  }
};

template <class T>
void CheckRotations(bool on_device) {
  Handle handle(on_device);
  const int n = 200;
  const Scalar<Real<T>> c(Real<T>(2), on_device), real_sine(Real<T>(3), on_device);
  const Scalar<T> s(Number<T>(-1, 3), on_device);
  for (const int step_x : kSteps)
    for (const int step_y : kSteps) {
      Pair<T> pair(n, step_x, step_y);
      const auto call = [&](auto rot, const auto& sine) {
        BLAS_OK(rot(handle, n, On(pair.dx), step_x, On(pair.dy), step_y, c.get(), sine.get()));
      };
      step_x == 1 ? call(Blas<T>::rot_64, s) : call(Blas<T>::rot, s);
      pair.Turn(T(c.host), s.host, -Conjugate(s.host), T(c.host));
      if constexpr (kIsComplex<T>) {
        step_x == 1 ? call(Of<T>::rot_64, real_sine) : call(Of<T>::rot, real_sine);
        pair.Turn(T(c.host), T(real_sine.host), -T(real_sine.host), T(c.host));
      }
      BLAS_OK(cublasRotEx(handle, n, On(pair.dx), kType<T>, step_x, On(pair.dy), kType<T>, step_y, c.get(), s.get(),
                          kType<T>, kType<T>));
      pair.Turn(T(c.host), s.host, -Conjugate(s.host), T(c.host));
      pair.Check();
    }
}

template <class T>
void CheckModifiedRotations(bool on_device) {
  Handle handle(on_device);
  const int n = 130;
  for (const int flag : {-2, -1, 0, 1}) {
    const std::vector<T> parameters{T(flag), 2, -3, 4, 5};
    Buffer<T> there(parameters);
    const T* const given = on_device ? there.get() : parameters.data();
    Pair<T> pair(n, 1, -3);
    BLAS_OK(flag == 0 ? Of<T>::rotm_64(handle, n, pair.dx, 1, pair.dy, -3, given)
                      : Of<T>::rotm(handle, n, pair.dx, 1, pair.dy, -3, given));
    if (flag == -1) pair.Turn(2, 4, -3, 5);
    if (flag == 0) pair.Turn(1, 4, -3, 1);
    if (flag == 1) pair.Turn(2, 1, -1, 5);
    pair.Check();
  }
}

// What (a, b) is turned into by what rotg makes of them: (r, 0), as long as they are.
template <class T>
void CheckMakers(bool on_device) {
  using R = Real<T>;
  Handle handle(on_device);
  const R close = sizeof(R) == sizeof(float) ? R(1e-5) : R(1e-13);
  const T numbers[][2] = {{Number<T>(3, 1), Number<T>(-4, 2)},
                          {Number<T>(-5, 1), Number<T>(2, 2)},
                          {T(0), Number<T>(2, 1)},
                          {Number<T>(2, -1), T(0)},
                          {T(0), T(0)},
                          {Number<T>(1e30, 1e30), Number<T>(1e30, 0)}};
  for (const auto& [a, b] : numbers) {
    std::vector<T> values{a, b, T(0)};
    std::vector<R> cosine{0};
    Buffer<T> there(values);
    Buffer<R> cosine_there(cosine);
    T* const first = on_device ? there.get() : values.data();
    BLAS_OK(
        Blas<T>::rotg(handle, At(first), At(first + 1), on_device ? cosine_there.get() : cosine.data(), At(first + 2)));
    if (on_device) values = there.Get(), cosine = cosine_there.Get();
    const T r = values[0], s = values[2];
    const R c = cosine[0], scale = std::max<R>(1, std::abs(r));
    EXPECT(std::abs(c * a + s * b - r) <= close * scale);
    EXPECT(std::abs(c * b - Conjugate(s) * a) <= close * scale);
    EXPECT(std::abs(c * c + std::norm(s) - 1) <= close);
  }
}

// (x1 sqrt(d1), y1 sqrt(d2)) is turned into (x1' sqrt(d1'), 0).
template <class T>
void CheckModifiedMakers(bool on_device) {
  Handle handle(on_device);
  const T close = sizeof(T) == sizeof(float) ? T(1e-5) : T(1e-13);
  const T numbers[][4] = {{2, 3, 5, 1},      {2, 3, 1, 5},      {2, 0, 3, 4},       {2, 3, 1, 0},       {-1, 2, 3, 4},
                          {T(1e9), 2, 3, 1}, {2, T(1e9), 1, 2}, {T(1e-9), 2, 3, 1}, {2, T(1e-9), 1, 3}, {3, -1, 4, 1}};
  for (const auto& given : numbers) {
    std::vector<T> values(given, given + 4);
    values.resize(9, T(0));
    Buffer<T> there(values);
    T* const v = on_device ? there.get() : values.data();
    BLAS_OK(Of<T>::rotmg(handle, v, v + 1, v + 2, v + 3, v + 4));
    if (on_device) values = there.Get();
    const T flag = values[4], d1 = values[0], d2 = values[1], x1 = values[2];
    T h[2][2] = {{values[5], values[7]}, {values[6], values[8]}};
    if (flag == -2) h[0][0] = h[1][1] = 1, h[0][1] = h[1][0] = 0;
    if (flag == 0) h[0][0] = h[1][1] = 1;
    if (flag == 1) h[0][1] = 1, h[1][0] = -1;
    if (given[0] < 0) {
      EXPECT_EQ(flag, T(-1));
      EXPECT(d1 == 0 && d2 == 0 && x1 == 0 && h[0][0] == 0 && h[1][1] == 0);
      continue;
    }
    EXPECT(flag == -2 || flag == -1 || flag == 0 || flag == 1);
    EXPECT(std::abs(h[0][0] * given[2] + h[0][1] * given[3] - x1) <= close * std::abs(x1));
    const T left = h[1][0] * given[2] + h[1][1] * given[3];
    if (given[1] * given[3] != 0) EXPECT(std::abs(left) <= close * std::abs(h[1][1] * given[3]));
    const T before = given[0] * given[2] * given[2] + given[1] * given[3] * given[3], after = d1 * x1 * x1;
    EXPECT(std::abs(after - before) <= close * std::abs(before));
  }
}

template <class T>
void CheckScaling(bool on_device) {
  Handle handle(on_device);
  const Scalar<Real<T>> alpha(Real<T>(-3), on_device);
  std::vector<T> x = Smalls<T>(300, 1);
  for (const int step : {1, 3}) {
    Buffer<T> dx(Spread(x, step));
    BLAS_OK(step == 1 ? Of<T>::scal_64(handle, 300, alpha.get(), On(dx), step)
                      : Of<T>::scal(handle, 300, alpha.get(), On(dx), step));
    std::vector<T> want = x;
    for (T& value : want) value *= alpha.host;
    EXPECT_SAME(Plain(dx.Get()), Plain(Spread(want, step)));
  }
}

template <class T>
void CheckSteps(bool on_device) {
  Handle handle(on_device);
  const int n = 150;
  const Scalar<T> alpha(Number<T>(2, -1), on_device);
  for (const int step_x : {1, 3, -2, 0})
    for (const int step_y : kSteps) {
      std::vector<T> x = Smalls<T>(n, 1), y = Smalls<T>(n, 2);
      if (step_x == 0) x.assign(n, x[0]);
      Buffer<T> dx(step_x == 0 ? std::vector<T>{x[0]} : Spread(x, step_x)), dy(Spread(y, step_y)), copy(dy.size());
      BLAS_OK(step_x == 1 ? Blas<T>::axpy_64(handle, n, alpha.get(), On(dx), step_x, On(dy), step_y)
                          : Blas<T>::axpy(handle, n, alpha.get(), On(dx), step_x, On(dy), step_y));
      for (int i = 0; i < n; ++i) y[size_t(i)] += alpha.host * x[size_t(i)];
      EXPECT_SAME(Plain(dy.Get()), Plain(Spread(y, step_y)));
      BLAS_OK(
          cublasAxpyEx(handle, n, alpha.get(), kType<T>, On(dx), kType<T>, step_x, On(dy), kType<T>, step_y, kType<T>));
      for (int i = 0; i < n; ++i) y[size_t(i)] += alpha.host * x[size_t(i)];
      EXPECT_SAME(Plain(dy.Get()), Plain(Spread(y, step_y)));
      T sum = T(0), got = T(0);
      Buffer<T> result(std::vector<T>{got});
      BLAS_OK(Blas<T>::dot(handle, n, On(dx), step_x, On(dy), step_y, At(on_device ? result.get() : &got)));
      for (int i = 0; i < n; ++i) sum += Conjugate(x[size_t(i)]) * y[size_t(i)];
      EXPECT((on_device ? result.Get()[0] : got) == sum);
      BLAS_OK(Blas<T>::copy(handle, n, On(dx), step_x, On(dy), step_y));
      EXPECT_SAME(Plain(dy.Get()), Plain(Spread(x, step_y)));
    }
}

template <class T>
void CheckTypes() {
  using R = Real<T>;
  Handle handle;
  const int n = 100;
  const T alpha = Number<T>(2, 1);
  std::vector<T> x = Smalls<T>(n, 1), y = Smalls<T>(n, 2);
  Buffer<T> dx(x), dy(y);
  BLAS_OK(cublasScalEx(handle, n, &alpha, kType<T>, On(dx), kType<T>, 1, kType<T>));
  for (T& value : x) value *= alpha;
  BLAS_OK(cublasSwapEx_64(handle, n, On(dx), kType<T>, 1, On(dy), kType<T>, 1));
  std::swap(x, y);
  EXPECT_SAME(Plain(dx.Get()), Plain(x));
  EXPECT_SAME(Plain(dy.Get()), Plain(y));
  BLAS_OK(cublasCopyEx(handle, n, On(dx), kType<T>, 1, On(dy), kType<T>, 1));
  EXPECT_SAME(Plain(dy.Get()), Plain(x));
  R sum = 0, size = 0, want_sum = 0, want_squares = 0;
  BLAS_OK(cublasAsumEx(handle, n, On(dx), kType<T>, 1, &sum, kType<R>, kType<T>));
  BLAS_OK(cublasNrm2Ex(handle, n, On(dx), kType<T>, 1, &size, kType<R>, kType<R>));
  int most = 0;
  int64_t least = 0;
  BLAS_OK(cublasIamaxEx(handle, n, On(dx), kType<T>, 1, &most));
  BLAS_OK(cublasIaminEx_64(handle, n, On(dx), kType<T>, 1, &least));
  std::vector<R> sizes;
  for (const T& value : x) {
    sizes.push_back(std::abs(std::real(value)) + std::abs(std::imag(value)));
    want_sum += sizes.back();
    want_squares += std::norm(value);
  }
  EXPECT_EQ(sum, want_sum);
  EXPECT(std::abs(size * size - want_squares) <= R(1e-5) * want_squares);
  EXPECT_EQ(most, int(std::max_element(sizes.begin(), sizes.end()) - sizes.begin()) + 1);
  EXPECT_EQ(least, int(std::min_element(sizes.begin(), sizes.end()) - sizes.begin()) + 1);
}

}  // namespace

CASE(rotations) {
  OfAllTypes([](auto t) {
    CheckRotations<decltype(t)>(false);
    CheckRotations<decltype(t)>(true);
  });
}

CASE(modified_rotations) {
  for (const bool on_device : {false, true}) {
    CheckModifiedRotations<float>(on_device);
    CheckModifiedRotations<double>(on_device);
  }
}

CASE(making_rotations) {
  OfAllTypes([](auto t) {
    CheckMakers<decltype(t)>(false);
    CheckMakers<decltype(t)>(true);
  });
}

CASE(making_modified_rotations) {
  for (const bool on_device : {false, true}) {
    CheckModifiedMakers<float>(on_device);
    CheckModifiedMakers<double>(on_device);
  }
}

CASE(complex_vectors_times_real_numbers) {
  OfComplexTypes([](auto t) {
    CheckScaling<decltype(t)>(false);
    CheckScaling<decltype(t)>(true);
  });
}

CASE(vectors_of_all_steps) {
  OfAllTypes([](auto t) {
    CheckSteps<decltype(t)>(false);
    CheckSteps<decltype(t)>(true);
  });
}

CASE(types_as_arguments) {
  OfAllTypes([](auto t) { CheckTypes<decltype(t)>(); });
}

CASE(nothing_and_what_is_wrong) {
  Handle handle;
  const auto unsupported = CUBLAS_STATUS_NOT_SUPPORTED;
  const float one = 1;
  float numbers[5] = {1, 2, 3, 4, 5};
  const std::vector<float> values = Smalls<float>(8, 1);
  Buffer<float> x(values);
  BLAS_OK(cublasSrot_v2(handle, 0, nullptr, 1, nullptr, 1, &one, &one));
  BLAS_OK(cublasSrotm_v2(handle, -1, nullptr, 1, nullptr, 1, numbers));
  float none = 7;
  BLAS_OK(cublasSdot_v2(handle, 0, x, -1, x, 0, &none));
  EXPECT_EQ(none, 0.0f);
  none = 7;
  BLAS_OK(cublasSnrm2_v2(handle, 4, x, -1, &none));  // as in BLAS
  EXPECT_EQ(none, 0.0f);
  EXPECT_EQ(cublasSrot_v2(nullptr, 4, x, 1, x, 1, &one, &one), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasScalEx(nullptr, 4, &one, CUDA_R_32F, x, CUDA_R_32F, 1, CUDA_R_32F), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasScalEx(handle, 4, &one, CUDA_R_32F, x, CUDA_R_64F, 1, CUDA_R_64F), unsupported);
  EXPECT_EQ(cublasRotmEx(handle, 4, x, CUDA_C_32F, 1, x, CUDA_C_32F, 1, numbers, CUDA_C_32F, CUDA_C_32F), unsupported);
  EXPECT_SAME(x.Get(), values);
}
