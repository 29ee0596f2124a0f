// cuBLAS: products with symmetric and Hermitian matrices (symm, hemm), updates of their triangles by two matrices
// (syrkx, herkx, syr2k, her2k), packed triangles (tpttr, trttp), groups of products and small inverses. Elements are
// small integers, so that all but inverses is exact; what must not be looked at is no number.
#include "tests/cuda/cublas_numbers.h"

using namespace blas;

namespace {

template <class T>
struct Blas;
#define BLAS_OF(letter, T)                                        \
  template <>                                                     \
  struct Blas<T> {                                                \
    BLAS_FUNCTION(symm, letter##symm, _v2)                        \
    BLAS_FUNCTION(syrkx, letter##syrkx, )                         \
    BLAS_FUNCTION(syr2k, letter##syr2k, _v2)                      \
    static constexpr auto tpttr = cublas##letter##tpttr;          \
    static constexpr auto trttp = cublas##letter##trttp;          \
    static constexpr auto matinv = cublas##letter##matinvBatched; \
  };
BLAS_OF(S, float)
BLAS_OF(D, double)
BLAS_OF(C, std::complex<float>)
BLAS_OF(Z, std::complex<double>)
template <class T>
struct Hermitian;
#define HERMITIAN_OF(letter, T)              \
  template <>                                \
  struct Hermitian<T> {                      \
    BLAS_FUNCTION(hemm, letter##hemm, _v2)   \
    BLAS_FUNCTION(herkx, letter##herkx, )    \
    BLAS_FUNCTION(her2k, letter##her2k, _v2) \
  };
HERMITIAN_OF(C, std::complex<float>)
HERMITIAN_OF(Z, std::complex<double>)

// c(i, j) = alpha times the sum of `factors_at(i, k, j)` + beta c(i, j).
template <class T, class Factors>
void Multiply(Matrix<T>& c, int count, T alpha, T beta, const Factors& factors_at) {
  for (int i = 0; i < c.rows; ++i)
    for (int j = 0; j < c.columns; ++j) {
      T sum = T(0);
      for (int k = 0; k < count; ++k) sum += factors_at(i, k, j);
      c(i, j) = alpha * sum + beta * c(i, j);
    }
}

// beta of 0 does not look at C.
template <class T>
void CheckSymm(int m, int n, bool hermitian, bool on_device) {
  Handle handle(on_device);
  int way = 0;
  for (const auto side : {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT})
    for (const auto fill : kFills)
      for (const int scalars : {0, 1, 2}) {
        const T alpha = scalars == 1 ? T(0) : Number<T>(2, -1), beta = scalars == 2 ? T(0) : Number<T>(-1, 3);
        const int size = side == CUBLAS_SIDE_LEFT ? m : n;
        Matrix<T> a(size, size, 1), whole = a;
        const Matrix<T> b(m, n, 2), c(m, n, 3);
        for (int i = 0; i < size; ++i)
          for (int j = 0; j < size; ++j) {
            whole(i, j) = In(fill, i, j) ? a(i, j) : hermitian ? Conjugate(a(j, i)) : a(j, i);
            if (i == j && hermitian) whole(i, i) = Number<T>(std::real(a(i, i)));
          }
        for (int i = 0; i < size; ++i)
          for (int j = 0; j < size; ++j) {
            if (!In(fill, i, j)) a(i, j) = Poison<T>();
            if (i == j && hermitian) a(i, i) = Number<T>(std::real(a(i, i)), NAN);
          }
        Matrix<T> want = c, given = c;
        Multiply(want, size, alpha, beta, [&](int i, int k, int j) {
          return side == CUBLAS_SIDE_LEFT ? whole(i, k) * b(k, j) : b(i, k) * whole(k, j);
        });
        if (scalars == 2)
          for (int i = 0; i < m; ++i)
            for (int j = 0; j < n; ++j) given(i, j) = Poison<T>();
        const Scalar<T> first(alpha, on_device), second(beta, on_device);
        Buffer<T> da(a.data), db(b.data), dc(given.data);
        const auto call = [&](auto symm) {
          BLAS_OK(symm(handle, side, fill, m, n, first.get(), On(da), a.leading, On(db), b.leading, second.get(),
                       On(dc), c.leading));
        };
        const bool wide = way++ % 2 != 0;
        if constexpr (kIsComplex<T>)
          if (hermitian) wide ? call(Hermitian<T>::hemm_64) : call(Hermitian<T>::hemm);
        if (!hermitian) wide ? call(Blas<T>::symm_64) : call(Blas<T>::symm);
        EXPECT_SAME(Plain(dc.Get()), Plain(want.data));
      }
}

// alpha op(A) op(B)' + beta C, of one triangle, and what the other way round gives if `twice`.
template <class T>
Matrix<T> Updated(cublasFillMode_t fill, cublasOperation_t op, int k, T alpha, const Matrix<T>& a, const Matrix<T>& b,
                  T beta, const Matrix<T>& c, bool hermitian, bool twice) {
  Matrix<T> want = c;
  const cublasOperation_t turned = hermitian ? CUBLAS_OP_C : CUBLAS_OP_T;
  const auto product = [&](const Matrix<T>& x, const Matrix<T>& y, int i, int j) {
    T sum = T(0);
    for (int l = 0; l < k; ++l) sum += op == CUBLAS_OP_N ? x(i, l) * y.Of(turned, l, j) : x.Of(turned, i, l) * y(l, j);
    return sum;
  };
  for (int i = 0; i < c.rows; ++i)
    for (int j = 0; j < c.rows; ++j) {
      if (!In(fill, i, j)) continue;
      T& element = want(i, j);
      element = alpha * product(a, b, i, j) + (beta == T(0) ? T(0) : beta * c(i, j));
      if (twice) element += (hermitian ? Conjugate(alpha) : alpha) * product(b, a, i, j);
      if (hermitian && i == j) element = Number<T>(std::real(element));
    }
  return want;
}

template <class T>
void CheckUpdates(int n, int k, bool hermitian, bool on_device) {
  Handle handle(on_device);
  int way = 0;
  for (const auto fill : kFills)
    for (const auto op : {CUBLAS_OP_N, hermitian ? CUBLAS_OP_C : CUBLAS_OP_T})
      for (const bool twice : {false, true})
        for (const bool fresh : {false, true}) {
          const Matrix<T> a(op == CUBLAS_OP_N ? n : k, op == CUBLAS_OP_N ? k : n, 4), b(a.rows, a.columns, 5);
          const T alpha = Number<T>(2, -1), beta = fresh ? T(0) : hermitian ? T(-3) : Number<T>(-1, 1);
          Matrix<T> c(n, n, 6);
          if (fresh)
            for (int i = 0; i < n; ++i)
              for (int j = 0; j < n; ++j)
                if (In(fill, i, j)) c(i, j) = Poison<T>();
          Buffer<T> da(a.data), db(b.data), dc(c.data);
          const Scalar<T> first(alpha, on_device), second(beta, on_device);
          const Scalar<Real<T>> real(std::real(beta), on_device);
          const auto call = [&](auto function, auto scalar) {
            BLAS_OK(function(handle, fill, op, n, k, first.get(), On(da), a.leading, On(db), b.leading, scalar, On(dc),
                             c.leading));
          };
          const bool wide = way++ % 3 == 0;
          if constexpr (kIsComplex<T>) {
            using H = Hermitian<T>;
            if (hermitian && twice) wide ? call(H::her2k_64, real.get()) : call(H::her2k, real.get());
            if (hermitian && !twice) wide ? call(H::herkx_64, real.get()) : call(H::herkx, real.get());
          }
          using B = Blas<T>;
          if (!hermitian && twice) wide ? call(B::syr2k_64, second.get()) : call(B::syr2k, second.get());
          if (!hermitian && !twice) wide ? call(B::syrkx_64, second.get()) : call(B::syrkx, second.get());
          EXPECT_SAME(Plain(dc.Get()), Plain(Updated(fill, op, k, alpha, a, b, beta, c, hermitian, twice).data));
        }
}

template <class T>
void CheckPacking(int n) {
  Handle handle;
  for (const auto fill : kFills) {
    const std::vector<T> packed = Smalls<T>(n * (n + 1) / 2, 7);
    Matrix<T> a(n, n, 8);
    Buffer<T> dp(packed), da(a.data), again(packed.size());
    BLAS_OK(Blas<T>::tpttr(handle, fill, n, On(dp), On(da), a.leading));
    BLAS_OK(Blas<T>::trttp(handle, fill, n, On(da), a.leading, On(again)));
    size_t next = 0;
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i)
        if (In(fill, i, j)) a(i, j) = packed[next++];
    EXPECT_SAME(da.Get(), a.data);
    EXPECT_SAME(again.Get(), packed);
  }
}

template <class T>
void CheckInverses(int n) {
  Handle handle;
  using E = typename ElementOf<T>::Type;
  const int batch = 3;
  std::vector<T> a;
  std::vector<E*> pointers;
  for (int b = 0; b < batch; ++b) {
    Matrix<T> matrix(n, n, 10 + b, 0);
    for (int i = 0; i < n; ++i) matrix((i + 1) % n, i) += T(Real<T>(4 * n));  // rows have to be exchanged
    if (b == 1)                                                               // the last of which is the sum of others
      for (int j = 0; j < n; ++j) matrix(n - 1, j) = T(0);
    a.insert(a.end(), matrix.data.begin(), matrix.data.end());
  }
  Buffer<T> da(a), inverse(a.size());
  for (int b = 0; b < batch; ++b) pointers.push_back(On(da) + b * n * n);
  for (int b = 0; b < batch; ++b) pointers.push_back(On(inverse) + b * n * n);
  Buffer<E*> dp(pointers);
  Buffer<int> info(batch);
  BLAS_OK(Blas<T>::matinv(handle, n, dp.get(), n, dp.get() + batch, n, info, batch));
  EXPECT_SAME(info.Get(), (std::vector<int>{0, n, 0}));
  EXPECT_SAME(da.Get(), a);
  const std::vector<T> got = inverse.Get();
  for (const int b : {0, 2})
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        T sum = T(0);
        for (int k = 0; k < n; ++k) sum += a[size_t(b * n * n + i + k * n)] * got[size_t(b * n * n + k + j * n)];
        EXPECT(std::abs(sum - T(Real<T>(i == j))) < (sizeof(Real<T>) == sizeof(float) ? 1e-4 : 1e-12));
      }
}

}  // namespace

CASE(products_with_symmetric_matrices) {
  for (const bool on_device : {false, true}) {
    OfAllTypes([&](auto t) { CheckSymm<decltype(t)>(9, 13, false, on_device); });
    OfComplexTypes([&](auto t) { CheckSymm<decltype(t)>(12, 7, true, on_device); });
  }
  CheckSymm<float>(140, 90, false, false);
}

CASE(updates_of_triangles) {
  for (const bool on_device : {false, true}) {
    OfAllTypes([&](auto t) { CheckUpdates<decltype(t)>(9, 5, false, on_device); });
    OfComplexTypes([&](auto t) { CheckUpdates<decltype(t)>(8, 6, true, on_device); });
    CheckUpdates<double>(270, 20, false, on_device);
    CheckUpdates<std::complex<float>>(270, 9, true, on_device);
  }
}

CASE(updates_with_types_as_arguments) {
  using T = std::complex<float>;
  Handle handle;
  const int n = 70, k = 4;
  const T alpha(2, 1), beta(1, -1);
  const float real_alpha = 2, real_beta = -3;
  const auto upper = CUBLAS_FILL_MODE_UPPER;
  const Matrix<T> a(n, k, 1), c(n, n, 2);
  for (const bool three : {false, true}) {
    Buffer<T> da(a.data), symmetric(c.data), hermitian(c.data);
    BLAS_OK((three ? cublasCsyrk3mEx : cublasCsyrkEx)(handle, upper, CUBLAS_OP_N, n, k, At(&alpha), On(da), CUDA_C_32F,
                                                      a.leading, At(&beta), On(symmetric), CUDA_C_32F, c.leading));
    BLAS_OK((three ? cublasCherk3mEx_64 : cublasCherkEx_64)(handle, upper, CUBLAS_OP_N, n, k, &real_alpha, On(da),
                                                            CUDA_C_32F, a.leading, &real_beta, On(hermitian),
                                                            CUDA_C_32F, c.leading));
    EXPECT_SAME(Plain(symmetric.Get()), Plain(Updated(upper, CUBLAS_OP_N, k, alpha, a, a, beta, c, false, false).data));
    EXPECT_SAME(Plain(hermitian.Get()),
                Plain(Updated(upper, CUBLAS_OP_N, k, T(real_alpha), a, a, T(real_beta), c, true, false).data));
  }
}

CASE(packed_triangles) {
  OfAllTypes([](auto t) { CheckPacking<decltype(t)>(17); });
}

CASE(small_inverses) {
  OfAllTypes([](auto t) {
    CheckInverses<decltype(t)>(5);
    CheckInverses<decltype(t)>(32);
  });
}

// Two groups: 2 products of 3 x 4 by 4 x 5, and 1 of the transpose of a 6 x 2 by 6 x 3.
CASE(groups_of_products) {
  Handle handle;
  const int m[] = {3, 2}, n[] = {5, 3}, k[] = {4, 6}, sizes[] = {2, 1}, lda[] = {5, 8}, ldb[] = {6, 8}, ldc[] = {5, 4};
  const cublasOperation_t ta[] = {CUBLAS_OP_N, CUBLAS_OP_T}, tb[] = {CUBLAS_OP_N, CUBLAS_OP_N};
  const float alpha[] = {2, -1}, beta[] = {1, 3};
  const Matrix<float> a[] = {{3, 4, 1}, {3, 4, 2}, {6, 2, 3}}, b[] = {{4, 5, 4}, {4, 5, 5}, {6, 3, 6}};
  Matrix<float> c[] = {{3, 5, 7}, {3, 5, 8}, {2, 3, 9}};
  Buffer<float> da0(a[0].data), da1(a[1].data), da2(a[2].data), db0(b[0].data), db1(b[1].data), db2(b[2].data);
  Buffer<float> dc0(c[0].data), dc1(c[1].data), dc2(c[2].data);
  Buffer<float*> pa(std::vector<float*>{da0, da1, da2}), pb(std::vector<float*>{db0, db1, db2});
  Buffer<float*> pc(std::vector<float*>{dc0, dc1, dc2});
  const auto run = [&](const int* leading) {
    return cublasSgemmGroupedBatched(handle, ta, tb, m, n, k, alpha, pa, lda, pb, ldb, beta, pc, leading, 2, sizes);
  };
  const int too_small[] = {5, 1};
  EXPECT_EQ(run(too_small), CUBLAS_STATUS_INVALID_VALUE);  // and nothing was computed
  BLAS_OK(run(ldc));
  BLAS_OK(cublasGemmGroupedBatchedEx(handle, ta, tb, m, n, k, alpha, (const void* const*)pa.get(), CUDA_R_32F, lda,
                                     (const void* const*)pb.get(), CUDA_R_32F, ldb, beta, (void* const*)pc.get(),
                                     CUDA_R_32F, ldc, 2, sizes, CUBLAS_COMPUTE_32F));
  for (int run_number = 0; run_number < 2; ++run_number)
    for (int p = 0; p < 3; ++p) {
      const int g = p / 2;
      for (int i = 0; i < m[g]; ++i)
        for (int j = 0; j < n[g]; ++j) {
          float sum = 0;
          for (int l = 0; l < k[g]; ++l) sum += a[p].Of(ta[g], i, l) * b[p](l, j);
          c[p](i, j) = alpha[g] * sum + beta[g] * c[p](i, j);
        }
    }
  EXPECT_SAME(Plain(dc0.Get()), Plain(c[0].data));
  EXPECT_SAME(Plain(dc1.Get()), Plain(c[1].data));
  EXPECT_SAME(Plain(dc2.Get()), Plain(c[2].data));
  BLAS_OK(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE));
  EXPECT_EQ(run(ldc), CUBLAS_STATUS_NOT_SUPPORTED);
}

CASE(complex_products) {
  using T = std::complex<float>;
  Handle handle;
  const T alpha(2, 1), beta(0, 0);
  const Matrix<T> a(5, 6, 1), b(6, 4, 2);
  Matrix<T> want(5, 4, 3);
  Buffer<T> da(a.data), db(b.data), dc(want.data), de(want.data), ds(want.data);
  BLAS_OK(cublasCgemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 5, 4, 6, At(&alpha), On(da), CUDA_C_32F, a.leading, On(db),
                        CUDA_C_32F, b.leading, At(&beta), On(dc), CUDA_C_32F, want.leading));
  BLAS_OK(cublasCgemm3mEx_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, 5, 4, 6, At(&alpha), On(da), CUDA_C_32F, a.leading,
                             On(db), CUDA_C_32F, b.leading, At(&beta), On(de), CUDA_C_32F, want.leading));
  BLAS_OK(cublasCgemm3mStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 5, 4, 6, At(&alpha), On(da), a.leading, 0,
                                      On(db), b.leading, 0, At(&beta), On(ds), want.leading, 0, 1));
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 4; ++j) {
      T sum = 0;
      for (int k = 0; k < 6; ++k) sum += a(i, k) * b(k, j);
      want(i, j) = alpha * sum;
    }
  EXPECT_SAME(Plain(dc.Get()), Plain(want.data));
  EXPECT_SAME(Plain(de.Get()), Plain(want.data));
  EXPECT_SAME(Plain(ds.Get()), Plain(want.data));
}

// A graph has the memory that its calls need, also if later calls need more.
CASE(captured) {
  Handle handle;
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t instance = nullptr;
  CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  BLAS_OK(cublasSetStream_v2(handle, stream));
  const int n = 20;
  const double one = 1, zero = 0;
  const Matrix<double> a(n, n, 1);
  std::vector<double> x = Smalls<double>(n, 2);
  Matrix<double> b(n, n, 3), c(n, n, 4);
  Buffer<double> da(a.data), dx(x), db(b.data), dc(c.data);
  CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  BLAS_OK(cublasDtrmv_v2(handle, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, n, da, a.leading, dx, 1));
  BLAS_OK(cublasDsymm_v2(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, n, n, &one, da, a.leading, db, b.leading,
                         &zero, dc, c.leading));
  BLAS_OK(cublasDger_v2(handle, n, n, &one, dx, 1, dx, 1, db, b.leading));
  CUDA_OK(cudaStreamEndCapture(stream, &graph));
  CUDA_OK(cudaGraphInstantiate(&instance, graph, 0));
  const Matrix<double> large(100, 100, 5);
  Buffer<double> da_large(large.data), dc_large(large.data);
  for (int launch = 0; launch < 2; ++launch) {
    CUDA_OK(cudaGraphLaunch(instance, stream));
    BLAS_OK(cublasDsymm_v2(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, 100, 100, &one, da_large, large.leading,
                           da_large, large.leading, &zero, dc_large, large.leading));
    for (int i = 0; i < n; ++i)
      for (int j = i + 1; j < n; ++j) x[i] += a(i, j) * x[j];
    Multiply(c, n, 1.0, 0.0, [&](int i, int k, int j) { return (i > k ? a(i, k) : a(k, i)) * b(k, j); });
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) b(i, j) += x[i] * x[j];
  }
  CUDA_OK(cudaStreamSynchronize(stream));
  EXPECT_SAME(Plain(dx.Get()), Plain(x));
  EXPECT_SAME(Plain(db.Get()), Plain(b.data));
  EXPECT_SAME(Plain(dc.Get()), Plain(c.data));
  CUDA_OK(cudaGraphExecDestroy(instance));
  CUDA_OK(cudaGraphDestroy(graph));
  CUDA_OK(cudaStreamDestroy(stream));
}

CASE(nothing_and_what_is_wrong) {
  Handle handle;
  const auto wrong = CUBLAS_STATUS_INVALID_VALUE;
  const auto left = CUBLAS_SIDE_LEFT;
  const auto lower = CUBLAS_FILL_MODE_LOWER;
  const auto plain = CUBLAS_OP_N;
  const float one = 1;
  const std::vector<float> numbers = Smalls<float>(64, 1);
  Buffer<float> a(numbers), c(numbers);
  BLAS_OK(cublasSsymm_v2(handle, left, lower, 0, 4, &one, nullptr, 1, nullptr, 1, &one, nullptr, 1));
  BLAS_OK(cublasSsyr2k_v2(handle, lower, plain, 0, 4, &one, nullptr, 1, nullptr, 1, &one, nullptr, 1));
  BLAS_OK(cublasStpttr(handle, lower, 0, nullptr, nullptr, 1));
  BLAS_OK(cublasSmatinvBatched(handle, 4, nullptr, 4, nullptr, 4, reinterpret_cast<int*>(a.get()), 0));
  EXPECT_EQ(cublasSsymm_v2(nullptr, left, lower, 4, 4, &one, a, 4, a, 4, &one, c, 4), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasSsymm_v2(handle, cublasSideMode_t(4), lower, 4, 4, &one, a, 4, a, 4, &one, c, 4), wrong);
  EXPECT_EQ(cublasSsymm_v2(handle, CUBLAS_SIDE_RIGHT, lower, 4, 5, &one, a, 4, a, 4, &one, c, 4), wrong);
  EXPECT_EQ(cublasSsymm_v2(handle, left, lower, 4, 4, &one, a, 4, a, 3, &one, c, 4), wrong);
  EXPECT_EQ(cublasSsymm_v2(handle, left, lower, 4, 4, &one, a, 4, a, 4, nullptr, c, 4), wrong);
  EXPECT_EQ(cublasSsyr2k_v2(handle, lower, plain, 4, 4, &one, a, 4, a, 3, &one, c, 4), wrong);
  EXPECT_EQ(cublasSsyrkx(handle, lower, plain, 4, -1, &one, a, 4, a, 4, &one, c, 4), wrong);
  EXPECT_EQ(cublasStpttr(handle, lower, 4, a, c, 3), wrong);
  EXPECT_EQ(cublasStrttp(handle, cublasFillMode_t(7), 4, a, 4, c), wrong);
  EXPECT_EQ(cublasSmatinvBatched(handle, 33, nullptr, 33, nullptr, 33, reinterpret_cast<int*>(a.get()), 1), wrong);
  EXPECT_SAME(c.Get(), numbers);
}
