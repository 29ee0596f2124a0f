// cuBLAS: the gemm family in all types and transpositions, against sums computed here. Small integers make every
// result exact whatever the order of summation.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <complex>

#include "tests/cuda/harness.h"

#define BLAS_OK(call) EXPECT_EQ((call), CUBLAS_STATUS_SUCCESS)

struct Handle {
  cublasHandle_t handle = nullptr;
  Handle() { BLAS_OK(cublasCreate(&handle)); }
  ~Handle() { cublasDestroy(handle); }
  operator cublasHandle_t() const { return handle; }
};
// Column-major element (i, j) of op(x).
template <class T>
static T At(const std::vector<T>& x, int ld, bool transposed, int i, int j) {
  return x[transposed ? size_t(i) * ld + j : size_t(j) * ld + i];
}
template <class T>
static std::vector<T> Small(size_t n, int seed) {
  std::vector<T> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = T(float(int((i * 7 + size_t(seed) * 13 + i / 11) % 9) - 4));
  return out;
}
struct Shape {
  int m, n, k, lda, ldb, ldc;
};
static Shape Make(bool ta, bool tb, int m = 19, int n = 23, int k = 17) {
  return {m, n, k, (ta ? k : m) + 3, (tb ? n : k) + 2, m + 1};
}
template <class T>
static std::vector<T> Reference(const Shape& s, bool ta, bool tb, T alpha, const std::vector<T>& a,
                                const std::vector<T>& b, T beta, std::vector<T> c) {
  for (int j = 0; j < s.n; ++j)
    for (int i = 0; i < s.m; ++i) {
      T sum = T(0);
      for (int l = 0; l < s.k; ++l) sum += At(a, s.lda, ta, i, l) * At(b, s.ldb, tb, l, j);
      T& out = c[size_t(j) * s.ldc + i];
      out = beta == T(0) ? alpha * sum : alpha * sum + beta * out;
    }
  return c;
}
static cublasOperation_t Op(bool t) { return t ? CUBLAS_OP_T : CUBLAS_OP_N; }

template <class T, class F>
static void CheckGemm(F gemm) {
  Handle handle;
  for (int way = 0; way < 4; ++way) {
    const bool ta = way & 1, tb = way & 2;
    const Shape s = Make(ta, tb);
    const std::vector<T> a = Small<T>(size_t(s.lda) * (ta ? s.m : s.k), 1),
                         b = Small<T>(size_t(s.ldb) * (tb ? s.k : s.n), 2), c = Small<T>(size_t(s.ldc) * s.n, 3);
    Buffer<T> da(a), db(b), dc(c);
    const T alpha = T(2.0f), beta = T(way == 3 ? 0.0f : -3.0f);
    BLAS_OK(
        gemm(handle, Op(ta), Op(tb), s.m, s.n, s.k, &alpha, da.get(), s.lda, db.get(), s.ldb, &beta, dc.get(), s.ldc));
    EXPECT_SAME(dc.Get(), Reference(s, ta, tb, alpha, a, b, beta, c));
  }
}
CASE(sgemm) { CheckGemm<float>(cublasSgemm); }
CASE(dgemm) { CheckGemm<double>(cublasDgemm); }
CASE(sgemm_ex_by_type) {
  CheckGemm<float>([](cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                      const float* alpha, const float* a, int lda, const float* b, int ldb, const float* beta, float* c,
                      int ldc) {
    return cublasGemmEx(h, ta, tb, m, n, k, alpha, a, CUDA_R_32F, lda, b, CUDA_R_32F, ldb, beta, c, CUDA_R_32F, ldc,
                        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  });
}
template <class H>
static void CheckHalf(cudaDataType type) {
  Handle handle;
  const Shape s = Make(true, false);
  const std::vector<float> a = Small<float>(size_t(s.lda) * s.m, 4), b = Small<float>(size_t(s.ldb) * s.n, 5),
                           c(size_t(s.ldc) * s.n, 0.0f);
  std::vector<H> ha, hb;
  for (float v : a) ha.push_back(H(v));
  for (float v : b) hb.push_back(H(v));
  Buffer<H> da(ha), db(hb), dc(c.size());
  Buffer<float> df(c.size());
  const float one = 1, zero = 0;
  BLAS_OK(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, s.m, s.n, s.k, &one, da.get(), type, s.lda, db.get(), type,
                       s.ldb, &zero, dc.get(), type, s.ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  BLAS_OK(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, s.m, s.n, s.k, &one, da.get(), type, s.lda, db.get(), type,
                       s.ldb, &zero, df.get(), CUDA_R_32F, s.ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  const std::vector<float> want = Reference(s, true, false, 1.0f, a, b, 0.0f, c);
  std::vector<float> got;
  for (H v : dc.Get()) got.push_back(float(v));
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], float(H(want[i])));
  EXPECT_SAME(df.Get(), want);
}
CASE(gemm_ex_half) { CheckHalf<__half>(CUDA_R_16F); }
CASE(gemm_ex_bfloat16) { CheckHalf<__nv_bfloat16>(CUDA_R_16BF); }
// The call itself says so, whatever the mode, and nothing is computed.
CASE(gemm_ex_of_types_that_do_not_go_together) {
  struct Kinds {
    cudaDataType a, b, c;
    cublasComputeType_t compute;
  };
  const Kinds refused[] = {{CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_32F},
                           {CUDA_R_32F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
                           {CUDA_R_32F, CUDA_R_32F, CUDA_R_16F, CUBLAS_COMPUTE_32F},
                           {CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_16F},
                           {CUDA_R_8I, CUDA_R_8I, CUDA_R_8I, CUBLAS_COMPUTE_32I},
                           {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_64F}};
  Handle handle;
  Buffer<double> a(64), b(64), c(std::vector<double>(64, 7.0));
  const double scalars[2] = {1, 0};
  for (const Kinds& kinds : refused) {
    EXPECT_EQ(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, scalars, a.get(), kinds.a, 8, b.get(), kinds.b, 8,
                           scalars, c.get(), kinds.c, 8, kinds.compute, CUBLAS_GEMM_DEFAULT),
              CUBLAS_STATUS_NOT_SUPPORTED);
  }
  EXPECT_SAME(c.Get(), std::vector<double>(64, 7.0));
}
CASE(hgemm) {
  Handle handle;
  const Shape s = Make(false, false, 8, 9, 10);
  const std::vector<float> a = Small<float>(size_t(s.lda) * s.k, 1), b = Small<float>(size_t(s.ldb) * s.n, 2);
  std::vector<__half> ha, hb;
  for (float v : a) ha.push_back(__half(v));
  for (float v : b) hb.push_back(__half(v));
  Buffer<__half> da(ha), db(hb), dc(size_t(s.ldc) * s.n);
  const __half one = __half(1.0f), zero = __half(0.0f);
  BLAS_OK(cublasHgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, s.m, s.n, s.k, &one, da, s.lda, db, s.ldb, &zero, dc, s.ldc));
  const std::vector<float> want = Reference(s, false, false, 1.0f, a, b, 0.0f, std::vector<float>(size_t(s.ldc) * s.n));
  const std::vector<__half> got = dc.Get();
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(float(got[i]), want[i]);
}
CASE(strided_batched) {
  Handle handle;
  constexpr int kBatch = 5;
  const Shape s = Make(false, true, 12, 7, 9);
  const size_t sa = size_t(s.lda) * s.k + 4, sb = size_t(s.ldb) * s.k, sc = size_t(s.ldc) * s.n + 6;
  const std::vector<float> a = Small<float>(sa * kBatch, 1), b = Small<float>(sb * kBatch, 2);
  std::vector<float> c = Small<float>(sc * kBatch, 3);
  Buffer<float> da(a), db(b), dc(c);
  const float alpha = 1, beta = 1;
  BLAS_OK(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_T, s.m, s.n, s.k, &alpha, da, s.lda, (long long)sa,
                                    db, s.ldb, (long long)sb, &beta, dc, s.ldc, (long long)sc, kBatch));
  for (int i = 0; i < kBatch; ++i) {
    const auto part = [&](const std::vector<float>& x, size_t stride) {
      return std::vector<float>(x.begin() + long(i * stride), x.begin() + long((i + 1) * stride));
    };
    const std::vector<float> out = Reference(s, false, true, alpha, part(a, sa), part(b, sb), beta, part(c, sc));
    std::copy(out.begin(), out.end(), c.begin() + long(i * sc));
  }
  EXPECT_SAME(dc.Get(), c);
}
CASE(pointer_array_batched) {
  Handle handle;
  constexpr int kBatch = 4;
  const Shape s = Make(false, false, 6, 5, 7);
  const size_t sa = size_t(s.lda) * s.k, sb = size_t(s.ldb) * s.n, sc = size_t(s.ldc) * s.n;
  const std::vector<float> a = Small<float>(sa * kBatch, 1), b = Small<float>(sb * kBatch, 2);
  std::vector<float> c(sc * kBatch);
  Buffer<float> da(a), db(b), dc(c);
  std::vector<const float*> pa, pb;
  std::vector<float*> pc;
  for (int i = 0; i < kBatch; ++i)
    pa.push_back(da + i * sa), pb.push_back(db + (kBatch - 1 - i) * sb), pc.push_back(dc + i * sc);
  Buffer<const float*> dpa(kBatch), dpb(kBatch);
  Buffer<float*> dpc(kBatch);
  dpa.Set(pa), dpb.Set(pb), dpc.Set(pc);
  const float alpha = 1, beta = 0;
  BLAS_OK(cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, s.m, s.n, s.k, &alpha, dpa, s.lda, dpb, s.ldb, &beta,
                             dpc, s.ldc, kBatch));
  for (int i = 0; i < kBatch; ++i) {
    const std::vector<float> out =
        Reference(s, false, false, alpha, std::vector<float>(a.begin() + long(i * sa), a.begin() + long((i + 1) * sa)),
                  std::vector<float>(b.begin() + long((kBatch - 1 - i) * sb), b.begin() + long((kBatch - i) * sb)),
                  beta, std::vector<float>(sc));
    std::copy(out.begin(), out.end(), c.begin() + long(i * sc));
  }
  EXPECT_SAME(dc.Get(), c);
}
CASE(scalars_on_the_device) {
  Handle handle;
  const Shape s = Make(false, false, 5, 6, 7);
  const std::vector<float> a = Small<float>(size_t(s.lda) * s.k, 1), b = Small<float>(size_t(s.ldb) * s.n, 2),
                           c = Small<float>(size_t(s.ldc) * s.n, 3);
  Buffer<float> da(a), db(b), dc(c), scalars(std::vector<float>{3, 2});
  BLAS_OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
  BLAS_OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, s.m, s.n, s.k, scalars, da, s.lda, db, s.ldb, scalars + 1, dc,
                      s.ldc));
  EXPECT_SAME(dc.Get(), Reference(s, false, false, 3.0f, a, b, 2.0f, c));
}
__global__ void Fill(float* p, int n, float v) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = v;
}
CASE(gemm_follows_its_stream) {
  Handle handle;
  cudaStream_t stream;
  CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  BLAS_OK(cublasSetStream(handle, stream));
  cudaStream_t seen = nullptr;
  BLAS_OK(cublasGetStream(handle, &seen));
  EXPECT(seen == stream);
  constexpr int kN = 64;
  Buffer<float> a(kN * kN), b(kN * kN), c(kN * kN);
  CUDA_OK(cudaDeviceSynchronize());
  const float one = 1, zero = 0;
  for (int i = 0; i < 5; ++i) {
    Fill<<<kN * kN / 128, 128, 0, stream>>>(a, kN * kN, float(i));
    Fill<<<kN * kN / 128, 128, 0, stream>>>(b, kN * kN, 2);
    BLAS_OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, kN, kN, kN, &one, a, kN, b, kN, i ? &one : &zero, c, kN));
  }
  CUDA_OK(cudaStreamSynchronize(stream));
  EXPECT_SAME(c.Get(), std::vector<float>(kN * kN, 2.0f * kN * 10));
  CUDA_OK(cudaStreamDestroy(stream));
}
CASE(bad_arguments) {
  Handle handle;
  Buffer<float> p(100);
  const float one = 1;
  EXPECT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, -1, 5, 5, &one, p, 5, p, 5, &one, p, 5),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 5, 5, 5, &one, p, 3, p, 5, &one, p, 5),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, 5, 5, 5, &one, p, 5, p, 5, &one, p, 5),
            CUBLAS_STATUS_NOT_INITIALIZED);
  BLAS_OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 0, 5, 5, &one, p, 5, p, 5, &one, p, 5));
  int version = 0;
  BLAS_OK(cublasGetVersion(handle, &version));
  EXPECT(version >= 120000);
}
