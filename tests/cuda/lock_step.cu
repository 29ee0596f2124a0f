// Programs that count on the threads of a warp going on together, with no barrier between: the way that reductions were
// written before warps had operations. Not what CUDA promises since Volta, but GPUs do it where threads have not
// parted.
#include <numeric>

#include "tests/cuda/harness.h"

using u32 = uint32_t;

static std::vector<int> Ramp(int n) {
  std::vector<int> out(n);
  for (int i = 0; i < n; ++i) out[i] = i * 37 % 1009 - 300;
  return out;
}

static __device__ u32 Thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }

static __device__ void ReduceWarp(volatile int* values, u32 t) {
  values[t] += values[t + 32];
  values[t] += values[t + 16];
  values[t] += values[t + 8];
  values[t] += values[t + 4];
  values[t] += values[t + 2];
  values[t] += values[t + 1];
}

template <int kThreads>
__global__ void Reduce(const int* in, int* out) {
  __shared__ int values[kThreads];
  const u32 t = Thread();
  values[t] = in[blockIdx.x * kThreads + t];
  __syncthreads();
  for (u32 step = kThreads / 2; step > 32; step /= 2) {
    if (t < step) values[t] += values[t + step];
    __syncthreads();
  }
  if (t < 32) ReduceWarp(values, t);
  if (t == 0) out[blockIdx.x] = values[0];
}

template <int kThreads>
static void ExpectSums(dim3 block) {
  const std::vector<int> in = Ramp(kThreads * 5);
  Buffer<int> device(in), out(5);
  Reduce<kThreads><<<5, block>>>(device, out);
  std::vector<int> want(5);
  for (size_t i = 0; i < in.size(); ++i) want[i / kThreads] += in[i];
  EXPECT_SAME(out.Get(), want);
}
CASE(reduction_by_the_last_warp) {
  ExpectSums<64>(64);
  ExpectSums<256>(256);
}
CASE(reduction_by_a_warp_of_several_rows) {
  ExpectSums<256>(dim3(16, 16));
  ExpectSums<64>(dim3(4, 4, 4));
  ExpectSums<128>(dim3(32, 4));
}

// Of one warp, without any barrier.
__global__ void Reverse(const int* in, int* out) {
  __shared__ volatile int values[32];
  const u32 t = threadIdx.x;
  values[t] = in[blockIdx.x * 32 + t];
  out[blockIdx.x * 32 + t] = values[31 - t];
}
CASE(one_warp_reverses_without_a_barrier) {
  const std::vector<int> in = Ramp(32 * 9);
  Buffer<int> device(in), out(in.size());
  Reverse<<<9, 32>>>(device, out);
  std::vector<int> want(in.size());
  for (size_t i = 0; i < in.size(); ++i) want[i / 32 * 32 + 31 - i % 32] = in[i];
  EXPECT_SAME(out.Get(), want);
}

// Inclusive sums of each warp's values: a lane loads before others store to what it loads.
__global__ void Scan(const int* in, int* out) {
  __shared__ volatile int values[128];
  const u32 t = threadIdx.x, lane = t % 32;
  values[t] = in[blockIdx.x * 128 + t];
  __syncthreads();
#pragma unroll
  for (u32 by = 1; by < 32; by *= 2) {
    if (lane >= by) values[t] += values[t - by];
  }
  __syncthreads();
  out[blockIdx.x * 128 + t] = values[t];
}
CASE(sums_of_a_warp) {
  const std::vector<int> in = Ramp(128 * 3);
  Buffer<int> device(in), out(in.size());
  Scan<<<3, 128>>>(device, out);
  std::vector<int> want(in);
  for (size_t i = 0; i < want.size(); ++i) want[i] += i % 32 == 0 ? 0 : want[i - 1];
  EXPECT_SAME(out.Get(), want);
}

// Seventeen lanes leave sums, the first one goes on with them: nothing is volatile, but the branches meet between.
__global__ void Columns(const int* in, int* out) {
  __shared__ int values[64 * 17];
  const u32 t = threadIdx.x;
  for (u32 i = 0; i < 17; ++i) values[17 * t + i] = in[17 * t + i] + int(blockIdx.x);
  __syncthreads();
  if (t < 17) {
    int sum = 0;
    for (u32 i = t; i < blockDim.x * 17; i += 17) sum += values[i];
    values[t] = sum;
  }
  if (t == 0) {
    int hash = 0;
    for (u32 i = 0; i < 17; ++i) hash = hash * 31 + values[i];
    out[blockIdx.x] = hash;
  }
}
CASE(one_lane_reads_what_seventeen_wrote) {
  const std::vector<int> in = Ramp(64 * 17);
  Buffer<int> device(in), out(4);
  Columns<<<4, 64>>>(device, out);
  std::vector<int> want(4);
  for (int block = 0; block < 4; ++block) {
    for (int i = 0; i < 17; ++i) {
      int sum = 0;
      for (int row = 0; row < 64; ++row) sum += in[17 * row + i] + block;
      want[block] = want[block] * 31 + sum;
    }
  }
  EXPECT_SAME(out.Get(), want);
}

// All lanes of a key store to one place, and one of them finds its own number there.
__global__ void Winners(const int* keys, int* winners) {
  __shared__ volatile int owner[4][64];
  const u32 t = threadIdx.x, warp = t / 32;
  const int key = keys[blockIdx.x * 128 + t] & 63;
  owner[warp][key] = int(t);
  if (owner[warp][key] == int(t)) atomicAdd(&winners[(blockIdx.x * 4 + warp) * 64 + key], 1);
}
CASE(one_lane_of_a_key_wins) {
  std::vector<int> keys = Ramp(128 * 3);
  for (int& key : keys) key = key * 7 % 23;
  Buffer<int> device(keys), out(std::vector<int>(3 * 4 * 64));
  Winners<<<3, 128>>>(device, out);
  std::vector<int> want(3 * 4 * 64);
  for (size_t i = 0; i < keys.size(); ++i) want[i / 32 * 64 + (keys[i] & 63)] = 1;
  EXPECT_SAME(out.Get(), want);
}

// Lanes go round a loop different numbers of times, and through device memory.
__global__ void Neighbours(const int* in, volatile int* left, int* out) {
  const u32 at = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  int value = in[at];
  for (int i = 0; i < (in[at] & 7); ++i) value = value * 3 + i;
  left[at] = value;
  out[at] = left[at - lane + (lane + 31) % 32];
}
CASE(lanes_meet_after_a_loop) {
  const std::vector<int> in = Ramp(64 * 4);
  Buffer<int> device(in), left(in.size()), out(in.size());
  Neighbours<<<4, 64>>>(device, left, out);
  std::vector<int> values(in), want(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    for (int round = 0; round < (in[i] & 7); ++round) values[i] = values[i] * 3 + round;
  }
  for (size_t i = 0; i < in.size(); ++i) want[i] = values[i / 32 * 32 + (i + 31) % 32];
  EXPECT_SAME(out.Get(), want);
}
