// Every atomic operation, on global and shared memory, from many blocks at once.
#include <cuda_fp16.h>

#include "tests/cuda/harness.h"

using u32 = uint32_t;
using u64 = unsigned long long;

constexpr int kBlocks = 16, kThreads = 96, kTotal = kBlocks * kThreads;
__device__ int Id() { return int(blockIdx.x * blockDim.x + threadIdx.x); }
static int64_t SumTo(int64_t n) { return n * (n - 1) / 2; }

template <class T>
__global__ void Add(T* cell) {
  atomicAdd(cell, T(Id()));
}
template <class T>
static void CheckAdd() {
  Buffer<T> cell(1);
  Add<T><<<kBlocks, kThreads>>>(cell);
  EXPECT_EQ(cell.Get()[0], T(SumTo(kTotal)));
}
CASE(add_int) { CheckAdd<int>(); }
CASE(add_unsigned) { CheckAdd<u32>(); }
CASE(add_u64) { CheckAdd<u64>(); }
CASE(add_float) { CheckAdd<float>(); }
CASE(add_double) { CheckAdd<double>(); }

// The values returned are all different: a ticket counter.
__global__ void Tickets(u32* counter, u32* taken) { taken[atomicAdd(counter, 1u)] += 1; }
CASE(add_returns_old_value) {
  Buffer<u32> counter(1), taken(kTotal);
  Tickets<<<kBlocks, kThreads>>>(counter, taken);
  EXPECT_SAME(taken.Get(), std::vector<u32>(kTotal, 1));
}

__global__ void SubExch(int* sub, u32* exchanged, u32* seen) {
  atomicSub(sub, Id());
  const u32 old = atomicExch(exchanged, u32(Id()));
  if (old != ~0u) atomicAdd(&seen[old], 1u);
}
CASE(sub_and_exch) {
  Buffer<int> sub(1);
  Buffer<u32> exchanged(std::vector<u32>{~0u}), seen(kTotal);
  SubExch<<<kBlocks, kThreads>>>(sub, exchanged, seen);
  EXPECT_EQ(sub.Get()[0], -int(SumTo(kTotal)));
  u32 last = 0;
  cudaMemcpy(&last, exchanged, 4, cudaMemcpyDeviceToHost);
  std::vector<u32> counts(kTotal);
  cudaMemcpy(counts.data(), seen, 4 * kTotal, cudaMemcpyDeviceToHost);
  ++counts[last];  // every value was replaced once, but the last
  EXPECT_SAME(counts, std::vector<u32>(kTotal, 1));
}

__global__ void MinMax(int* s, u32* u, long long* s64, u64* u64s) {
  const int i = (Id() * 7919) % kTotal - kTotal / 2;
  atomicMin(&s[0], i), atomicMax(&s[1], i);
  atomicMin(&u[0], u32(i)), atomicMax(&u[1], u32(i));
  atomicMin(&s64[0], i * 10000000000ll), atomicMax(&s64[1], i * 10000000000ll);
  atomicMin(&u64s[0], u64(i)), atomicMax(&u64s[1], u64(i));
}
CASE(min_and_max) {
  Buffer<int> s(std::vector<int>{1000000, -1000000});
  Buffer<u32> u(std::vector<u32>{~0u, 0});
  Buffer<long long> s64(std::vector<long long>{1ll << 60, -(1ll << 60)});
  Buffer<u64> u64s(std::vector<u64>{~0ull, 0});
  MinMax<<<kBlocks, kThreads>>>(s, u, s64, u64s);
  const int low = -kTotal / 2, high = kTotal / 2 - 1;
  EXPECT_SAME(s.Get(), (std::vector<int>{low, high}));
  EXPECT_SAME(u.Get(), (std::vector<u32>{0, ~0u}));
  EXPECT_SAME(s64.Get(), (std::vector<long long>{low * 10000000000ll, high * 10000000000ll}));
  EXPECT_SAME(u64s.Get(), (std::vector<u64>{0, ~0ull}));
}

__global__ void Bits(u32* cells, u64* wide) {
  const int i = Id();
  atomicAnd(&cells[0], ~(1u << (i % 13)));
  atomicOr(&cells[1], 1u << (i % 17));
  atomicXor(&cells[2], u32(i) * 2654435761u);
  atomicAnd(&wide[0], ~(1ull << (i % 37)));
  atomicOr(&wide[1], 1ull << (i % 59));
  atomicXor(&wide[2], u64(i) << 20);
}
CASE(and_or_xor) {
  Buffer<u32> cells(std::vector<u32>{~0u, 0, 5});
  Buffer<u64> wide(std::vector<u64>{~0ull, 0, 9});
  Bits<<<kBlocks, kThreads>>>(cells, wide);
  u32 x = 5;
  u64 y = 9;
  for (int i = 0; i < kTotal; ++i) x ^= u32(i) * 2654435761u, y ^= u64(i) << 20;
  EXPECT_SAME(cells.Get(), (std::vector<u32>{~0u << 13, (1u << 17) - 1, x}));
  EXPECT_SAME(wide.Get(), (std::vector<u64>{~0ull << 37, (1ull << 59) - 1, y}));
}

__global__ void IncDec(u32* cells) {
  atomicInc(&cells[0], 9);
  atomicDec(&cells[1], 9);
}
CASE(inc_and_dec_wrap) {
  Buffer<u32> cells(2);
  IncDec<<<kBlocks, kThreads>>>(cells);
  EXPECT_SAME(cells.Get(), (std::vector<u32>{kTotal % 10, (10 - kTotal % 10) % 10}));
}

template <class T>
__global__ void CasMultiply(T* cell) {
  T old = *cell, assumed;
  do {
    assumed = old;
    old = atomicCAS(cell, assumed, T(assumed * 3 + 1));
  } while (old != assumed);
}
CASE(cas_32_and_64) {
  Buffer<u32> narrow(1);
  Buffer<u64> wide(1);
  CasMultiply<u32><<<4, 64>>>(narrow);
  CasMultiply<u64><<<4, 64>>>(wide);
  u32 x = 0;
  u64 y = 0;
  for (int i = 0; i < 256; ++i) x = x * 3 + 1, y = y * 3 + 1;
  EXPECT_EQ(narrow.Get()[0], x);
  EXPECT_EQ(wide.Get()[0], y);
}
__global__ void Cas16(unsigned short* cells) {
  unsigned short old = cells[threadIdx.x % 2], assumed;
  do {
    assumed = old;
    old = atomicCAS(&cells[threadIdx.x % 2], assumed, (unsigned short)(assumed + 3));
  } while (old != assumed);
}
CASE(cas_16) {
  Buffer<unsigned short> cells(std::vector<unsigned short>{1, 2});
  Cas16<<<1, 64>>>(cells);
  EXPECT_SAME(cells.Get(), (std::vector<unsigned short>{97, 98}));
}

__global__ void AddHalf(__half* cell, __half2* pair) {
  atomicAdd(cell, __float2half(1.0f));
  atomicAdd(pair, __floats2half2_rn(1.0f, 2.0f));
}
CASE(add_half) {
  Buffer<__half> cell(2);
  Buffer<__half2> pair(1);
  AddHalf<<<4, 64>>>(cell, pair);
  const std::vector<__half> got = cell.Get();
  const std::vector<__half2> got2 = pair.Get();
  EXPECT_EQ(__half2float(got[0]), 256.0f);
  EXPECT_EQ(__half2float(got[1]), 0.0f);
  EXPECT_EQ(__low2float(got2[0]), 256.0f);
  EXPECT_EQ(__high2float(got2[0]), 512.0f);
}

__global__ void SharedHistogram(const unsigned char* in, u32* out, int n) {
  __shared__ u32 bins[64];
  for (int i = threadIdx.x; i < 64; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  for (int i = Id(); i < n; i += blockDim.x * gridDim.x) atomicAdd(&bins[in[i] % 64], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 64; i += blockDim.x) atomicAdd(&out[i], bins[i]);
}
CASE(shared_histogram) {
  std::vector<unsigned char> in(10007);
  std::vector<u32> want(64);
  harness::Random random(4);
  for (auto& v : in) v = (unsigned char)random.Below(256), ++want[v % 64];
  Buffer<unsigned char> device(in);
  Buffer<u32> out(64);
  SharedHistogram<<<kBlocks, kThreads>>>(device, out, int(in.size()));
  EXPECT_SAME(out.Get(), want);
}
__global__ void SharedFloats(float* out, double* out2, int* max_out) {
  __shared__ float sum;
  __shared__ double sum2;
  __shared__ int largest;
  if (threadIdx.x == 0) sum = 0, sum2 = 0, largest = -5;
  __syncthreads();
  atomicAdd(&sum, float(threadIdx.x));
  atomicAdd(&sum2, 0.5 * threadIdx.x);
  atomicMax(&largest, int(threadIdx.x * 37 % 101));
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sum, out2[blockIdx.x] = sum2, max_out[blockIdx.x] = largest;
}
CASE(shared_float_double_max) {
  Buffer<float> out(4);
  Buffer<double> out2(4);
  Buffer<int> largest(4);
  SharedFloats<<<4, 101>>>(out, out2, largest);
  EXPECT_SAME(out.Get(), std::vector<float>(4, 5050));
  EXPECT_SAME(out2.Get(), std::vector<double>(4, 2525));
  EXPECT_SAME(largest.Get(), std::vector<int>(4, 100));
}

__global__ void Scopes(int* cells) {
  atomicAdd_system(&cells[0], 1);
  atomicAdd_block(&cells[1 + blockIdx.x], 1);
  atomicMax_system(&cells[5], Id());
  asm volatile("red.global.add.s32 [%0], %1;" ::"l"(&cells[6]), "r"(2) : "memory");
  asm volatile("red.relaxed.gpu.global.max.s32 [%0], %1;" ::"l"(&cells[7]), "r"(Id()) : "memory");
  int old;
  asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 3;" : "=r"(old) : "l"(&cells[8]) : "memory");
  if (old < 0) cells[8] = -1;
}
CASE(scopes_and_reductions) {
  Buffer<int> cells(9);
  Scopes<<<4, 64>>>(cells);
  EXPECT_SAME(cells.Get(), (std::vector<int>{256, 64, 64, 64, 64, 255, 512, 255, 768}));
}

// The last block to finish sums up what all others wrote: fences order data before the counter.
__global__ void LastBlock(const int* in, int* partial, u32* done, int* out) {
  __shared__ bool last;
  __shared__ int sums[64];
  sums[threadIdx.x] = in[Id()];
  __syncthreads();
  for (int step = 32; step; step /= 2) {
    if (int(threadIdx.x) < step) sums[threadIdx.x] += sums[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sums[0];
    __threadfence();
    last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x) return;
  int total = 0;
  for (u32 i = 0; i < gridDim.x; ++i) total += reinterpret_cast<volatile int*>(partial)[i];
  *out = total;
}
CASE(last_block_sums) {
  std::vector<int> in(64 * 50);
  int want = 0;
  for (size_t i = 0; i < in.size(); ++i) want += in[i] = int(i * 31 % 1001);
  Buffer<int> device(in), partial(50), out(1);
  Buffer<u32> done(1);
  for (int round = 0; round < 3; ++round) LastBlock<<<50, 64>>>(device, partial, done, out);
  EXPECT_EQ(out.Get()[0], want);
}

// Blocks wait for the one before: what decoupled look-back scans rely on.
__global__ void Chained(volatile int* flags, int* values) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x > 0)
    while (flags[blockIdx.x - 1] == 0) __nanosleep(20);
  __threadfence();
  values[blockIdx.x] = (blockIdx.x ? values[blockIdx.x - 1] : 0) + int(blockIdx.x);
  __threadfence();
  flags[blockIdx.x] = 1;
}
CASE(blocks_chain_in_order) {
  Buffer<int> flags(200), values(200);
  Chained<<<200, 32>>>(flags, values);
  EXPECT_EQ(values.Get()[199], 199 * 200 / 2);
}

// Blocks wait for all others, as programs have it that launch no more than fit at once.
__global__ void Rounds(volatile int* arrived, int* values, int rounds) {
  for (int round = 1; round <= rounds; ++round) {
    values[round * gridDim.x + blockIdx.x] =
        values[(round - 1) * gridDim.x + (blockIdx.x + 1) % gridDim.x] + int(blockIdx.x);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
      atomicAdd(const_cast<int*>(arrived), 1);
      while (*arrived < round * int(gridDim.x)) __nanosleep(20);
    }
    __syncthreads();
  }
}
CASE(blocks_that_fit_wait_for_each_other) {
  constexpr int kBlocks = 8, kRounds = 20;
  std::vector<int> want(kBlocks);
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<int> before = want;
    for (int b = 0; b < kBlocks; ++b) want[b] = before[(b + 1) % kBlocks] + b;
  }
  Buffer<int> arrived(1), values((kRounds + 1) * kBlocks);
  Rounds<<<kBlocks, 1>>>(arrived, values, kRounds);
  const std::vector<int> all = values.Get();
  EXPECT_SAME(std::vector<int>(all.end() - kBlocks, all.end()), want);
}

__global__ void SpinLock(int* lock, int* counter) {
  for (int turn = 0; turn < 32; ++turn) {
    if (int(threadIdx.x % 32) != turn) continue;
    while (atomicCAS(lock, 0, 1) != 0) __nanosleep(10);
    __threadfence();
    *reinterpret_cast<volatile int*>(counter) += 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}
CASE(spin_lock) {
  Buffer<int> lock(1), counter(1);
  SpinLock<<<8, 64>>>(lock, counter);
  EXPECT_EQ(counter.Get()[0], 512);
}
