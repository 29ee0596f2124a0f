// Tensor cores: products of matrices by wmma in every type, and as libraries write them: mma.sync, ldmatrix and
// cp.async in two stages; attention whose probabilities stay in registers from one product to the next. Compiled for
// compute_80.
//
// GPUs do not say in which order they add, nor how they round on the way, but each addition loses less than a unit in
// the last place of the sum of magnitudes, whatever the order: so much is allowed, times the additions.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include "tests/cuda/harness.h"

namespace wmma = nvcuda::wmma;
using u32 = uint32_t;

// --- matrices on the host ---

template <class T>
double ToDouble(T value) {
  return double(float(value));
}
template <>
double ToDouble(double value) {
  return value;
}
template <class T>
T Round(double value) {
  return T(float(value));
}
template <>
double Round(double value) {
  return value;
}
template <>
int8_t Round(double value) {
  return int8_t(value * 127);
}
template <>
int Round(double value) {
  return int(value * 1000);
}

template <class T>
std::vector<T> RandomMatrix(size_t count, uint64_t seed) {
  harness::Random random(seed);
  std::vector<T> out(count);
  for (T& element : out) element = Round<T>(random.Uniform() * 2 - 1);
  return out;
}

// A product, exactly, and the sum of its terms' magnitudes.
struct Term {
  double exact = 0, magnitude = 0;
  void Add(double x) { exact += x, magnitude += std::fabs(x); }
};
// Where element (row, column) is.
using Index = int (*)(int row, int column, int stride);
static int ByRows(int row, int column, int stride) { return row * stride + column; }
static int ByColumns(int row, int column, int stride) { return column * stride + row; }

template <class A, class B>
std::vector<Term> Multiply(const std::vector<A>& a, Index at_a, int lda, const std::vector<B>& b, Index at_b, int ldb,
                           int m, int n, int k) {
  std::vector<Term> out(size_t(m) * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      for (int l = 0; l < k; ++l) out[i * n + j].Add(ToDouble(a[at_a(i, l, lda)]) * ToDouble(b[at_b(l, j, ldb)]));
  return out;
}

template <class T>
void ExpectNear(const std::vector<T>& got, const std::vector<Term>& want, double per_magnitude, double absolute,
                const char* file, int line) {
  for (size_t i = 0; i < want.size(); ++i) {
    const double off = std::fabs(ToDouble(got[i]) - want[i].exact);
    if (off <= per_magnitude * want[i].magnitude + absolute) continue;
    return harness::Fail(file, line,
                         "element " + std::to_string(i) + ": got " + harness::Show(ToDouble(got[i])) + ", want " +
                             harness::Show(want[i].exact));
  }
}

// --- wmma ---

constexpr int kRows = 64, kColumns = 96, kInner = 80;

template <class Fragment, class Element>
struct Loader {
  template <class Memory>
  __device__ static void Load(Fragment& fragment, const Memory* from, int stride) {
    wmma::load_matrix_sync(fragment, from, stride);
  }
};
template <class Fragment>
struct Loader<Fragment, wmma::precision::tf32> {
  __device__ static void Load(Fragment& fragment, const float* from, int stride) {
    wmma::load_matrix_sync(fragment, from, stride);
    for (int i = 0; i < fragment.num_elements; ++i) fragment.x[i] = wmma::__float_to_tf32(fragment.x[i]);
  }
};

// c = 2 a b - c, a tile for each warp. a goes through shared memory; c and d are by columns.
template <int M, int N, int K, class Element, class Memory, class Sum, class LayoutA, class LayoutB>
__global__ void Wmma(const Memory* a, int lda, const Memory* b, int ldb, Sum* c, int ldc, int rows, int columns,
                     int inner) {
  __shared__ alignas(32) Memory staged[4][M * K];
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  const int tile = int(blockIdx.x) * 4 + warp, across = columns / N;
  if (tile >= rows / M * across) return;
  const int row = tile / across * M, column = tile % across * N;
  wmma::fragment<wmma::matrix_a, M, N, K, Element, LayoutA> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, Element, LayoutB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, Sum> sum, before;
  wmma::fill_fragment(sum, Sum(0));
  constexpr bool kRowsA = std::is_same<LayoutA, wmma::row_major>::value,
                 kRowsB = std::is_same<LayoutB, wmma::row_major>::value;
  for (int k = 0; k < inner; k += K) {
    for (int i = lane; i < M * K; i += 32)
      staged[warp][i] = kRowsA ? a[(row + i / K) * lda + k + i % K] : a[(k + i / M) * lda + row + i % M];
    __syncwarp();
    Loader<decltype(fa), Element>::Load(fa, staged[warp], kRowsA ? K : M);
    Loader<decltype(fb), Element>::Load(fb, b + (kRowsB ? k * ldb + column : column * ldb + k), ldb);
    wmma::mma_sync(sum, fa, fb, sum);
    __syncwarp();
  }
  Sum* to = c + column * ldc + row;
  wmma::load_matrix_sync(before, to, ldc, wmma::mem_col_major);
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = Sum(2) * sum.x[i] - before.x[i];
  wmma::store_matrix_sync(to, sum, ldc, wmma::mem_col_major);
}

// `per_magnitude`, `absolute`: what may be lost.
template <int M, int N, int K, class Element, class Memory, class Sum, class LayoutA, class LayoutB>
void TestWmma(double per_magnitude, double absolute, const char* file, int line) {
  constexpr bool kRowsA = std::is_same<LayoutA, wmma::row_major>::value,
                 kRowsB = std::is_same<LayoutB, wmma::row_major>::value;
  const int pad = int(16 / sizeof(Memory));
  const int lda = (kRowsA ? kInner : kRows) + pad, ldb = (kRowsB ? kColumns : kInner) + 2 * pad, ldc = kRows + 8;
  const auto a = RandomMatrix<Memory>(size_t(lda) * (kRowsA ? kRows : kInner), 1);
  const auto b = RandomMatrix<Memory>(size_t(ldb) * (kRowsB ? kInner : kColumns), 2);
  const auto c = RandomMatrix<Sum>(size_t(ldc) * kColumns, 3);
  Buffer<Memory> da(a), db(b);
  Buffer<Sum> dc(c);
  const int tiles = kRows / M * (kColumns / N);
  Wmma<M, N, K, Element, Memory, Sum, LayoutA, LayoutB>
      <<<(tiles + 3) / 4, 128>>>(da, lda, db, ldb, dc, ldc, kRows, kColumns, kInner);
  CUDA_OK(cudaGetLastError());
  const std::vector<Sum> got = dc.Get();
  const std::vector<Term> products =
      Multiply(a, kRowsA ? ByRows : ByColumns, lda, b, kRowsB ? ByRows : ByColumns, ldb, kRows, kColumns, kInner);
  std::vector<Term> want(got.size());
  for (int j = 0; j < kColumns; ++j)
    for (int i = 0; i < ldc; ++i) {
      Term& term = want[size_t(j) * ldc + i];
      const double before = ToDouble(c[size_t(j) * ldc + i]);
      if (i >= kRows) {  // untouched
        term = {before, 0};
        continue;
      }
      const Term& product = products[size_t(i) * kColumns + j];
      term = {2 * product.exact - before, 2 * product.magnitude + std::fabs(before)};
    }
  ExpectNear(got, want, per_magnitude, absolute, file, line);
}
#define TEST_WMMA(per_magnitude, absolute, ...) TestWmma<__VA_ARGS__>(per_magnitude, absolute, __FILE__, __LINE__)

using Row = wmma::row_major;
using Column = wmma::col_major;
// Additions of one element: products, and two of the end. Of f32 with a bit less than it has, as GPUs do it.
constexpr double kSingle = (kInner + 2) * 0x1p-22, kDouble = (kInner + 2) * 0x1p-52;
// Sums are rounded to f16 by each of kInner / 16 instructions, and twice at the end.
constexpr double kHalf = (kInner / 16 + 2) * 0x1p-10 + kSingle;

CASE(wmma_f16) {
  TEST_WMMA(kSingle, 0, 16, 16, 16, half, half, float, Row, Column);
  TEST_WMMA(kSingle, 0, 8, 32, 16, half, half, float, Column, Row);
}
CASE(wmma_f16_sums) { TEST_WMMA(kHalf, 0x1p-24, 16, 16, 16, half, half, half, Row, Row); }
CASE(wmma_bf16) { TEST_WMMA(kSingle, 0, 32, 8, 16, __nv_bfloat16, __nv_bfloat16, float, Row, Row); }
// Each factor is rounded to 11 bits.
CASE(wmma_tf32) {
  TEST_WMMA(kSingle + 2 * 0x1.01p-11, 0, 16, 16, 8, wmma::precision::tf32, float, float, Column, Column);
}
CASE(wmma_f64) { TEST_WMMA(kDouble, 0, 8, 8, 4, double, double, double, Row, Column); }
CASE(wmma_s8) { TEST_WMMA(0, 0, 16, 16, 16, signed char, signed char, int, Row, Column); }

// --- mma.sync, ldmatrix, cp.async ---

__device__ u32 SharedAddress(const void* at) { return u32(__cvta_generic_to_shared(at)); }
__device__ void LoadMatrices(u32 (&to)[4], const half* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(SharedAddress(row)));
}
__device__ void LoadTransposed(u32 (&to)[4], const half* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(SharedAddress(row)));
}
__device__ void MultiplyAdd(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// A block makes 64x64 of c, its four warps 32x32 each. a is m x k, b k x n, both by rows, as is c.
constexpr int kBlock = 64, kStep = 32, kPadA = kStep + 8, kPadB = kBlock + 8;
__global__ void Pipelined(const half* a, const half* b, float* c, int n, int k) {
  __shared__ alignas(16) half sa[2][kBlock * kPadA], sb[2][kStep * kPadB];
  const int thread = int(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int row = int(blockIdx.y) * kBlock, column = int(blockIdx.x) * kBlock;
  const auto fetch = [&](int stage, int from) {
    for (int i = thread; i < 256; i += 128) {
      __pipeline_memcpy_async(&sa[stage][i / 4 * kPadA + i % 4 * 8], a + (row + i / 4) * k + from + i % 4 * 8, 16);
      __pipeline_memcpy_async(&sb[stage][i / 8 * kPadB + i % 8 * 8], b + (from + i / 8) * n + column + i % 8 * 8, 16);
    }
    __pipeline_commit();
  };
  float sum[2][4][4] = {};
  fetch(0, 0);
  for (int at = 0; at < k; at += kStep) {
    const int stage = at / kStep % 2;
    if (at + kStep < k)
      fetch(1 - stage, at + kStep);
    else
      __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    for (int inner = 0; inner < kStep; inner += 16) {
      u32 fa[2][4], fb[2][4];
      for (int i = 0; i < 2; ++i) {
        LoadMatrices(fa[i], &sa[stage][(warp / 2 * 32 + i * 16 + lane % 16) * kPadA + inner + lane / 16 * 8]);
        LoadTransposed(fb[i], &sb[stage][(inner + lane % 16) * kPadB + warp % 2 * 32 + i * 16 + lane / 16 * 8]);
      }
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j) MultiplyAdd(sum[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j) {
      float* to = c + (row + warp / 2 * 32 + i * 16 + lane / 4) * n + column + warp % 2 * 32 + j * 8 + lane % 4 * 2;
      *reinterpret_cast<float2*>(to) = make_float2(sum[i][j][0], sum[i][j][1]);
      *reinterpret_cast<float2*>(to + 8 * n) = make_float2(sum[i][j][2], sum[i][j][3]);
    }
}
CASE(mma_pipelined_gemm) {
  constexpr int kM = 128, kN = 192, kK = 160;
  const auto a = RandomMatrix<half>(kM * kK, 5), b = RandomMatrix<half>(kK * kN, 6);
  Buffer<half> da(a), db(b);
  Buffer<float> dc(kM * kN);
  Pipelined<<<dim3(kN / kBlock, kM / kBlock), 128>>>(da, db, dc, kN, kK);
  CUDA_OK(cudaGetLastError());
  ExpectNear(dc.Get(), Multiply(a, ByRows, kK, b, ByRows, kN, kM, kN, kK), kK * 0x1p-22, 0, __FILE__, __LINE__);
}

// --- attention ---

// A warp's 16 queries of 32 numbers against `keys` keys, 16 at a time. Probabilities never leave the registers: those
// of a product's result are those of the next one's left factor.
constexpr int kHead = 32, kPad = kHead + 8;
__device__ u32 Pack(float low, float high) {
  const half2 both = __floats2half2_rn(low, high);
  return *reinterpret_cast<const u32*>(&both);
}
__global__ void Attention(const half* q, const half* keys, const half* values, float* out, int count) {
  __shared__ alignas(16) half tile[2][16 * kPad];
  const int lane = int(threadIdx.x), first = int(blockIdx.x) * 16;
  const auto fetch = [&](half* to, const half* from) {
    for (int i = 0; i < 2; ++i) {
      const int at = lane + 32 * i;
      __pipeline_memcpy_async(to + at / 4 * kPad + at % 4 * 8, from + at * 8, 16);
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();
  };
  u32 query[2][4];
  fetch(tile[0], q + first * kHead);
  for (int i = 0; i < 2; ++i) LoadMatrices(query[i], &tile[0][lane % 16 * kPad + i * 16 + lane / 16 * 8]);
  float sum[4][4] = {}, most[2] = {-INFINITY, -INFINITY}, total[2] = {};
  const float scale = rsqrtf(float(kHead));
  for (int at = 0; at < count; at += 16) {
    __syncwarp();
    fetch(tile[0], keys + at * kHead);
    fetch(tile[1], values + at * kHead);
    float score[2][4] = {};
    for (int j = 0; j < 2; ++j) {
      u32 key[4];  // eight keys, by 8 numbers
      LoadMatrices(key, &tile[0][(j * 8 + lane % 8) * kPad + lane / 8 * 8]);
      MultiplyAdd(score[j], query[0], key[0], key[1]);
      MultiplyAdd(score[j], query[1], key[2], key[3]);
    }
    for (int r = 0; r < 2; ++r) {  // rows lane / 4 and that plus 8
      float high =
          fmaxf(fmaxf(score[0][2 * r], score[0][2 * r + 1]), fmaxf(score[1][2 * r], score[1][2 * r + 1])) * scale;
      high = fmaxf(high, __shfl_xor_sync(~0u, high, 1));
      high = fmaxf(fmaxf(high, __shfl_xor_sync(~0u, high, 2)), most[r]);
      const float shrink = expf(most[r] - high);
      most[r] = high;
      float part = 0;
      for (int j = 0; j < 2; ++j)
        for (int e = 2 * r; e < 2 * r + 2; ++e) part += score[j][e] = expf(score[j][e] * scale - high);
      part += __shfl_xor_sync(~0u, part, 1);
      part += __shfl_xor_sync(~0u, part, 2);
      total[r] = total[r] * shrink + part;
      for (int j = 0; j < 4; ++j) sum[j][2 * r] *= shrink, sum[j][2 * r + 1] *= shrink;
    }
    const u32 p[4] = {Pack(score[0][0], score[0][1]), Pack(score[0][2], score[0][3]), Pack(score[1][0], score[1][1]),
                      Pack(score[1][2], score[1][3])};
    for (int i = 0; i < 2; ++i) {
      u32 value[4];
      LoadTransposed(value, &tile[1][lane % 16 * kPad + i * 16 + lane / 16 * 8]);
      MultiplyAdd(sum[2 * i], p, value[0], value[1]);
      MultiplyAdd(sum[2 * i + 1], p, value[2], value[3]);
    }
  }
  for (int j = 0; j < 4; ++j)
    for (int e = 0; e < 4; ++e)
      out[(first + lane / 4 + e / 2 * 8) * kHead + j * 8 + lane % 4 * 2 + e % 2] = sum[j][e] / total[e / 2];
}
CASE(mma_attention) {
  constexpr int kQueries = 64, kKeys = 112;
  const auto q = RandomMatrix<half>(kQueries * kHead, 7), keys = RandomMatrix<half>(kKeys * kHead, 8),
             values = RandomMatrix<half>(kKeys * kHead, 9);
  Buffer<half> dq(q), dk(keys), dv(values);
  Buffer<float> out(kQueries * kHead);
  Attention<<<kQueries / 16, 32>>>(dq, dk, dv, out, kKeys);
  CUDA_OK(cudaGetLastError());
  std::vector<Term> want(kQueries * kHead);
  for (int i = 0; i < kQueries; ++i) {
    double total = 0;
    std::vector<double> p(kKeys);
    for (int j = 0; j < kKeys; ++j) {
      double score = 0;
      for (int d = 0; d < kHead; ++d) score += ToDouble(q[i * kHead + d]) * ToDouble(keys[j * kHead + d]);
      total += p[j] = std::exp(score / std::sqrt(double(kHead)));
    }
    for (int j = 0; j < kKeys; ++j)
      for (int d = 0; d < kHead; ++d) want[i * kHead + d].Add(p[j] / total * ToDouble(values[j * kHead + d]));
  }
  // Probabilities are rounded to 11 bits. All else is single precision: a score, of at most 6, is off by 6 (kHead + 2)
  // units, its exponential by as much and two more, the sums by kKeys units and one for each time they shrink.
  ExpectNear(out.Get(), want, 0x1p-11 + (2 * 6 * (kHead + 2) + 2 * kKeys + 40) * 0x1p-22, 0, __FILE__, __LINE__);
}

// --- other types and shapes, with numbers of which every sum is exact ---

__global__ void Small(const int8_t* a, const int8_t* b, int* s8, float* tf32, double* f64, float* bf16, half* f16) {
  const int lane = int(threadIdx.x), g = lane / 4, t = lane % 4;
  const auto at_a = [&](int row, int k) { return int(a[row * 32 + k]); };        // 16 x 32
  const auto at_b = [&](int k, int column) { return int(b[column * 32 + k]); };  // 32 x 8
  u32 ia[4], ib[2];
  for (int i = 0; i < 4; ++i) ia[i] = *reinterpret_cast<const u32*>(&a[(g + i % 2 * 8) * 32 + t * 4 + i / 2 * 16]);
  for (int i = 0; i < 2; ++i) ib[i] = *reinterpret_cast<const u32*>(&b[g * 32 + t * 4 + i * 16]);
  int c[4] = {2147480000, 2, 3, 4};
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, "
      "%1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(ia[0]), "r"(ia[1]), "r"(ia[2]), "r"(ia[3]), "r"(ib[0]), "r"(ib[1]));
  u32 fa[4], fb[2];
  for (int i = 0; i < 4; ++i) fa[i] = __float_as_uint(float(at_a(g + i % 2 * 8, t + i / 2 * 4)));
  for (int i = 0; i < 2; ++i) fb[i] = __float_as_uint(float(at_b(t + i * 4, g)));
  float d[4] = {};
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
  double e[2] = {};
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(e[0]), "+d"(e[1])
               : "d"(double(at_a(g, t))), "d"(double(at_b(t, g))));
  const auto brain = [](float x, float y) {
    const __nv_bfloat162 both = __floats2bfloat162_rn(x, y);
    return *reinterpret_cast<const u32*>(&both);
  };
  float h[4] = {};
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(h[0]), "+f"(h[1]), "+f"(h[2]), "+f"(h[3])
               : "r"(brain(float(at_a(g, 2 * t)), float(at_a(g, 2 * t + 1)))),
                 "r"(brain(float(at_a(g + 8, 2 * t)), float(at_a(g + 8, 2 * t + 1)))),
                 "r"(brain(float(at_b(2 * t, g)), float(at_b(2 * t + 1, g)))));
  // Small enough for f16.
  const auto halves = [](int x, int y) { return Pack(float(x % 8), float(y % 8)); };
  u32 sums[2] = {};
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
               : "+r"(sums[0]), "+r"(sums[1])
               : "r"(halves(at_a(g, 2 * t), at_a(g, 2 * t + 1))),
                 "r"(halves(at_a(g + 8, 2 * t), at_a(g + 8, 2 * t + 1))),
                 "r"(halves(at_b(2 * t, g), at_b(2 * t + 1, g))));
  for (int i = 0; i < 4; ++i) {
    const int to = (g + i / 2 * 8) * 8 + 2 * t + i % 2;
    s8[to] = c[i], tf32[to] = d[i], bf16[to] = h[i];
    f16[to] = __ushort_as_half(static_cast<unsigned short>(sums[i / 2] >> i % 2 * 16));
    if (i < 2) f64[to] = e[i];
  }
}
CASE(mma_types) {
  const auto a = RandomMatrix<int8_t>(16 * 32, 10), b = RandomMatrix<int8_t>(8 * 32, 11);
  Buffer<int8_t> da(a), db(b);
  Buffer<int> s8(128);
  Buffer<float> tf32(128), bf16(128);
  Buffer<double> f64(64);
  Buffer<half> f16(128);
  Small<<<1, 32>>>(da, db, s8, tf32, f64, bf16, f16);
  CUDA_OK(cudaGetLastError());
  std::vector<int> sums(128);
  std::vector<float> eight(128), small(128);
  std::vector<double> four(64);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      const int at = i * 8 + j, element = i / 8 * 2 + j % 2;
      int64_t all = element == 0 ? 2147480000 : element + 1;
      for (int k = 0; k < 32; ++k) {
        const int x = a[i * 32 + k], y = b[j * 32 + k];
        all += x * y;
        if (k < 8) eight[at] += float(x * y), small[at] += float(x % 8 * (y % 8));
        if (k < 4 && i < 8) four[at] += x * y;
      }
      sums[at] = int(std::min<int64_t>(std::max<int64_t>(all, INT32_MIN), INT32_MAX));
    }
  EXPECT_SAME(s8.Get(), sums);
  EXPECT_SAME(tf32.Get(), eight);
  EXPECT_SAME(f64.Get(), four);
  EXPECT_SAME(bf16.Get(), eight);
  std::vector<float> got;
  for (const half& element : f16.Get()) got.push_back(float(element));
  EXPECT_SAME(got, small);
}

// Four products of 8x4 by 4x8, of eight lanes each.
__global__ void Quads(const int8_t* a, const int8_t* b, float* out) {
  const int lane = int(threadIdx.x), quad = lane / 4 % 4, line = lane % 4 + lane / 16 * 4;
  const int8_t *row = a + (quad * 8 + line) * 4, *column = b + (quad * 8 + line) * 4;
  float c[8] = {};
  asm volatile(
      "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9}, {%10, %11}, {%0, "
      "%1, %2, %3, %4, %5, %6, %7};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7])
      : "r"(Pack(row[0], row[1])), "r"(Pack(row[2], row[3])), "r"(Pack(column[0], column[1])),
        "r"(Pack(column[2], column[3])));
  for (int i = 0; i < 8; ++i)
    out[quad * 64 + ((lane & 1) + (i & 2) + lane / 16 * 4) * 8 + (i & 4) + (lane & 2) + (i & 1)] = c[i];
}
CASE(mma_of_quads) {
  const auto a = RandomMatrix<int8_t>(4 * 32, 12), b = RandomMatrix<int8_t>(4 * 32, 13);
  Buffer<int8_t> da(a), db(b);
  Buffer<float> out(256);
  Quads<<<1, 32>>>(da, db, out);
  CUDA_OK(cudaGetLastError());
  std::vector<float> want(256);
  for (int i = 0; i < 256; ++i)
    for (int k = 0; k < 4; ++k) want[i] += float(a[i / 8 * 4 + k] * b[(i / 64 * 8 + i % 8) * 4 + k]);
  EXPECT_SAME(out.Get(), want);
}

// --- sparse matrices: half of each row of a, in random places; with numbers of which every sum is exact ---

// A lane's registers: a, b, metadata; c and d.
#define SPARSE_KERNEL(name, words, shape_and_types, a_and_b, selector, Sum, constraint)                   \
  __global__ void name(const u32* in, Sum* out) {                                                         \
    u32 v[2 * words + 1];                                                                                 \
    for (int i = 0; i < 2 * words + 1; ++i) v[i] = in[threadIdx.x * (2 * words + 1) + i];                 \
    Sum c[4];                                                                                             \
    for (int i = 0; i < 4; ++i) c[i] = Sum(i);                                                            \
    asm volatile("mma.sp::ordered_metadata.sync.aligned." shape_and_types " {%0, %1, %2, %3}, " a_and_b   \
                 ", {%0, %1, %2, %3}, %4, " selector ";"                                                  \
                 : "+" constraint(c[0]), "+" constraint(c[1]), "+" constraint(c[2]), "+" constraint(c[3]) \
                 : "r"(v[2 * words]), SPARSE_INPUTS_##words);                                             \
    for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = c[i];                                          \
  }
#define SPARSE_INPUTS_2 "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3])
#define SPARSE_INPUTS_4 SPARSE_INPUTS_2, "r"(v[4]), "r"(v[5]), "r"(v[6]), "r"(v[7])
#define TWO_EACH "{%5, %6}, {%7, %8}"
#define FOUR_EACH "{%5, %6, %7, %8}, {%9, %10, %11, %12}"
SPARSE_KERNEL(SparseF16, 2, "m16n8k16.row.col.f32.f16.f16.f32", TWO_EACH, "2", float, "f")
SPARSE_KERNEL(SparseLongF16, 4, "m16n8k32.row.col.f32.f16.f16.f32", FOUR_EACH, "1", float, "f")
SPARSE_KERNEL(SparseTf32, 2, "m16n8k8.row.col.f32.tf32.tf32.f32", TWO_EACH, "3", float, "f")
SPARSE_KERNEL(SparseLongTf32, 4, "m16n8k16.row.col.f32.tf32.tf32.f32", FOUR_EACH, "0", float, "f")
SPARSE_KERNEL(SparseS8, 2, "m16n8k32.row.col.s32.s8.s8.s32", TWO_EACH, "1", int, "r")
SPARSE_KERNEL(SparseLongS8, 4, "m16n8k64.row.col.s32.s8.s8.s32", FOUR_EACH, "0", int, "r")
SPARSE_KERNEL(SparseS4, 2, "m16n8k64.row.col.s32.s4.s4.s32", TWO_EACH, "1", int, "r")
SPARSE_KERNEL(SparseLongS4, 4, "m16n8k128.row.col.s32.s4.s4.s32", FOUR_EACH, "0", int, "r")

// The bits of a small number.
static u32 Encode(int number, int bits) {
  const float value = float(number);
  u32 all = u32(number);
  if (bits == 32) std::memcpy(&all, &value, 4);
  if (bits == 16) all = __half_as_ushort(__float2half(value));
  return bits == 32 ? all : all & ((1u << bits) - 1);
}

template <class Sum>
void TestSparse(void (*kernel)(const u32*, Sum*), int k, int bits, int selector, const char* file, int line) {
  harness::Random random{uint64_t(100 * k + bits)};
  // Of a chunk of `chunk` columns half are there, `together` at a time.
  const int together = bits == 4 ? 2 : 1, chunk = bits == 32 ? 2 : 4 * together, chunks = k / chunk;
  std::vector<int> a(16 * k), stored(16 * k / 2), b(8 * k);
  std::vector<uint64_t> indices(16);  // of a row: a nibble for each chunk
  for (int& x : b) x = random.Below(16) - 8;
  for (int row = 0; row < 16; ++row)
    for (int c = 0; c < chunks; ++c) {
      const int second = 1 + random.Below(3), first = random.Below(second);  // of four
      int* to = &stored[row * k / 2 + c * chunk / 2];
      for (int i = 0; i < chunk / 2; ++i) {
        const int column = chunk == 2 ? second / 2 : (i / together == 0 ? first : second) * together + i % together;
        a[row * k + c * chunk + column] = to[i] = 1 + random.Below(7);
      }
      const int nibble = chunk > 2 ? first | second << 2 : second / 2 == 0 ? 0b0100 : 0b1110;
      indices[row] |= uint64_t(nibble) << 4 * c;
    }

  const int each = 32 / bits, words = k / each / 4;  // elements in a register, registers of a and of b
  std::vector<u32> in;
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int matrix = 0; matrix < 2; ++matrix)
      for (int r = 0; r < words; ++r) {
        u32 all = 0;
        for (int e = 0; e < each; ++e) {
          const int number = matrix == 0 ? stored[(g + r % 2 * 8) * k / 2 + (r / 2 * 4 + t) * each + e]
                                         : b[g * k + (r * 4 + t) * each + e];
          all |= Encode(number, bits) << bits * e;
        }
        in.push_back(all);
      }
    // Of small elements a lane has 8 chunks of one row, else 4 of two rows. Of lanes not selected it does not count.
    const int lanes = chunks * 4 / 32 * 2 + (chunks == 4), from = (t - selector * lanes) * (bits < 16 ? 1 : 4);
    u32 metadata = u32(random.Next());
    if (t / lanes == selector)
      metadata = bits < 16 ? u32(indices[g + t % 2 * 8] >> from / 2 * 32)
                           : (indices[g] >> 4 * from & 0xffff) | (indices[g + 8] >> 4 * from & 0xffff) << 16;
    in.push_back(metadata);
  }

  Buffer<u32> device_in(in);
  Buffer<Sum> out(128);
  kernel<<<1, 32>>>(device_in, out);
  CUDA_OK(cudaGetLastError());
  const std::vector<Sum> got = out.Get();
  for (int at = 0; at < 128; ++at) {
    const int lane = at / 4, i = at % 4, row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    int want = i;
    for (int l = 0; l < k; ++l) want += a[row * k + l] * b[column * k + l];
    harness::ExpectEqual(got[at], want, "an element of a sparse product", file, line);
  }
}
#define TEST_SPARSE(...) TestSparse(__VA_ARGS__, __FILE__, __LINE__)

CASE(mma_sparse_floats) {
  TEST_SPARSE(SparseF16, 16, 16, 2);
  TEST_SPARSE(SparseLongF16, 32, 16, 1);
  TEST_SPARSE(SparseTf32, 8, 32, 3);
  TEST_SPARSE(SparseLongTf32, 16, 32, 0);
}
CASE(mma_sparse_integers) {
  TEST_SPARSE(SparseS8, 32, 8, 1);
  TEST_SPARSE(SparseLongS8, 64, 8, 0);
  TEST_SPARSE(SparseS4, 64, 4, 1);
  TEST_SPARSE(SparseLongS4, 128, 4, 0);
}
