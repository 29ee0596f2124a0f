// Shared memory, static and dynamic, and barriers of every kind.
#include <numeric>

#include "tests/cuda/harness.h"

using u32 = uint32_t;

static std::vector<int> Ramp(int n) {
  std::vector<int> out(n);
  for (int i = 0; i < n; ++i) out[i] = i * 37 % 1009 - 300;
  return out;
}

__global__ void TreeReduce(const int* in, int* out) {
  __shared__ int values[256];
  const int t = int(threadIdx.x);
  values[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int step = int(blockDim.x) / 2; step > 0; step /= 2) {
    if (t < step) values[t] += values[t + step];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = values[0];
}
CASE(tree_reduction) {
  const std::vector<int> in = Ramp(256 * 7);
  Buffer<int> device(in), out(7);
  TreeReduce<<<7, 256>>>(device, out);
  std::vector<int> want(7);
  for (size_t i = 0; i < in.size(); ++i) want[i / 256] += in[i];
  EXPECT_SAME(out.Get(), want);
}

__global__ void Transpose(const float* in, float* out, int width, int height) {
  __shared__ float tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x, y = blockIdx.x * 16 + threadIdx.y;
  if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}
CASE(transpose_tiles) {
  constexpr int kWidth = 45, kHeight = 70;
  std::vector<float> in(kWidth * kHeight), want(in.size());
  for (size_t i = 0; i < in.size(); ++i) in[i] = float(i), want[i % kWidth * kHeight + i / kWidth] = float(i);
  Buffer<float> device(in), out(in.size());
  Transpose<<<dim3(3, 5), dim3(16, 16)>>>(device, out, kWidth, kHeight);
  EXPECT_SAME(out.Get(), want);
}

__global__ void MatrixProduct(const float* a, const float* b, float* c, int n) {
  __shared__ float ta[8][8], tb[8][8];
  const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += 8) {
    ta[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    tb[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
CASE(tiled_matrix_product) {
  constexpr int kN = 48;
  std::vector<float> a(kN * kN), b(a.size()), want(a.size());
  for (int i = 0; i < kN * kN; ++i) a[i] = float(i % 11 - 5), b[i] = float(i % 7 - 3);
  for (int i = 0; i < kN; ++i)
    for (int j = 0; j < kN; ++j)
      for (int k = 0; k < kN; ++k) want[i * kN + j] += a[i * kN + k] * b[k * kN + j];
  Buffer<float> da(a), db(b), dc(a.size());
  MatrixProduct<<<dim3(6, 6), dim3(8, 8)>>>(da, db, dc, kN);
  EXPECT_SAME(dc.Get(), want);
}

extern __shared__ double dynamic_doubles[];
__global__ void DynamicScan(const double* in, double* out, int n) {
  double* source = dynamic_doubles;
  double* target = dynamic_doubles + n;
  const int t = int(threadIdx.x);
  source[t] = in[t];
  __syncthreads();
  for (int step = 1; step < n; step *= 2) {
    target[t] = source[t] + (t >= step ? source[t - step] : 0);
    __syncthreads();
    double* swap = source;
    source = target, target = swap;
  }
  out[t] = source[t];
}
CASE(dynamic_shared_scan) {
  std::vector<double> in(200), want(200);
  for (int i = 0; i < 200; ++i) in[i] = i % 9, want[i] = in[i] + (i ? want[i - 1] : 0);
  Buffer<double> device(in), out(200);
  DynamicScan<<<1, 200, 2 * 200 * sizeof(double)>>>(device, out, 200);
  EXPECT_SAME(out.Get(), want);
}

// One dynamic array carved into several types.
extern __shared__ unsigned char carved[];
__global__ void Carve(int* out) {
  int* ints = reinterpret_cast<int*>(carved);
  short* shorts = reinterpret_cast<short*>(ints + blockDim.x);
  unsigned char* bytes = reinterpret_cast<unsigned char*>(shorts + blockDim.x);
  const int t = int(threadIdx.x), n = int(blockDim.x);
  ints[t] = t * 1000, shorts[n - 1 - t] = short(-t), bytes[(t * 5) % n] = (unsigned char)t;
  __syncthreads();
  out[t] = ints[n - 1 - t] + shorts[t] + bytes[t];
}
CASE(dynamic_shared_carved) {
  constexpr int kN = 96;  // 5 and 96 have no common divisor
  Buffer<int> out(kN);
  Carve<<<1, kN, kN * 7>>>(out);
  std::vector<int> want(kN), bytes(kN);
  for (int t = 0; t < kN; ++t) bytes[t * 5 % kN] = t;
  for (int t = 0; t < kN; ++t) want[t] = (kN - 1 - t) * 1000 - (kN - 1 - t) + bytes[t];
  EXPECT_SAME(out.Get(), want);
}

CASE(large_dynamic_shared) {
  CUDA_OK(cudaFuncSetAttribute(Carve, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
  Buffer<int> out(96);
  Carve<<<1, 96, 60 * 1024>>>(out);
  CUDA_OK(cudaGetLastError());
  EXPECT_EQ(out.Get()[0], 95 * 1000 - 95);
}

__global__ void Votes(const int* in, int* out) {
  const int own = in[blockIdx.x * blockDim.x + threadIdx.x];
  const int count = __syncthreads_count(own > 0);
  const int all = __syncthreads_and(own > -1000);
  const int any = __syncthreads_or(own == 5);
  if (threadIdx.x == 0)
    out[3 * blockIdx.x] = count, out[3 * blockIdx.x + 1] = all != 0, out[3 * blockIdx.x + 2] = any != 0;
}
CASE(barrier_reductions) {
  const std::vector<int> in = Ramp(100 * 6);
  Buffer<int> device(in), out(18);
  Votes<<<6, 100>>>(device, out);
  std::vector<int> want(18);
  for (int b = 0; b < 6; ++b) {
    want[3 * b + 1] = 1;
    for (int t = 0; t < 100; ++t) want[3 * b] += in[b * 100 + t] > 0, want[3 * b + 2] |= in[b * 100 + t] == 5;
  }
  EXPECT_SAME(out.Get(), want);
}

__global__ void BarRed(int* out) {
  int count, all, any;
  asm volatile(
      "{\n\t.reg .pred p, q, r;\n\tsetp.lt.u32 p, %3, 40;\n\tbar.red.popc.u32 %0, 1, p;\n\t"
      "bar.red.and.pred q, 1, p;\n\tbar.red.or.pred r, 1, !p;\n\tselp.s32 %1, 1, 0, q;\n\tselp.s32 %2, 1, 0, r;\n\t}"
      : "=r"(count), "=r"(all), "=r"(any)
      : "r"(threadIdx.x)
      : "memory");
  out[threadIdx.x] = count * 100 + all * 10 + any;
}
CASE(bar_red) {
  Buffer<int> out(64);
  BarRed<<<1, 64>>>(out);
  EXPECT_SAME(out.Get(), std::vector<int>(64, 4001));
}

// Two groups of warps in one block, each with a barrier of its own.
__global__ void NamedBarriers(int* out) {
  __shared__ int values[128];
  const int t = int(threadIdx.x), group = t / 64;
  values[t] = t;
  for (int round = 0; round < 4 + 3 * group; ++round) {
    asm volatile("bar.sync %0, 64;" ::"r"(group + 1) : "memory");
    const int next = values[group * 64 + (t + 1) % 64];
    asm volatile("bar.sync %0, 64;" ::"r"(group + 1) : "memory");
    values[t] = next;
  }
  __syncthreads();
  out[t] = values[t];
}
CASE(named_barriers) {
  Buffer<int> out(128);
  NamedBarriers<<<1, 128>>>(out);
  std::vector<int> want(128);
  for (int t = 0; t < 128; ++t) want[t] = t / 64 * 64 + (t + (t < 64 ? 4 : 7)) % 64;
  EXPECT_SAME(out.Get(), want);
}

// Warp 0 produces and only arrives; warp 1 waits and consumes.
__global__ void ProducerConsumer(int* out) {
  __shared__ int slot[32];
  const int lane = int(threadIdx.x % 32);
  for (int round = 0; round < 5; ++round) {
    if (threadIdx.x < 32) {
      slot[lane] = round * 100 + lane;
      __threadfence_block();
      asm volatile("bar.arrive 1, 64;" ::: "memory");
      asm volatile("bar.sync 2, 64;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      out[round * 32 + lane] = slot[31 - lane];
      asm volatile("bar.arrive 2, 64;" ::: "memory");
    }
  }
}
CASE(producer_consumer) {
  Buffer<int> out(160);
  ProducerConsumer<<<1, 64>>>(out);
  std::vector<int> want(160);
  for (int i = 0; i < 160; ++i) want[i] = i / 32 * 100 + 31 - i % 32;
  EXPECT_SAME(out.Get(), want);
}

// Threads that have left no longer count at barriers.
__global__ void EarlyExit(int* out, int alive) {
  __shared__ int values[128];
  const int t = int(threadIdx.x);
  if (t >= alive) return;
  values[t] = t * t;
  __syncthreads();
  out[t] = values[alive - 1 - t];
}
CASE(threads_leave_before_barrier) {
  Buffer<int> out(128);
  EarlyExit<<<1, 128>>>(out, 96);
  std::vector<int> want(128);
  for (int t = 0; t < 96; ++t) want[t] = (95 - t) * (95 - t);
  EXPECT_SAME(out.Get(), want);
}

// A barrier in a loop whose trip count only the block knows, inside a condition only the block knows.
__global__ void BarrierInBranches(const int* trips, int* out) {
  __shared__ int token;
  const int n = trips[blockIdx.x];
  if (threadIdx.x == 0) token = 0;
  __syncthreads();
  int seen = 0;
  if (n % 2 == 0) {
    for (int i = 0; i < n; ++i) {
      if (int(threadIdx.x) == i % int(blockDim.x)) token += i;
      __syncthreads();
      seen += token;
      __syncthreads();
    }
  } else {
    __syncthreads();
    seen = -1;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = seen;
}
CASE(barrier_in_uniform_branches) {
  const std::vector<int> trips = {0, 1, 2, 7, 10, 64};
  Buffer<int> device(trips), out(6 * 48);
  BarrierInBranches<<<6, 48>>>(device, out);
  std::vector<int> want;
  for (int n : trips) {
    int token = 0, seen = 0;
    for (int i = 0; i < n; ++i) token += i, seen += token;
    for (int t = 0; t < 48; ++t) want.push_back(n % 2 ? -1 : seen);
  }
  EXPECT_SAME(out.Get(), want);
}

// Registers, local arrays and loop counters live across barriers.
__global__ void StateAcrossBarriers(u32* out) {
  __shared__ u32 ring[64];
  u32 local[6];
  u32 hash = threadIdx.x;
  for (int i = 0; i < 6; ++i) local[i] = threadIdx.x * 7 + i;
  for (int round = 0; round < 6; ++round) {
    ring[threadIdx.x] = hash ^ local[round];
    __syncthreads();
    local[(round * 5 + threadIdx.x) % 6] += ring[(threadIdx.x + round + 1) % 64];
    hash = hash * 1664525u + local[round];
    __syncthreads();
  }
  out[threadIdx.x] = hash;
}
CASE(state_across_barriers) {
  Buffer<u32> out(64);
  StateAcrossBarriers<<<1, 64>>>(out);
  u32 local[64][6], hash[64], ring[64];
  for (u32 t = 0; t < 64; ++t) {
    hash[t] = t;
    for (u32 i = 0; i < 6; ++i) local[t][i] = t * 7 + i;
  }
  for (u32 round = 0; round < 6; ++round) {
    for (u32 t = 0; t < 64; ++t) ring[t] = hash[t] ^ local[t][round];
    for (u32 t = 0; t < 64; ++t) {
      local[t][(round * 5 + t) % 6] += ring[(t + round + 1) % 64];
      hash[t] = hash[t] * 1664525u + local[t][round];
    }
  }
  EXPECT_SAME(out.Get(), std::vector<u32>(hash, hash + 64));
}

__device__ int BarrierInFunction(int* shared, int value) {
  shared[threadIdx.x] = value;
  __syncthreads();
  const int next = shared[(threadIdx.x + 1) % blockDim.x];
  __syncthreads();
  return next;
}
__device__ __noinline__ int BarrierNotInlined(int* shared, int value) {
  shared[threadIdx.x] = value;
  __syncthreads();
  const int next = shared[(threadIdx.x + 3) % blockDim.x];
  __syncthreads();
  return next;
}
__global__ void BarriersInCalls(int* out) {
  __shared__ int shared[70];
  out[threadIdx.x] = BarrierNotInlined(shared, BarrierInFunction(shared, int(threadIdx.x)));
}
CASE(barriers_in_called_functions) {
  Buffer<int> out(70);
  BarriersInCalls<<<1, 70>>>(out);
  std::vector<int> want(70);
  for (int t = 0; t < 70; ++t) want[t] = (t + 4) % 70;
  EXPECT_SAME(out.Get(), want);
}

__global__ void ThreeDimensions(int* out) {
  __shared__ int cube[4][3][5];
  cube[threadIdx.z][threadIdx.y][threadIdx.x] = int(threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z);
  __syncthreads();
  const int index = int(threadIdx.x + 5 * (threadIdx.y + 3 * threadIdx.z));
  const int block = int(blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
  out[block * 60 + index] = cube[3 - threadIdx.z][2 - threadIdx.y][4 - threadIdx.x] + 1000 * block;
}
CASE(three_dimensional_blocks) {
  Buffer<int> out(60 * 24);
  ThreeDimensions<<<dim3(2, 3, 4), dim3(5, 3, 4)>>>(out);
  std::vector<int> want(60 * 24);
  for (int b = 0; b < 24; ++b)
    for (int i = 0; i < 60; ++i) want[b * 60 + i] = 1000 * b + (4 - i % 5) + 10 * (2 - i / 5 % 3) + 100 * (3 - i / 15);
  EXPECT_SAME(out.Get(), want);
}

__global__ void FullBlock(int* out) {
  __shared__ int sum[1024];
  sum[threadIdx.x] = 1;
  __syncthreads();
  for (int step = 512; step; step /= 2) {
    if (int(threadIdx.x) < step) sum[threadIdx.x] += sum[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = sum[0];
}
CASE(blocks_of_1024) {
  Buffer<int> out(20);
  FullBlock<<<20, 1024>>>(out);
  EXPECT_SAME(out.Get(), std::vector<int>(20, 1024));
}

// Bitonic sort: barriers in two nested loops.
__global__ void Bitonic(int* values) {
  __shared__ int s[256];
  const int t = int(threadIdx.x);
  s[t] = values[t];
  for (int size = 2; size <= 256; size *= 2)
    for (int stride = size / 2; stride; stride /= 2) {
      __syncthreads();
      const int other = t ^ stride;
      if (other > t) {
        const bool up = (t & size) == 0;
        if ((s[t] > s[other]) == up) {
          const int x = s[t];
          s[t] = s[other], s[other] = x;
        }
      }
    }
  __syncthreads();
  values[t] = s[t];
}
CASE(bitonic_sort) {
  std::vector<int> values = Ramp(256);
  Buffer<int> device(values);
  Bitonic<<<1, 256>>>(device);
  std::sort(values.begin(), values.end());
  EXPECT_SAME(device.Get(), values);
}
