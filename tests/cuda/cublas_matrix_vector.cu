// cuBLAS: matrices times vectors where the matrix is a band (gbmv), symmetric or Hermitian (symv, hemv, sbmv, hbmv,
// spmv, hpmv) or triangular (trmv, tbmv, tpmv), systems of triangular ones (trsv, tbsv, tpsv), and batches of gemv.
// What must not be looked at is no number. Elements are small integers and diagonals of systems powers of two, so that
// all is exact.
#include <cuda_fp16.h>

#include "tests/cuda/cublas_numbers.h"

using namespace blas;

namespace {

template <class T>
struct Blas;
#define BLAS_OF(letter, sb, sp, T)                       \
  template <>                                            \
  struct Blas<T> {                                       \
    BLAS_FUNCTION(gbmv, letter##gbmv, _v2)               \
    BLAS_FUNCTION(gemv, letter##gemv, _v2)               \
    BLAS_FUNCTION(symv, letter##symv, _v2)               \
    BLAS_FUNCTION(sbmv, letter##sb, _v2)                 \
    BLAS_FUNCTION(spmv, letter##sp, _v2)                 \
    BLAS_FUNCTION(trmv, letter##trmv, _v2)               \
    BLAS_FUNCTION(tbmv, letter##tbmv, _v2)               \
    BLAS_FUNCTION(tpmv, letter##tpmv, _v2)               \
    BLAS_FUNCTION(trsv, letter##trsv, _v2)               \
    BLAS_FUNCTION(tbsv, letter##tbsv, _v2)               \
    BLAS_FUNCTION(tpsv, letter##tpsv, _v2)               \
    BLAS_FUNCTION(batched, letter##gemvBatched, )        \
    BLAS_FUNCTION(strided, letter##gemvStridedBatched, ) \
  };
BLAS_OF(S, sbmv, spmv, float)
BLAS_OF(D, sbmv, spmv, double)
BLAS_OF(C, hbmv, hpmv, std::complex<float>)
BLAS_OF(Z, hbmv, hpmv, std::complex<double>)
template <class T>
struct Hermitian;
template <>
struct Hermitian<std::complex<float>> {
  BLAS_FUNCTION(hemv, Chemv, _v2)
};
template <>
struct Hermitian<std::complex<double>> {
  BLAS_FUNCTION(hemv, Zhemv, _v2)
};

enum class Storage { kFull, kBand, kPacked };
constexpr Storage kStorages[] = {Storage::kFull, Storage::kBand, Storage::kPacked};

// A triangle as it is stored, with poison wherever nobody is to look, and what it stands for.
template <class T>
struct Stored {
  int n, k, leading;
  std::vector<T> data;
  Matrix<T> dense;

  Stored(Storage storage, cublasFillMode_t fill, int size, int diagonals)
      : n(size), k(storage == Storage::kBand ? diagonals : size), leading(0), dense(size, size, 0) {
    leading = storage == Storage::kFull ? n + 1 : k + 3;
    data.assign(storage == Storage::kPacked ? size_t(n) * (n + 1) / 2 : size_t(leading) * n, Poison<T>());
    dense.Fill(T(0));
    storage_ = storage;
    upper_ = fill == CUBLAS_FILL_MODE_UPPER;
  }
  bool Has(int i, int j) const { return (upper_ ? i <= j : i >= j) && std::abs(i - j) <= k; }
  T& At(int i, int j) {
    if (storage_ == Storage::kFull) return data[size_t(j) * leading + i];
    if (storage_ == Storage::kBand) return data[size_t(j) * leading + (upper_ ? k + i - j : i - j)];
    size_t before = 0;  // elements of the columns before
    for (int column = 0; column < j; ++column) before += size_t(upper_ ? column + 1 : n - column);
    return data[before + size_t(upper_ ? i : i - j)];
  }

 private:
  Storage storage_;
  bool upper_;
};

template <class T>
Stored<T> SymmetricOf(Storage storage, cublasFillMode_t fill, int n, int k, bool hermitian) {
  Stored<T> stored(storage, fill, n, k);
  harness::Random random(3);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      if (!stored.Has(i, j)) continue;
      const T value = Small<T>(random);
      stored.At(i, j) = stored.dense(i, j) = value;
      stored.dense(j, i) = hermitian ? Conjugate(value) : value;
      if (i == j && hermitian) {
        stored.At(i, i) = Number<T>(std::real(value), NAN);
        stored.dense(i, i) = Number<T>(std::real(value));
      }
    }
  return stored;
}

template <class T>
Stored<T> TriangleOf(Storage storage, cublasFillMode_t fill, cublasDiagType_t diagonal, int n, int k) {
  Stored<T> stored(storage, fill, n, k);
  harness::Random random(4);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      if (!stored.Has(i, j)) continue;
      const T value = i != j            ? Small<T>(random)
                      : random.Below(2) ? Number<T>(2)
                      : kIsComplex<T>   ? Number<T>(0, -4)
                                        : T(-1);
      const bool unit = i == j && diagonal == CUBLAS_DIAG_UNIT;
      if (!unit) stored.At(i, j) = value;
      stored.dense(i, j) = unit ? T(1) : value;
    }
  return stored;
}

template <class T>
std::vector<T> Product(const Matrix<T>& a, cublasOperation_t op, const std::vector<T>& x) {
  const int rows = op == CUBLAS_OP_N ? a.rows : a.columns, columns = op == CUBLAS_OP_N ? a.columns : a.rows;
  std::vector<T> y(size_t(rows), T(0));
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) y[size_t(i)] += a.Of(op, i, j) * x[size_t(j)];
  return y;
}

// y = alpha op(A) x + beta y by `call(alpha, x, step, beta, y, step)`, with steps of all kinds; and with zeros: with
// that of beta nobody looks at y.
template <class T, class Call>
void CheckProduct(const Matrix<T>& a, cublasOperation_t op, bool on_device, const Call& call) {
  const int rows = op == CUBLAS_OP_N ? a.rows : a.columns, columns = op == CUBLAS_OP_N ? a.columns : a.rows;
  const std::vector<T> x = Smalls<T>(columns, 5), y = Smalls<T>(rows, 6), product = Product(a, op, x);
  for (int way = 0; way < 5; ++way) {
    const T alpha = way == 3 ? T(0) : Number<T>(2, -1), beta = way == 4 ? T(0) : Number<T>(-1, 3);
    const int step_x = kSteps[way % 3], step_y = kSteps[(way + 1) % 3];
    std::vector<T> want(y);
    for (size_t i = 0; i < want.size(); ++i) want[i] = alpha * product[i] + (beta == T(0) ? T(0) : beta * y[i]);
    const Scalar<T> first(alpha, on_device), second(beta, on_device);
    Buffer<T> dx(Spread(x, step_x));
    Buffer<T> dy(Spread(way == 4 ? std::vector<T>(y.size(), Poison<T>()) : y, step_y));
    BLAS_OK(call(first.get(), On(dx), step_x, second.get(), On(dy), step_y));
    EXPECT_SAME(Plain(dy.Get()), Plain(Spread(want, step_y)));
  }
}

template <class T>
void CheckBand(int m, int n, int below, int above, bool on_device) {
  Handle handle(on_device);
  Matrix<T> dense(m, n, 7), band(below + above + 1, n, 0);
  band.Fill(Poison<T>());
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      if (i - j > below || j - i > above)
        dense(i, j) = T(0);
      else
        band(above + i - j, j) = dense(i, j);
    }
  Buffer<T> da(band.data);
  for (const auto op : kOps) {
    CheckProduct(dense, op, on_device, [&](auto alpha, auto x, int step_x, auto beta, auto y, int step_y) {
      return step_x == 1 ? Blas<T>::gbmv_64(handle, op, m, n, below, above, alpha, On(da), band.leading, x, step_x,
                                            beta, y, step_y)
                         : Blas<T>::gbmv(handle, op, m, n, below, above, alpha, On(da), band.leading, x, step_x, beta,
                                         y, step_y);
    });
  }
}

template <class T>
void CheckGemv(int m, int n, bool on_device) {
  Handle handle(on_device);
  const Matrix<T> a(m, n, 8);
  Buffer<T> da(a.data);
  for (const auto op : kOps) {
    CheckProduct(a, op, on_device, [&](auto alpha, auto x, int step_x, auto beta, auto y, int step_y) {
      return step_x == 1 ? Blas<T>::gemv_64(handle, op, m, n, alpha, On(da), a.leading, x, step_x, beta, y, step_y)
                         : Blas<T>::gemv(handle, op, m, n, alpha, On(da), a.leading, x, step_x, beta, y, step_y);
    });
  }
}

// Of complex types sbmv and spmv are hbmv and hpmv, and symv comes in both kinds.
template <class T>
void CheckSymmetric(int n, int k, bool on_device) {
  Handle handle(on_device);
  for (const auto storage : kStorages)
    for (const auto fill : kFills)
      for (const bool hermitian : {false, true}) {
        if (hermitian ? !kIsComplex<T> : kIsComplex<T> && storage != Storage::kFull) continue;
        const Stored<T> a = SymmetricOf<T>(storage, fill, n, k, hermitian);
        Buffer<T> da(a.data);
        CheckProduct(a.dense, CUBLAS_OP_N, on_device,
                     [&](auto alpha, auto x, int step_x, auto beta, auto y, int step_y) {
                       const bool wide = step_x == 1;
                       const auto with = [&](auto symv, auto symv_64, auto... matrix) {
                         return wide ? symv_64(handle, fill, n, matrix..., x, step_x, beta, y, step_y)
                                     : symv(handle, fill, n, matrix..., x, step_x, beta, y, step_y);
                       };
                       if (storage == Storage::kBand)
                         return with(Blas<T>::sbmv, Blas<T>::sbmv_64, k, alpha, On(da), a.leading);
                       if (storage == Storage::kPacked) return with(Blas<T>::spmv, Blas<T>::spmv_64, alpha, On(da));
                       if constexpr (kIsComplex<T>)
                         if (hermitian)
                           return with(Hermitian<T>::hemv, Hermitian<T>::hemv_64, alpha, On(da), a.leading);
                       return with(Blas<T>::symv, Blas<T>::symv_64, alpha, On(da), a.leading);
                     });
      }
}

// Products with triangles in x's place, and the systems that take them back.
template <class T>
void CheckTriangular(int n, int k) {
  using B = Blas<T>;
  Handle handle;
  int way = 0;
  for (const auto storage : kStorages)
    for (const auto fill : kFills)
      for (const auto op : kOps)
        for (const auto diagonal : kDiagonals) {
          const int step = kSteps[way++ % 3];
          const Stored<T> a = TriangleOf<T>(storage, fill, diagonal, n, k);
          const std::vector<T> x = Smalls<T>(n, 9), product = Product(a.dense, op, x);
          Buffer<T> da(a.data), dx(Spread(x, step));
          const auto call = [&](auto mv, auto mv_64, auto... matrix) {
            if (step == 1)
              BLAS_OK(mv_64(handle, fill, op, diagonal, n, matrix..., On(dx), step));
            else
              BLAS_OK(mv(handle, fill, op, diagonal, n, matrix..., On(dx), step));
          };
          if (storage == Storage::kFull) call(B::trmv, B::trmv_64, On(da), a.leading);
          if (storage == Storage::kBand) call(B::tbmv, B::tbmv_64, k, On(da), a.leading);
          if (storage == Storage::kPacked) call(B::tpmv, B::tpmv_64, On(da));
          EXPECT_SAME(Plain(dx.Get()), Plain(Spread(product, step)));
          if (storage == Storage::kFull) call(B::trsv, B::trsv_64, On(da), a.leading);
          if (storage == Storage::kBand) call(B::tbsv, B::tbsv_64, k, On(da), a.leading);
          if (storage == Storage::kPacked) call(B::tpsv, B::tpsv_64, On(da));
          EXPECT_SAME(Plain(dx.Get()), Plain(Spread(x, step)));
        }
}

template <class T>
void CheckBatches(bool on_device) {
  Handle handle(on_device);
  using E = typename ElementOf<T>::Type;
  const int m = 9, n = 13, batch = 3;
  const Scalar<T> alpha(Number<T>(2, 1), on_device), beta(Number<T>(-1, 2), on_device);
  int way = 0;
  for (const auto op : kOps)
    for (const int step_x : kSteps)
      for (const int step_y : kSteps) {
        const int rows = op == CUBLAS_OP_N ? m : n, columns = op == CUBLAS_OP_N ? n : m;
        std::vector<T> a, x, y, want;
        for (int b = 0; b < batch; ++b) {
          const Matrix<T> matrix(m, n, 20 + b, 0);
          const std::vector<T> in = Smalls<T>(columns, 30 + b), product = Product(matrix, op, in);
          std::vector<T> out = Smalls<T>(rows, 40 + b);
          const auto append = [](std::vector<T>& to, const std::vector<T>& what) {
            to.insert(to.end(), what.begin(), what.end());
          };
          append(a, matrix.data), append(x, Spread(in, step_x)), append(y, Spread(out, step_y));
          for (int i = 0; i < rows; ++i) out[size_t(i)] = alpha.host * product[size_t(i)] + beta.host * out[size_t(i)];
          append(want, Spread(out, step_y));
        }
        Buffer<T> da(a), dx(x), dy(y);
        const size_t stride_a = a.size() / batch, stride_x = x.size() / batch, stride_y = y.size() / batch;
        std::vector<E*> pointers;
        for (int b = 0; b < batch; ++b) pointers.push_back(On(da) + b * stride_a);
        for (int b = 0; b < batch; ++b) pointers.push_back(On(dx) + b * stride_x);
        for (int b = 0; b < batch; ++b) pointers.push_back(On(dy) + b * stride_y);
        Buffer<E*> dp(pointers);
        const auto strided = [&](auto gemv) {
          return gemv(handle, op, m, n, alpha.get(), On(da), m, (long long)stride_a, On(dx), step_x,
                      (long long)stride_x, beta.get(), On(dy), step_y, (long long)stride_y, batch);
        };
        const auto batched = [&](auto gemv) {
          return gemv(handle, op, m, n, alpha.get(), dp.get(), m, dp.get() + batch, step_x, beta.get(),
                      dp.get() + 2 * batch, step_y, batch);
        };
        switch (way++ % 4) {
          case 0:
            BLAS_OK(strided(Blas<T>::strided));
            break;
          case 1:
            BLAS_OK(batched(Blas<T>::batched));
            break;
          case 2:
            BLAS_OK(strided(Blas<T>::strided_64));
            break;
          default:
            BLAS_OK(batched(Blas<T>::batched_64));
        }
        EXPECT_SAME(Plain(dy.Get()), Plain(want));
      }
}

}  // namespace

CASE(bands) {
  OfAllTypes([](auto t) {
    using T = decltype(t);
    CheckBand<T>(11, 8, 2, 3, false);
    CheckBand<T>(7, 19, 0, 4, true);
  });
  CheckBand<float>(300, 290, 9, 1, false);
}

CASE(vectors_of_all_steps) {
  OfAllTypes([](auto t) {
    CheckGemv<decltype(t)>(9, 14, false);
    CheckGemv<decltype(t)>(17, 5, true);
  });
}

CASE(symmetric_and_hermitian_matrices) {
  OfAllTypes([](auto t) {
    CheckSymmetric<decltype(t)>(13, 4, false);
    CheckSymmetric<decltype(t)>(6, 9, true);
  });
  CheckSymmetric<double>(200, 30, false);
}

CASE(triangles) {
  OfAllTypes([](auto t) { CheckTriangular<decltype(t)>(11, 3); });
  CheckTriangular<float>(150, 140);
  CheckTriangular<std::complex<double>>(300, 7);
}

CASE(batches) {
  OfAllTypes([](auto t) {
    CheckBatches<decltype(t)>(false);
    CheckBatches<decltype(t)>(true);
  });
}

CASE(batches_of_halves) {
  Handle handle;
  const float one = 1, zero = 0;
  std::vector<__half> a, x;
  for (int i = 0; i < 24; ++i) a.push_back(__float2half(float(i % 5 - 2)));
  for (int i = 0; i < 6; ++i) x.push_back(__float2half(float(i - 3)));
  Buffer<__half> da(a), dx(x), halves(8);
  Buffer<float> floats(8);
  // Two matrices of 4 x 3.
  BLAS_OK(cublasHSSgemvStridedBatched(handle, CUBLAS_OP_N, 4, 3, &one, da, 4, 12, dx, 1, 3, &zero, floats, 1, 4, 2));
  BLAS_OK(cublasHSHgemvStridedBatched_64(handle, CUBLAS_OP_N, 4, 3, &one, da, 4, 12, dx, 1, 3, &zero, halves, 1, 4, 2));
  const std::vector<float> got = floats.Get();
  const std::vector<__half> got_halves = halves.Get();
  for (int b = 0; b < 2; ++b)
    for (int i = 0; i < 4; ++i) {
      float want = 0;
      for (int j = 0; j < 3; ++j) want += __half2float(a[b * 12 + j * 4 + i]) * __half2float(x[b * 3 + j]);
      EXPECT_EQ(got[b * 4 + i], want);
      EXPECT_EQ(__half2float(got_halves[b * 4 + i]), want);
    }
}

CASE(nothing_and_what_is_wrong) {
  Handle handle;
  const auto wrong = CUBLAS_STATUS_INVALID_VALUE;
  const auto lower = CUBLAS_FILL_MODE_LOWER;
  const float one = 1;
  const std::vector<float> numbers = Smalls<float>(64, 1);
  Buffer<float> a(numbers), x(numbers), y(numbers);
  float* const none = nullptr;
  BLAS_OK(cublasSsymv_v2(handle, lower, 0, &one, none, 1, none, 1, &one, none, 1));
  BLAS_OK(cublasStrsv_v2(handle, lower, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 0, none, 1, none, 1));
  BLAS_OK(cublasSgbmv_v2(handle, CUBLAS_OP_N, 4, 0, 1, 1, &one, a, 3, x, 1, &one, y, 1));
  BLAS_OK(cublasSgemvBatched(handle, CUBLAS_OP_N, 4, 4, &one, nullptr, 4, nullptr, 1, &one, nullptr, 1, 0));
  EXPECT_EQ(cublasSsymv_v2(nullptr, lower, 4, &one, a, 4, x, 1, &one, y, 1), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasSsymv_v2(handle, cublasFillMode_t(7), 4, &one, a, 4, x, 1, &one, y, 1), wrong);
  EXPECT_EQ(cublasSsymv_v2(handle, lower, -1, &one, a, 4, x, 1, &one, y, 1), wrong);
  EXPECT_EQ(cublasSsymv_v2(handle, lower, 4, &one, a, 3, x, 1, &one, y, 1), wrong);
  EXPECT_EQ(cublasSsymv_v2(handle, lower, 4, &one, a, 4, x, 0, &one, y, 1), wrong);
  EXPECT_EQ(cublasSsbmv_v2(handle, lower, 4, 2, &one, a, 2, x, 1, &one, y, 1), wrong);
  EXPECT_EQ(cublasSspmv_v2(handle, lower, 4, &one, a, x, 1, &one, y, 0), wrong);
  EXPECT_EQ(cublasSgbmv_v2(handle, CUBLAS_OP_N, 4, 4, 1, 1, &one, a, 2, x, 1, &one, y, 1), wrong);
  EXPECT_EQ(cublasSgbmv_v2(handle, CUBLAS_OP_N, 4, 4, -1, 1, &one, a, 4, x, 1, &one, y, 1), wrong);
  EXPECT_EQ(cublasStrmv_v2(handle, lower, cublasOperation_t(9), CUBLAS_DIAG_UNIT, 4, a, 4, x, 1), wrong);
  EXPECT_EQ(cublasStrsv_v2(handle, lower, CUBLAS_OP_N, cublasDiagType_t(5), 4, a, 4, x, 1), wrong);
  EXPECT_EQ(cublasStbsv_v2(handle, lower, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 4, -1, a, 4, x, 1), wrong);
  EXPECT_EQ(cublasStpsv_v2(handle, lower, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 4, a, x, 0), wrong);
  EXPECT_SAME(y.Get(), numbers);
  EXPECT_SAME(x.Get(), numbers);
}
