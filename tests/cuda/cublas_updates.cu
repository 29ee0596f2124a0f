// cuBLAS: products of vectors added to matrices (ger, geru, gerc) and to triangles of symmetric and Hermitian ones,
// plain and packed (syr, her, spr, hpr, syr2, her2, spr2, hpr2). Elements are small integers, so that all is exact.
#include "tests/cuda/cublas_numbers.h"

using namespace blas;

namespace {

// `one`, `two` and the packed ones are Hermitian of complex types.
template <class T>
struct Blas;
#define BLAS_OF(letter, ger_, one_, two_, packed_, packed_two_, T) \
  template <>                                                      \
  struct Blas<T> {                                                 \
    BLAS_FUNCTION(ger, letter##ger_, _v2)                          \
    BLAS_FUNCTION(syr, letter##syr, _v2)                           \
    BLAS_FUNCTION(syr2, letter##syr2, _v2)                         \
    BLAS_FUNCTION(one, letter##one_, _v2)                          \
    BLAS_FUNCTION(two, letter##two_, _v2)                          \
    BLAS_FUNCTION(packed, letter##packed_, _v2)                    \
    BLAS_FUNCTION(packed_two, letter##packed_two_, _v2)            \
  };
BLAS_OF(S, ger, syr, syr2, spr, spr2, float)
BLAS_OF(D, ger, syr, syr2, spr, spr2, double)
BLAS_OF(C, gerc, her, her2, hpr, hpr2, std::complex<float>)
BLAS_OF(Z, gerc, her, her2, hpr, hpr2, std::complex<double>)
template <class T>
struct Unconjugated;
template <>
struct Unconjugated<std::complex<float>> {
  BLAS_FUNCTION(geru, Cgeru, _v2)
};
template <>
struct Unconjugated<std::complex<double>> {
  BLAS_FUNCTION(geru, Zgeru, _v2)
};

// What a triangle is packed into: its columns, one behind the other.
template <class T>
std::vector<T> Packed(const Matrix<T>& a, cublasFillMode_t fill) {
  std::vector<T> packed;
  for (int j = 0; j < a.columns; ++j)
    for (int i = 0; i < a.rows; ++i)
      if (In(fill, i, j)) packed.push_back(a(i, j));
  return packed;
}

template <class T>
void CheckGer(int m, int n, bool on_device) {
  Handle handle(on_device);
  const Scalar<T> alpha(Number<T>(2, -3), on_device);
  for (const int step_x : kSteps)
    for (const int step_y : kSteps)
      for (const bool conjugated : {false, true}) {
        const std::vector<T> x = Smalls<T>(m, 1), y = Smalls<T>(n, 2);
        Matrix<T> a(m, n, 3);
        Buffer<T> dx(Spread(x, step_x)), dy(Spread(y, step_y)), da(a.data);
        const auto call = [&](auto ger) {
          BLAS_OK(ger(handle, m, n, alpha.get(), On(dx), step_x, On(dy), step_y, On(da), a.leading));
        };
        if constexpr (kIsComplex<T>) {
          if (!conjugated) step_x == 1 ? call(Unconjugated<T>::geru_64) : call(Unconjugated<T>::geru);
        }
        if (conjugated || !kIsComplex<T>) step_x == 1 ? call(Blas<T>::ger_64) : call(Blas<T>::ger);
        for (int i = 0; i < m; ++i)
          for (int j = 0; j < n; ++j)
            a(i, j) += alpha.host * x[size_t(i)] * (conjugated ? Conjugate(y[size_t(j)]) : y[size_t(j)]);
        EXPECT_SAME(Plain(da.Get()), Plain(a.data));
      }
}

// What becomes of a triangle; the diagonal of a Hermitian one is made real.
template <class T>
Matrix<T> Updated(const Matrix<T>& a, cublasFillMode_t fill, bool hermitian, bool twice, T alpha,
                  const std::vector<T>& x, const std::vector<T>& y) {
  Matrix<T> want = a;
  const auto turned = [&](T value) { return hermitian ? Conjugate(value) : value; };
  for (size_t i = 0; i < x.size(); ++i)
    for (size_t j = 0; j < x.size(); ++j) {
      if (!In(fill, int(i), int(j))) continue;
      T& element = want(int(i), int(j));
      element +=
          twice ? alpha * x[i] * turned(y[j]) + turned(alpha) * y[i] * turned(x[j]) : alpha * x[i] * turned(x[j]);
      if (hermitian && i == j) element = Number<T>(std::real(element));
    }
  return want;
}

template <class T>
void CheckOne(int n, bool on_device) {
  using B = Blas<T>;
  Handle handle(on_device);
  const Scalar<Real<T>> real(Real<T>(-3), on_device);
  const Scalar<T> alpha(Number<T>(2, 1), on_device);
  for (const auto fill : kFills)
    for (const int step : kSteps) {
      const bool wide = step == 1;
      const std::vector<T> x = Smalls<T>(n, 4);
      const Matrix<T> a(n, n, 5);
      Buffer<T> dx(Spread(x, step)), da(a.data), db(a.data), packed(Packed(a, fill));
      const auto call = [&](auto function, auto scalar, auto... matrix) {
        BLAS_OK(function(handle, fill, n, scalar, On(dx), step, matrix...));
      };
      wide ? call(B::one_64, real.get(), On(da), a.leading) : call(B::one, real.get(), On(da), a.leading);
      wide ? call(B::syr_64, alpha.get(), On(db), a.leading) : call(B::syr, alpha.get(), On(db), a.leading);
      wide ? call(B::packed_64, real.get(), On(packed)) : call(B::packed, real.get(), On(packed));
      const Matrix<T> want = Updated(a, fill, kIsComplex<T>, false, T(real.host), x, x);
      EXPECT_SAME(Plain(da.Get()), Plain(want.data));
      EXPECT_SAME(Plain(db.Get()), Plain(Updated(a, fill, false, false, alpha.host, x, x).data));
      EXPECT_SAME(Plain(packed.Get()), Plain(Packed(want, fill)));
    }
}

template <class T>
void CheckTwo(int n, bool on_device) {
  using B = Blas<T>;
  Handle handle(on_device);
  const Scalar<T> alpha(Number<T>(2, 1), on_device);
  for (const auto fill : kFills)
    for (const int step_x : kSteps)
      for (const int step_y : kSteps) {
        const bool wide = step_x == 1;
        const std::vector<T> x = Smalls<T>(n, 6), y = Smalls<T>(n, 7);
        const Matrix<T> a(n, n, 8);
        Buffer<T> dx(Spread(x, step_x)), dy(Spread(y, step_y)), da(a.data), db(a.data), packed(Packed(a, fill));
        const auto call = [&](auto function, auto... matrix) {
          BLAS_OK(function(handle, fill, n, alpha.get(), On(dx), step_x, On(dy), step_y, matrix...));
        };
        wide ? call(B::two_64, On(da), a.leading) : call(B::two, On(da), a.leading);
        wide ? call(B::syr2_64, On(db), a.leading) : call(B::syr2, On(db), a.leading);
        wide ? call(B::packed_two_64, On(packed)) : call(B::packed_two, On(packed));
        const Matrix<T> want = Updated(a, fill, kIsComplex<T>, true, alpha.host, x, y);
        EXPECT_SAME(Plain(da.Get()), Plain(want.data));
        EXPECT_SAME(Plain(db.Get()), Plain(Updated(a, fill, false, true, alpha.host, x, y).data));
        EXPECT_SAME(Plain(packed.Get()), Plain(Packed(want, fill)));
      }
}

}  // namespace

CASE(general_matrices) {
  OfAllTypes([](auto t) {
    CheckGer<decltype(t)>(7, 12, false);
    CheckGer<decltype(t)>(20, 9, true);
  });
}

CASE(one_product) {
  OfAllTypes([](auto t) {
    CheckOne<decltype(t)>(11, false);
    CheckOne<decltype(t)>(6, true);
  });
}

CASE(two_products) {
  OfAllTypes([](auto t) {
    CheckTwo<decltype(t)>(11, false);
    CheckTwo<decltype(t)>(6, true);
  });
}

CASE(nothing_and_what_is_wrong) {
  Handle handle;
  const auto wrong = CUBLAS_STATUS_INVALID_VALUE;
  const auto upper = CUBLAS_FILL_MODE_UPPER;
  const float one = 1, zero = 0;
  const std::vector<float> numbers = Smalls<float>(16, 1);
  Buffer<float> a(numbers), x(std::vector<float>(4, NAN));
  BLAS_OK(cublasSger_v2(handle, 4, 4, &zero, x, 1, x, 1, a, 4));  // of what is not looked at
  BLAS_OK(cublasSsyr2_v2(handle, upper, 4, &zero, x, 1, x, 1, a, 4));
  BLAS_OK(cublasSger_v2(handle, 0, 4, &one, nullptr, 1, nullptr, 1, nullptr, 1));
  BLAS_OK(cublasSspr2_v2(handle, upper, 0, &one, nullptr, 1, nullptr, 1, nullptr));
  EXPECT_EQ(cublasSger_v2(nullptr, 4, 4, &one, x, 1, x, 1, a, 4), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasSger_v2(handle, 4, -4, &one, x, 1, x, 1, a, 4), wrong);
  EXPECT_EQ(cublasSger_v2(handle, 4, 4, &one, x, 1, x, 0, a, 4), wrong);
  EXPECT_EQ(cublasSger_v2(handle, 4, 4, &one, x, 1, x, 1, a, 3), wrong);
  EXPECT_EQ(cublasSsyr2_v2(handle, upper, 4, &one, x, 1, x, 1, a, 3), wrong);
  EXPECT_EQ(cublasSsyr2_v2(handle, cublasFillMode_t(9), 4, &one, x, 1, x, 1, a, 4), wrong);
  EXPECT_EQ(cublasSspr2_v2(handle, upper, 4, &one, x, 0, x, 1, a), wrong);
  EXPECT_EQ(cublasSspr_v2(handle, upper, 4, nullptr, x, 1, a), wrong);
  EXPECT_EQ(cublasSspr_v2(handle, upper, -1, &one, x, 1, a), wrong);
  EXPECT_SAME(a.Get(), numbers);
}
