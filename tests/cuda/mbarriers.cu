// Barriers in shared memory as CUDA C++ has them for compute capability 8.0: cuda::barrier, and the copies and
// pipelines that are built of it.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "tests/cuda/harness.h"

using harness::Buffer;

namespace {

// Their constructors are not run for shared variables; init() is what makes them.
#pragma nv_diag_suppress static_var_with_dynamic_init

using BlockBarrier = cuda::barrier<cuda::thread_scope_block>;

// Each round turns the row round by one, with one barrier between writing and reading.
__global__ void Turn(int* row, int rounds) {
  __shared__ BlockBarrier barrier;
  __shared__ int tile[2][256];
  const int t = threadIdx.x, n = blockDim.x;
  if (t == 0) init(&barrier, n);
  __syncthreads();
  int value = row[blockIdx.x * n + t];
  for (int i = 0; i < rounds; ++i) {
    tile[i & 1][t] = value;
    BlockBarrier::arrival_token token = barrier.arrive();
    barrier.wait(std::move(token));
    value = tile[i & 1][(t + 1) % n];
  }
  row[blockIdx.x * n + t] = value;
}

// Producers fill a buffer, consumers empty it: two barriers, at which either only arrives or waits.
__global__ void Produce(const int* in, int* out, int tiles) {
  __shared__ BlockBarrier full, empty;
  __shared__ int buffer[32];
  const int lane = threadIdx.x % 32;
  const bool producer = threadIdx.x < 32;
  if (threadIdx.x == 0) {
    init(&full, 64);
    init(&empty, 64);
  }
  __syncthreads();
  if (!producer) (void)empty.arrive();
  int sum = 0;
  for (int i = 0; i < tiles; ++i) {
    if (producer) {
      empty.arrive_and_wait();
      buffer[lane] = in[i * 32 + lane];
      (void)full.arrive();
    } else {
      full.arrive_and_wait();
      sum = sum * 3 + buffer[31 - lane];
      (void)empty.arrive();
    }
  }
  if (!producer) out[lane] = sum;
}

// Threads that leave early are not waited for.
__global__ void DropOut(int* out) {
  __shared__ BlockBarrier barrier;
  __shared__ int left;
  if (threadIdx.x == 0) {
    init(&barrier, blockDim.x);
    left = blockDim.x;
  }
  __syncthreads();
  for (int round = 0; round < 8; ++round) {
    if (threadIdx.x % 8 == round) {
      atomicSub(&left, 1);
      barrier.arrive_and_drop();
      return;
    }
    barrier.arrive_and_wait();
    if (threadIdx.x == 7) out[round] = left;
    barrier.arrive_and_wait();
  }
}

__global__ void CopyByBarrier(const int4* in, int4* out, int tiles) {
  __shared__ BlockBarrier barrier;
  __shared__ int4 tile[64];
  const auto block = cooperative_groups::this_thread_block();
  if (block.thread_rank() == 0) init(&barrier, block.size());
  block.sync();
  for (int i = 0; i < tiles; ++i) {
    cuda::memcpy_async(block, tile, in + i * 64, cuda::aligned_size_t<16>(sizeof(tile)), barrier);
    barrier.arrive_and_wait();
    out[i * 64 + threadIdx.x] = tile[63 - threadIdx.x];
    barrier.arrive_and_wait();
  }
}

// Two stages shared by the block: copies of the next tile run while this one is added up.
__global__ void CopyByPipeline(const int* in, int* out, int tiles) {
  constexpr int kStages = 2;
  __shared__ int stage[kStages][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  const auto block = cooperative_groups::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int computed = 0, fetched = 0; computed < tiles; ++computed) {
    for (; fetched < tiles && fetched < computed + kStages; ++fetched) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, stage[fetched % kStages], in + fetched * 128, sizeof(stage[0]), pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    block.sync();
    sum = sum * 5 + stage[computed % kStages][127 - threadIdx.x];
    block.sync();
    pipeline.consumer_release();
  }
  out[threadIdx.x] = sum;
}

std::vector<int> Numbers(int count) {
  harness::Random random(7);
  std::vector<int> numbers(count);
  for (int& number : numbers) number = random.Below(1000);
  return numbers;
}

}  // namespace

CASE(barrier_turns_a_row) {
  for (const int threads : {1, 31, 32, 100, 256}) {
    const std::vector<int> in = Numbers(3 * threads);
    std::vector<int> want(in.size());
    constexpr int kRounds = 9;
    for (int b = 0; b < 3; ++b) {
      for (int t = 0; t < threads; ++t) want[b * threads + t] = in[b * threads + (t + kRounds) % threads];
    }
    Buffer<int> row(in);
    Turn<<<3, threads>>>(row, kRounds);
    EXPECT_SAME(row.Get(), want);
  }
}

CASE(producers_and_consumers) {
  constexpr int kTiles = 6;
  const std::vector<int> in = Numbers(kTiles * 32);
  std::vector<int> want(32);
  for (int i = 0; i < kTiles; ++i) {
    for (int lane = 0; lane < 32; ++lane) want[lane] = want[lane] * 3 + in[i * 32 + 31 - lane];
  }
  Buffer<int> device(in), out(32);
  Produce<<<1, 64>>>(device, out, kTiles);
  EXPECT_SAME(out.Get(), want);
}

CASE(threads_drop_out) {
  Buffer<int> out(7);
  DropOut<<<1, 64>>>(out);
  EXPECT_SAME(out.Get(), (std::vector<int>{56, 48, 40, 32, 24, 16, 8}));
}

CASE(copies_arrive_at_a_barrier) {
  constexpr int kTiles = 3;
  const std::vector<int> numbers = Numbers(kTiles * 64 * 4);
  std::vector<int> want(numbers.size());
  for (int i = 0; i < kTiles * 64; ++i) {
    for (int part = 0; part < 4; ++part) want[4 * i + part] = numbers[4 * (i / 64 * 64 + 63 - i % 64) + part];
  }
  Buffer<int> in(numbers), out(numbers.size());
  CopyByBarrier<<<1, 64>>>(reinterpret_cast<const int4*>(static_cast<int*>(in)),
                           reinterpret_cast<int4*>(static_cast<int*>(out)), kTiles);
  EXPECT_SAME(out.Get(), want);
}

CASE(pipeline_of_a_block) {
  constexpr int kTiles = 5;
  const std::vector<int> in = Numbers(kTiles * 128);
  std::vector<int> want(128);
  for (int i = 0; i < kTiles; ++i) {
    for (int t = 0; t < 128; ++t) want[t] = want[t] * 5 + in[i * 128 + 127 - t];
  }
  Buffer<int> device(in), out(128);
  CopyByPipeline<<<1, 128>>>(device, out, kTiles);
  EXPECT_SAME(out.Get(), want);
}
