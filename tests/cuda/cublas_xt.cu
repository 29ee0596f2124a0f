// cuBLAS: the interface of cublasXt.h with matrices of the host, of the device and of both, in the four types of BLAS.
// Elements are small integers and diagonals of systems powers of two, so that all is exact.
#include <cublasXt.h>

#include "tests/cuda/cublas_numbers.h"

using namespace blas;

namespace {

template <class T>
struct Blas;
#define BLAS_OF(letter, T)                                 \
  template <>                                              \
  struct Blas<T> {                                         \
    static constexpr auto gemm = cublasXt##letter##gemm;   \
    static constexpr auto syrk = cublasXt##letter##syrk;   \
    static constexpr auto syr2k = cublasXt##letter##syr2k; \
    static constexpr auto syrkx = cublasXt##letter##syrkx; \
    static constexpr auto trsm = cublasXt##letter##trsm;   \
    static constexpr auto trmm = cublasXt##letter##trmm;   \
    static constexpr auto symm = cublasXt##letter##symm;   \
    static constexpr auto spmm = cublasXt##letter##spmm;   \
  };
BLAS_OF(S, float)
BLAS_OF(D, double)
BLAS_OF(C, std::complex<float>)
BLAS_OF(Z, std::complex<double>)
template <class T>
struct Hermitian;
#define HERMITIAN_OF(letter, T)                            \
  template <>                                              \
  struct Hermitian<T> {                                    \
    static constexpr auto herk = cublasXt##letter##herk;   \
    static constexpr auto her2k = cublasXt##letter##her2k; \
    static constexpr auto herkx = cublasXt##letter##herkx; \
    static constexpr auto hemm = cublasXt##letter##hemm;   \
  };
HERMITIAN_OF(C, std::complex<float>)
HERMITIAN_OF(Z, std::complex<double>)

struct XtHandle {
  cublasXtHandle_t handle = nullptr;
  XtHandle() {
    int device = 0;
    BLAS_OK(cublasXtCreate(&handle));
    BLAS_OK(cublasXtDeviceSelect(handle, 1, &device));
  }
  ~XtHandle() { BLAS_OK(cublasXtDestroy(handle)); }
  operator cublasXtHandle_t() const { return handle; }
};

// A matrix where it is to be for a call, and how it is afterwards.
template <class T>
struct Placed {
  std::vector<T> host;
  Buffer<T> device;
  bool on_device;
  Placed(const Matrix<T>& matrix, bool there) : host(matrix.data), device(matrix.data), on_device(there) {}
  explicit Placed(const std::vector<T>& data) : host(data), device(data), on_device(false) {}
  auto* get() { return At(on_device ? device.get() : host.data()); }
  std::vector<T> Get() {
    if (on_device) return Plain(device.Get());
    harness::Hash(host.data(), host.size() * sizeof(T));
    return Plain(host);
  }
};

// Where A, B and C are: on the host, or by the bits of the number on the device.
constexpr int kPlaces[] = {0, 7, 1, 4};

template <class T>
const T kAlpha = Number<T>(2, -1);
template <class T>
const T kBeta = Number<T>(-1, 3);

template <class T, class Entry>
void Multiply(Matrix<T>& c, int k, T alpha, T beta, const Entry& product_at) {
  for (int i = 0; i < c.rows; ++i)
    for (int j = 0; j < c.columns; ++j) {
      T sum = T(0);
      for (int l = 0; l < k; ++l) sum += product_at(i, l, j);
      c(i, j) = alpha * sum + (beta == T(0) ? T(0) : beta * c(i, j));
    }
}

template <class T>
void CheckGemm() {
  XtHandle handle;
  const int m = 20, n = 13, k = 9;
  int way = 0;
  for (const auto op_a : kOps)
    for (const auto op_b : kOps) {
      const int places = kPlaces[way++ % 4];
      const T beta = way % 2 ? kBeta<T> : T(0);
      const Matrix<T> a(op_a == CUBLAS_OP_N ? m : k, op_a == CUBLAS_OP_N ? k : m, 1);
      const Matrix<T> b(op_b == CUBLAS_OP_N ? k : n, op_b == CUBLAS_OP_N ? n : k, 2);
      Matrix<T> c(m, n, 3);
      Placed<T> da(a, places & 1), db(b, places & 2), dc(c, places & 4);
      BLAS_OK(Blas<T>::gemm(handle, op_a, op_b, m, n, k, At(&kAlpha<T>), da.get(), a.leading, db.get(), b.leading,
                            At(&beta), dc.get(), c.leading));
      Multiply(c, k, kAlpha<T>, beta, [&](int i, int l, int j) { return a.Of(op_a, i, l) * b.Of(op_b, l, j); });
      EXPECT_SAME(dc.Get(), Plain(c.data));
    }
}

template <class T>
Matrix<T> Updated(cublasFillMode_t fill, cublasOperation_t op, int k, T alpha, const Matrix<T>& a, const Matrix<T>& b,
                  T beta, const Matrix<T>& c, bool hermitian, bool twice) {
  Matrix<T> want = c;
  const auto turned = hermitian ? CUBLAS_OP_C : CUBLAS_OP_T;
  for (int i = 0; i < c.rows; ++i)
    for (int j = 0; j < c.rows; ++j) {
      if (!In(fill, i, j)) continue;
      T sum = T(0), other = T(0);
      for (int l = 0; l < k; ++l) {
        sum += op == CUBLAS_OP_N ? a(i, l) * b.Of(turned, l, j) : a.Of(turned, i, l) * b(l, j);
        other += op == CUBLAS_OP_N ? b(i, l) * a.Of(turned, l, j) : b.Of(turned, i, l) * a(l, j);
      }
      want(i, j) = alpha * sum + beta * c(i, j);
      if (twice) want(i, j) += (hermitian ? Conjugate(alpha) : alpha) * other;
      if (hermitian && i == j) want(i, j) = Number<T>(std::real(want(i, j)));
    }
  return want;
}

template <class T>
void CheckUpdates(bool hermitian) {
  XtHandle handle;
  const int n = 11, k = 6;
  int way = 0;
  const Real<T> real_alpha = 2, real_beta = -3;
  for (const auto fill : kFills)
    for (const auto op : {CUBLAS_OP_N, hermitian ? CUBLAS_OP_C : CUBLAS_OP_T})
      for (const int kind : {0, 1, 2}) {  // of one matrix, of two, of two both ways
        const int places = kPlaces[way++ % 4];
        const Matrix<T> a(op == CUBLAS_OP_N ? n : k, op == CUBLAS_OP_N ? k : n, 4), b(a.rows, a.columns, 5), c(n, n, 6);
        Placed<T> da(a, places & 1), db(b, places & 2), dc(c, places & 4);
        const auto of_two = [&](auto function, auto beta) {
          BLAS_OK(function(handle, fill, op, n, k, At(&kAlpha<T>), da.get(), a.leading, db.get(), b.leading, beta,
                           dc.get(), c.leading));
        };
        const auto of_one = [&](auto function, auto alpha, auto beta) {
          BLAS_OK(function(handle, fill, op, n, k, alpha, da.get(), a.leading, beta, dc.get(), c.leading));
        };
        if constexpr (kIsComplex<T>) {
          if (hermitian && kind == 0) of_one(Hermitian<T>::herk, &real_alpha, &real_beta);
          if (hermitian && kind == 1) of_two(Hermitian<T>::herkx, &real_beta);
          if (hermitian && kind == 2) of_two(Hermitian<T>::her2k, &real_beta);
        }
        if (!hermitian && kind == 0) of_one(Blas<T>::syrk, At(&kAlpha<T>), At(&kBeta<T>));
        if (!hermitian && kind == 1) of_two(Blas<T>::syrkx, At(&kBeta<T>));
        if (!hermitian && kind == 2) of_two(Blas<T>::syr2k, At(&kBeta<T>));
        const T alpha = hermitian && kind == 0 ? T(real_alpha) : kAlpha<T>, beta = hermitian ? T(real_beta) : kBeta<T>;
        EXPECT_SAME(dc.Get(),
                    Plain(Updated(fill, op, k, alpha, a, kind == 0 ? a : b, beta, c, hermitian, kind == 2).data));
      }
}

// Products with a triangle, and the systems that take them back.
template <class T>
void CheckTriangles() {
  XtHandle handle;
  const int m = 10, n = 7;
  const T one = T(1);
  int way = 0;
  for (const auto side : {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT})
    for (const auto fill : kFills)
      for (const auto op : kOps) {
        const int places = kPlaces[way++ % 4], size = side == CUBLAS_SIDE_LEFT ? m : n;
        Matrix<T> a(size, size, 7), triangle = a;
        for (int i = 0; i < size; ++i)
          for (int j = 0; j < size; ++j) {
            if (i == j) a(i, i) = T(Real<T>(2));
            triangle(i, j) = In(fill, i, j) ? a(i, j) : T(0);
          }
        const Matrix<T> b(m, n, 8);
        Matrix<T> product(m, n, 9);
        Placed<T> da(a, places & 1), db(b, places & 2), dc(product, places & 4);
        BLAS_OK(Blas<T>::trmm(handle, side, fill, op, CUBLAS_DIAG_NON_UNIT, m, n, At(&one), da.get(), a.leading,
                              db.get(), b.leading, dc.get(), product.leading));
        Multiply(product, size, one, T(0), [&](int i, int l, int j) {
          return side == CUBLAS_SIDE_LEFT ? triangle.Of(op, i, l) * b(l, j) : b(i, l) * triangle.Of(op, l, j);
        });
        EXPECT_SAME(dc.Get(), Plain(product.data));
        BLAS_OK(Blas<T>::trsm(handle, side, fill, op, CUBLAS_DIAG_NON_UNIT, m, n, At(&one), da.get(), a.leading,
                              dc.get(), product.leading));
        for (int i = 0; i < m; ++i)
          for (int j = 0; j < n; ++j) product(i, j) = b(i, j);
        EXPECT_SAME(dc.Get(), Plain(product.data));
      }
}

template <class T>
void CheckSymmetric(bool hermitian) {
  XtHandle handle;
  const int m = 8, n = 12;
  int way = 0;
  for (const auto side : {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT})
    for (const auto fill : kFills)
      for (const bool packed : {false, true}) {
        if (hermitian && packed) continue;
        const int places = kPlaces[way++ % 4], size = side == CUBLAS_SIDE_LEFT ? m : n;
        const T beta = way % 3 ? kBeta<T> : T(0);
        const Matrix<T> a(size, size, 1), b(m, n, 2);
        Matrix<T> whole = a, c(m, n, 3);
        std::vector<T> columns;
        for (int j = 0; j < size; ++j)
          for (int i = 0; i < size; ++i) {
            whole(i, j) = In(fill, i, j) ? a(i, j) : hermitian ? Conjugate(a(j, i)) : a(j, i);
            if (i == j && hermitian) whole(i, i) = Number<T>(std::real(a(i, i)));
            if (In(fill, i, j)) columns.push_back(a(i, j));
          }
        Placed<T> da(a, places & 1), db(b, places & 2), dc(c, places & 4), dp(columns);
        const auto call = [&](auto function, auto... matrix) {
          BLAS_OK(function(handle, side, fill, m, n, At(&kAlpha<T>), matrix..., db.get(), b.leading, At(&beta),
                           dc.get(), c.leading));
        };
        if constexpr (kIsComplex<T>)
          if (hermitian) call(Hermitian<T>::hemm, da.get(), a.leading);
        if (!hermitian && !packed) call(Blas<T>::symm, da.get(), a.leading);
        if (packed) call(Blas<T>::spmm, dp.get());
        Multiply(c, size, kAlpha<T>, beta, [&](int i, int l, int j) {
          return side == CUBLAS_SIDE_LEFT ? whole(i, l) * b(l, j) : b(i, l) * whole(l, j);
        });
        EXPECT_SAME(dc.Get(), Plain(c.data));
      }
}

}  // namespace

CASE(products) {
  OfAllTypes([](auto t) { CheckGemm<decltype(t)>(); });
}

CASE(updates) {
  OfAllTypes([](auto t) { CheckUpdates<decltype(t)>(false); });
  OfComplexTypes([](auto t) { CheckUpdates<decltype(t)>(true); });
}

CASE(triangles) {
  OfAllTypes([](auto t) { CheckTriangles<decltype(t)>(); });
}

CASE(symmetric_matrices) {
  OfAllTypes([](auto t) { CheckSymmetric<decltype(t)>(false); });
  OfComplexTypes([](auto t) { CheckSymmetric<decltype(t)>(true); });
}

CASE(handles) {
  XtHandle handle;
  int size = 0;
  BLAS_OK(cublasXtSetBlockDim(handle, 512));
  BLAS_OK(cublasXtGetBlockDim(handle, &size));
  EXPECT_EQ(size, 512);
  EXPECT_EQ(cublasXtSetBlockDim(handle, 0), CUBLAS_STATUS_INVALID_VALUE);
  cublasXtPinnedMemMode_t mode = CUBLASXT_PINNING_DISABLED;
  BLAS_OK(cublasXtSetPinningMemMode(handle, CUBLASXT_PINNING_ENABLED));
  BLAS_OK(cublasXtGetPinningMemMode(handle, &mode));
  EXPECT_EQ(mode, CUBLASXT_PINNING_ENABLED);
  EXPECT_EQ(cublasXtDeviceSelect(handle, 1, nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasXtSetBlockDim(nullptr, 512), CUBLAS_STATUS_INVALID_VALUE);
}

CASE(nothing_and_what_is_wrong) {
  XtHandle handle;
  const float one = 1;
  std::vector<float> a = Smalls<float>(16, 1);
  const std::vector<float> before = a;
  const auto gemm = [&](const float* factor, size_t lda, const float* beta, float* c, size_t ldc) {
    return cublasXtSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, factor, lda, a.data(), 4, beta, c, ldc);
  };
  BLAS_OK(cublasXtSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 0, 4, 4, &one, nullptr, 1, a.data(), 4, &one, nullptr, 1));
  EXPECT_EQ(gemm(a.data(), 3, &one, a.data(), 4), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(a.data(), 4, &one, a.data(), 3), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(a.data(), 4, nullptr, a.data(), 4), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(
      cublasXtSgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, a.data(), 4, a.data(), 4, &one, a.data(), 4),
      CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_SAME(a, before);
}
