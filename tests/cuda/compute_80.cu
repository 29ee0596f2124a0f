// What came with compute capability 8.0: redux, cp.async, native bfloat16 conversions. Compiled for compute_80.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_pipeline.h>

#include <numeric>

#include "tests/cuda/harness.h"

using u32 = uint32_t;

__global__ void Redux(const int* in, int* out) {
  const int v = in[threadIdx.x];
  const u32 mask = threadIdx.x % 32 < 16 ? 0xFFFFu : 0xFFFF0000u;
  int* o = out + 8 * threadIdx.x;
  o[0] = __reduce_add_sync(~0u, v), o[1] = __reduce_min_sync(~0u, v), o[2] = __reduce_max_sync(~0u, v);
  o[3] = int(__reduce_and_sync(~0u, u32(v))), o[4] = int(__reduce_or_sync(~0u, u32(v))),
  o[5] = int(__reduce_xor_sync(~0u, u32(v)));
  o[6] = int(__reduce_max_sync(~0u, u32(v)));
  if (threadIdx.x % 32 < 16)
    o[7] = __reduce_add_sync(mask, v);
  else
    o[7] = __reduce_min_sync(mask, v);
}
CASE(redux) {
  std::vector<int> in(64);
  for (int i = 0; i < 64; ++i) in[i] = (i * 7919 % 257 - 100) * 3 | 1;
  Buffer<int> device(in), out(512);
  Redux<<<1, 64>>>(device, out);
  std::vector<int> want(512);
  for (int t = 0; t < 64; ++t) {
    const int *first = &in[t & 32], *half = first + (t & 16);
    int sum = 0, low = first[0], high = first[0], all = -1, any = 0, parity = 0, half_sum = 0, half_low = half[0];
    u32 unsigned_high = 0;
    for (int l = 0; l < 32; ++l) {
      sum += first[l], low = std::min(low, first[l]), high = std::max(high, first[l]);
      all &= first[l], any |= first[l], parity ^= first[l], unsigned_high = std::max(unsigned_high, u32(first[l]));
    }
    for (int l = 0; l < 16; ++l) half_sum += half[l], half_low = std::min(half_low, half[l]);
    const int row[8] = {sum, low, high, all, any, parity, int(unsigned_high), t & 16 ? half_low : half_sum};
    std::copy(row, row + 8, &want[8 * t]);
  }
  EXPECT_SAME(out.Get(), want);
}

// Tiles of several warps meet in shared memory that the compiler reserves, apart from the kernel's own.
__global__ void WideTiles(const int* in, int* out) {
  namespace cg = cooperative_groups;
  __shared__ int own[256];
  const auto tile = cg::tiled_partition<64>(cg::this_thread_block());
  own[threadIdx.x] = in[threadIdx.x];
  tile.sync();
  const int other = own[tile.meta_group_rank() * 64 + 63 - tile.thread_rank()];
  const int sum = cg::reduce(tile, in[threadIdx.x], cg::plus<int>()), high = tile.shfl(in[threadIdx.x], 40);
  out[threadIdx.x] = sum * 10000 + high * 100 + other;
}
CASE(tiles_of_several_warps) {
  std::vector<int> in(256), want(256);
  for (int i = 0; i < 256; ++i) in[i] = i * i % 97;
  for (int i = 0; i < 256; ++i) {
    const int* tile = &in[i & ~63];
    want[i] = std::accumulate(tile, tile + 64, 0) * 10000 + tile[40] * 100 + tile[63 - i % 64];
  }
  Buffer<int> device(in), out(256);
  WideTiles<<<4, 256>>>(device, out);
  EXPECT_SAME(out.Get(), want);
}

// Two-stage pipeline of asynchronous copies into shared memory.
__global__ void Pipelined(const float4* in, float* out, int tiles) {
  __shared__ float4 stage[2][32];
  const int t = int(threadIdx.x);
  __pipeline_memcpy_async(&stage[0][t], &in[t], 16);
  __pipeline_commit();
  float sum = 0;
  for (int i = 0; i < tiles; ++i) {
    if (i + 1 < tiles) __pipeline_memcpy_async(&stage[(i + 1) & 1][t], &in[(i + 1) * 32 + t], 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    const float4 v = stage[i & 1][31 - t];
    sum += v.x + 2 * v.y + 3 * v.z + 4 * v.w;
    __syncthreads();
  }
  out[t] = sum;
}
CASE(cp_async_pipeline) {
  constexpr int kTiles = 5;
  std::vector<float4> in(kTiles * 32);
  std::vector<float> want(32);
  for (int i = 0; i < kTiles * 32; ++i) {
    in[i] = make_float4(float(i), float(i % 5), float(i % 3), 1);
    want[31 - i % 32] += float(i + 2 * (i % 5) + 3 * (i % 3) + 4);
  }
  Buffer<float4> device(in);
  Buffer<float> out(32);
  Pipelined<<<1, 32>>>(device, out, kTiles);
  EXPECT_SAME(out.Get(), want);
}
__global__ void CopyWithZeros(const int* in, int* out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = -1;
  __syncthreads();
  const u32 address = u32(__cvta_generic_to_shared(&tile[threadIdx.x]));
  const int bytes = threadIdx.x < 48 ? 4 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(address), "l"(&in[threadIdx.x]), "r"(bytes)
               : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x];
}
CASE(cp_async_zero_fill) {
  std::vector<int> in(64), want(64);
  for (int i = 0; i < 64; ++i) in[i] = i + 500, want[63 - i] = i < 48 ? i + 500 : 0;
  Buffer<int> device(in), out(64);
  CopyWithZeros<<<1, 64>>>(device, out);
  EXPECT_SAME(out.Get(), want);
}
__global__ void Bf16(const float* in, u32* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const __nv_bfloat162 pair = __floats2bfloat162_rn(in[i], -in[i]);
  const __nv_bfloat162 fused = __hfma2(pair, pair, __float2bfloat162_rn(0.5f));
  out[i] = *reinterpret_cast<const u32*>(&pair) ^ (*reinterpret_cast<const u32*>(&fused) << 1);
}
static u32 ToBf16(float x) {
  u32 bits = __builtin_bit_cast(u32, x);
  bits += 0x7FFF + (bits >> 16 & 1);
  return bits >> 16;
}
CASE(bf16x2_native) {
  std::vector<float> in(256);
  for (int i = 0; i < 256; ++i) in[i] = float(i - 100) * 0.37f;
  Buffer<float> device(in);
  Buffer<u32> out(256);
  Bf16<<<2, 128>>>(device, out, 256);
  std::vector<u32> want;
  for (float x : in) {
    const u32 a = ToBf16(x), b = ToBf16(-x);
    const float y = __builtin_bit_cast(float, a << 16);
    const u32 c = ToBf16(float(double(y) * y + 0.5));
    want.push_back((a | b << 16) ^ ((c | c << 16) << 1));
  }
  EXPECT_SAME(out.Get(), want);
}
