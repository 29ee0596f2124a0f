// cuBLAS: products with triangles (trmm), updates of one triangle of a symmetric or Hermitian matrix (syrk, herk, syr,
// her) and sums of matrices (geam), in the four types of BLAS. Elements are small integers, so that all is exact.
#include <cublas_v2.h>

#include "tests/cuda/cublas_numbers.h"

namespace {

using namespace blas;

template <class T>
struct Blas;
#define BLAS_OF(letter, T)                                   \
  template <>                                                \
  struct Blas<T> {                                           \
    static constexpr auto trmm = cublas##letter##trmm;       \
    static constexpr auto trmm_64 = cublas##letter##trmm_64; \
    static constexpr auto syrk = cublas##letter##syrk;       \
    static constexpr auto syrk_64 = cublas##letter##syrk_64; \
    static constexpr auto syr = cublas##letter##syr;         \
    static constexpr auto syr_64 = cublas##letter##syr_64;   \
    static constexpr auto geam = cublas##letter##geam;       \
    static constexpr auto geam_64 = cublas##letter##geam_64; \
  };
BLAS_OF(S, float)
BLAS_OF(D, double)
BLAS_OF(C, std::complex<float>)
BLAS_OF(Z, std::complex<double>)
template <class T>
struct Hermitian;
#define HERMITIAN_OF(letter, T)                              \
  template <>                                                \
  struct Hermitian<T> {                                      \
    static constexpr auto herk = cublas##letter##herk;       \
    static constexpr auto herk_64 = cublas##letter##herk_64; \
    static constexpr auto her = cublas##letter##her;         \
    static constexpr auto her_64 = cublas##letter##her_64;   \
  };
HERMITIAN_OF(C, std::complex<float>)
HERMITIAN_OF(Z, std::complex<double>)

template <class T>
void CheckTrmm(int m, int n, bool on_device, bool in_place) {
  Handle handle(on_device);
  const Scalar<T> alpha(Number<T>(2, 1), on_device);
  for (int way = 0; way < 24; ++way) {
    const auto side = way & 1 ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT;
    const auto fill = way & 2 ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
    const auto diagonal = way & 4 ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
    const cublasOperation_t op = way % 3 == 0 ? CUBLAS_OP_N : way % 3 == 1 ? CUBLAS_OP_T : CUBLAS_OP_C;
    const int size = side == CUBLAS_SIDE_LEFT ? m : n;
    const Matrix<T> a(size, size, 1), b(m, n, 2);
    Matrix<T> triangle = a, want = in_place ? b : Matrix<T>(m, n, 3);
    for (int i = 0; i < size; ++i)
      for (int j = 0; j < size; ++j)
        triangle(i, j) = i == j && diagonal == CUBLAS_DIAG_UNIT ? T(1) : In(fill, i, j) ? a(i, j) : T(0);
    Buffer<T> da(a.data), db(b.data), separate(want.data);
    Buffer<T>& dc = in_place ? db : separate;
    if (way < 12)
      BLAS_OK(Blas<T>::trmm(handle, side, fill, op, diagonal, m, n, At(alpha.get()), On(da), a.leading, On(db),
                            b.leading, On(dc), want.leading));
    else
      BLAS_OK(Blas<T>::trmm_64(handle, side, fill, op, diagonal, m, n, At(alpha.get()), On(da), a.leading, On(db),
                               b.leading, On(dc), want.leading));
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        T sum = T(0);
        for (int k = 0; k < size; ++k)
          sum += side == CUBLAS_SIDE_LEFT ? triangle.Of(op, i, k) * b(k, j) : b(i, k) * triangle.Of(op, k, j);
        want(i, j) = alpha.host * sum;
      }
    EXPECT_SAME(Plain(dc.Get()), Plain(want.data));
  }
}

// What syrk and herk are to make of C's triangle; the other is left alone.
template <class T>
Matrix<T> Updated(cublasFillMode_t fill, cublasOperation_t op, int k, T alpha, const Matrix<T>& a, T beta,
                  const Matrix<T>& c, bool hermitian) {
  Matrix<T> want = c;
  const cublasOperation_t turned = hermitian ? CUBLAS_OP_C : CUBLAS_OP_T;
  for (int i = 0; i < c.rows; ++i)
    for (int j = 0; j < c.rows; ++j) {
      if (!In(fill, i, j)) continue;
      T sum = T(0);
      for (int l = 0; l < k; ++l)
        sum += op == CUBLAS_OP_N ? a(i, l) * a.Of(turned, l, j) : a.Of(turned, i, l) * a(l, j);
      want(i, j) = alpha * sum + beta * c(i, j);
      if (hermitian && i == j) want(i, j) = Number<T>(int(std::real(want(i, j))));
    }
  return want;
}

template <class T>
void CheckSyrk(int n, int k, bool on_device) {
  Handle handle(on_device);
  const Scalar<T> alpha(Number<T>(2, -1), on_device), beta(Number<T>(-1, 1), on_device);
  for (const auto fill : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER})
    for (const auto op : {CUBLAS_OP_N, CUBLAS_OP_T}) {
      const Matrix<T> a(op == CUBLAS_OP_N ? n : k, op == CUBLAS_OP_N ? k : n, 4), c(n, n, 5);
      Buffer<T> da(a.data), dc(c.data);
      const auto call = [&](auto syrk) {
        BLAS_OK(syrk(handle, fill, op, n, k, At(alpha.get()), On(da), a.leading, At(beta.get()), On(dc), c.leading));
      };
      op == CUBLAS_OP_N ? call(Blas<T>::syrk) : call(Blas<T>::syrk_64);
      EXPECT_SAME(Plain(dc.Get()), Plain(Updated(fill, op, k, alpha.host, a, beta.host, c, false).data));
    }
}

template <class T>
void CheckHerk(int n, int k, bool on_device) {
  Handle handle(on_device);
  using R = Real<T>;
  const Scalar<R> alpha(R(2), on_device), beta(R(-1), on_device);
  for (const auto fill : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER})
    for (const auto op : {CUBLAS_OP_N, CUBLAS_OP_C}) {
      const Matrix<T> a(op == CUBLAS_OP_N ? n : k, op == CUBLAS_OP_N ? k : n, 6), c(n, n, 7);
      Buffer<T> da(a.data), dc(c.data);
      const auto call = [&](auto herk) {
        BLAS_OK(herk(handle, fill, op, n, k, alpha.get(), On(da), a.leading, beta.get(), On(dc), c.leading));
      };
      op == CUBLAS_OP_N ? call(Hermitian<T>::herk) : call(Hermitian<T>::herk_64);
      EXPECT_SAME(Plain(dc.Get()), Plain(Updated(fill, op, k, T(alpha.host), a, T(beta.host), c, true).data));
    }
}

// A vector with gaps, forwards and backwards, is a matrix of one column.
template <class T, bool kHermitian>
void CheckRankOne(int n, bool on_device) {
  Handle handle(on_device);
  using S = std::conditional_t<kHermitian, Real<T>, T>;
  const Scalar<S> alpha(Number<S>(3, 1), on_device);
  for (const auto fill : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER})
    for (const int step : {1, 3, -2}) {
      const Matrix<T> x(n * std::abs(step), 1, 8), c(n, n, 9);
      Matrix<T> column(n, 1, 0);
      for (int i = 0; i < n; ++i) column(i, 0) = x(step > 0 ? i * step : (n - 1 - i) * -step, 0);
      Buffer<T> dx(x.data), dc(c.data);
      if constexpr (kHermitian) {
        const auto call = [&](auto her) {
          BLAS_OK(her(handle, fill, n, alpha.get(), On(dx), step, On(dc), c.leading));
        };
        step == 1 ? call(Hermitian<T>::her_64) : call(Hermitian<T>::her);
      } else {
        const auto call = [&](auto syr) {
          BLAS_OK(syr(handle, fill, n, At(alpha.get()), On(dx), step, On(dc), c.leading));
        };
        step == 1 ? call(Blas<T>::syr_64) : call(Blas<T>::syr);
      }
      EXPECT_SAME(Plain(dc.Get()),
                  Plain(Updated(fill, CUBLAS_OP_N, 1, T(alpha.host), column, T(1), c, kHermitian).data));
    }
}

template <class T>
void CheckGeam(bool on_device) {
  Handle handle(on_device);
  const int m = 13, n = 21;
  const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
  const Scalar<T> alpha(Number<T>(2, 1), on_device), beta(Number<T>(-3, 2), on_device), zero(T(0), on_device);
  for (const cublasOperation_t op_a : ops)
    for (const cublasOperation_t op_b : ops) {
      const Matrix<T> a(op_a == CUBLAS_OP_N ? m : n, op_a == CUBLAS_OP_N ? n : m, 10);
      const Matrix<T> b(op_b == CUBLAS_OP_N ? m : n, op_b == CUBLAS_OP_N ? n : m, 11);
      Matrix<T> want(m, n, 12);
      Buffer<T> da(a.data), db(b.data), dc(want.data);
      BLAS_OK(Blas<T>::geam(handle, op_a, op_b, m, n, At(alpha.get()), On(da), a.leading, At(beta.get()), On(db),
                            b.leading, On(dc), want.leading));
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) want(i, j) = alpha.host * a.Of(op_a, i, j) + beta.host * b.Of(op_b, i, j);
      EXPECT_SAME(Plain(dc.Get()), Plain(want.data));
      // Nothing of what is multiplied by zero is looked at, and a matrix may be the result.
      if (op_a != CUBLAS_OP_N) continue;
      BLAS_OK(Blas<T>::geam_64(handle, op_a, op_a, m, n, At(alpha.get()), On(da), a.leading, At(zero.get()), nullptr, m,
                               On(da), a.leading));
      Matrix<T> scaled = a;
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) scaled(i, j) *= alpha.host;
      EXPECT_SAME(Plain(da.Get()), Plain(scaled.data));
    }
}

}  // namespace

CASE(products_with_triangles) {
  OfAllTypes([](auto t) {
    for (const bool on_device : {false, true}) {
      CheckTrmm<decltype(t)>(7, 11, on_device, false);
      CheckTrmm<decltype(t)>(7, 11, on_device, true);
    }
  });
  // In blocks.
  CheckTrmm<float>(150, 20, false, false);
  CheckTrmm<std::complex<double>>(66, 130, true, true);
}

CASE(symmetric_updates) {
  OfAllTypes([](auto t) {
    CheckSyrk<decltype(t)>(9, 5, false);
    CheckSyrk<decltype(t)>(9, 5, true);
    CheckRankOne<decltype(t), false>(12, false);
    CheckRankOne<decltype(t), false>(12, true);
  });
  CheckSyrk<float>(150, 33, false);
  CheckSyrk<std::complex<float>>(70, 9, true);
  CheckSyrk<double>(70, 0, false);
}

CASE(hermitian_updates) {
  for (const bool on_device : {false, true}) {
    CheckHerk<std::complex<float>>(9, 5, on_device);
    CheckHerk<std::complex<double>>(150, 17, on_device);
    CheckRankOne<std::complex<float>, true>(12, on_device);
    CheckRankOne<std::complex<double>, true>(12, on_device);
  }
}

CASE(sums_of_matrices) {
  OfAllTypes([](auto t) {
    CheckGeam<decltype(t)>(false);
    CheckGeam<decltype(t)>(true);
  });
}

CASE(what_is_wrong_is_refused) {
  Handle handle(false);
  Buffer<float> a(64), b(64);
  const float one = 1;
  const auto wrong = CUBLAS_STATUS_INVALID_VALUE;
  EXPECT_EQ(cublasStrmm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 8, 8, &one, a,
                        7, b, 8, b, 8),
            wrong);
  EXPECT_EQ(cublasSsyrk(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 8, 8, &one, a, 8, &one, b, 7), wrong);
  EXPECT_EQ(cublasSsyr(handle, CUBLAS_FILL_MODE_LOWER, 8, &one, a, 0, b, 8), wrong);
  EXPECT_EQ(cublasSgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, 8, 8, &one, a, 8, &one, b, 8, a, 8), wrong);
}
