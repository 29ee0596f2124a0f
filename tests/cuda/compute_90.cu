// What came with compute capability 9.0: copies that mbarriers count (cp.async.bulk), and clusters of one block.
// Compiled for compute_90.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>

#include <numeric>

#include "tests/cuda/harness.h"

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
// Their constructors are not run for shared variables; init() is what makes them.
#pragma nv_diag_suppress static_var_with_dynamic_init

using BlockBarrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kTile = 512;

// Tiles come by memcpy_async, which is a bulk copy here, and go by a bulk copy of a group.
__global__ void Reverse(const int* in, int* out, int tiles) {
  __shared__ alignas(128) int tile[kTile], turned[kTile];
  __shared__ BlockBarrier barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  for (int i = blockIdx.x; i < tiles; i += gridDim.x) {
    if (threadIdx.x == 0) {
      cuda::memcpy_async(tile, in + i * kTile, cuda::aligned_size_t<16>(sizeof tile), barrier);
    }
    barrier.arrive_and_wait();
    for (int at = threadIdx.x; at < kTile; at += blockDim.x) turned[at] = tile[kTile - 1 - at] + i;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
      ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + i * kTile, turned, sizeof turned);
      ptx::cp_async_bulk_commit_group();
      ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
    __syncthreads();
  }
}
CASE(bulk_copies) {
  constexpr int kTiles = 13;
  std::vector<int> in(kTiles * kTile), want(in.size());
  std::iota(in.begin(), in.end(), 7);
  for (int i = 0; i < kTiles * kTile; ++i) want[i] = in[i / kTile * kTile + kTile - 1 - i % kTile] + i / kTile;
  Buffer<int> device(in), out(in.size());
  Reverse<<<4, 128>>>(device, out, kTiles);
  EXPECT_SAME(out.Get(), want);
}

// Two stages: a thread says how many bytes come before it has them come, in parts, and all wait by parity.
__global__ void Stages(const int* in, int* out, int rounds) {
  __shared__ alignas(128) int stage[2][kTile];
  __shared__ uint64_t full[2];
  const auto fill = [&](int round) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[round & 1],
                                   kTile * sizeof(int));
    for (int part = 0; part < 4; ++part) {
      const int at = part * kTile / 4;
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, &stage[round & 1][at], in + round * kTile + at,
                         kTile / 4 * sizeof(int), &full[round & 1]);
    }
  };
  if (threadIdx.x == 0) {
    for (uint64_t& barrier : full) ptx::mbarrier_init(&barrier, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  if (threadIdx.x == 0) fill(0);
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x == 0 && round + 1 < rounds) fill(round + 1);
    while (!ptx::mbarrier_try_wait_parity(&full[round & 1], round / 2 & 1)) {
    }
    for (int at = 0; at < kTile; at += blockDim.x) sum = sum * 3 + stage[round & 1][(at + threadIdx.x * 5) % kTile];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}
CASE(bulk_copies_in_stages) {
  constexpr int kRounds = 11, kThreads = 128;
  std::vector<int> in(kRounds * kTile), want(kThreads);
  for (int i = 0; i < kRounds * kTile; ++i) in[i] = i * i % 1009;
  for (int t = 0; t < kThreads; ++t) {
    uint32_t sum = 0;
    for (int round = 0; round < kRounds; ++round) {
      for (int at = 0; at < kTile; at += kThreads) sum = sum * 3 + uint32_t(in[round * kTile + (at + t * 5) % kTile]);
    }
    want[t] = int(sum);
  }
  Buffer<int> device(in), out(kThreads);
  Stages<<<1, kThreads>>>(device, out, kRounds);
  EXPECT_SAME(out.Get(), want);
}

// A launch that asks for no clusters has them of one block.
__global__ void LoneCluster(int* out) {
  __shared__ int own[64];
  const cg::cluster_group cluster = cg::this_cluster();
  own[threadIdx.x] = int(threadIdx.x) * 3;
  cluster.sync();
  const int* other = cluster.map_shared_rank(own, 0);
  out[threadIdx.x] = other[63 - threadIdx.x] + 1000 * int(cluster.num_blocks()) + 10000 * int(cluster.block_rank()) +
                     100000 * int(cluster.query_shared_rank(own));
}
CASE(clusters_of_one_block) {
  std::vector<int> want(64);
  for (int i = 0; i < 64; ++i) want[i] = (63 - i) * 3 + 1000;
  Buffer<int> out(64);
  LoneCluster<<<3, 64>>>(out);
  EXPECT_SAME(out.Get(), want);
}

// Larger clusters, asked for where the kernel is compiled and where it is launched.
__global__ void __cluster_dims__(2, 1, 1) PairOfBlocks(int* out) {
  cg::this_cluster().sync();
  out[blockIdx.x] = 1;
}
__global__ void AnyCluster(int* out) { out[blockIdx.x] = 1; }
CASE(larger_clusters_are_refused) {
  int has_clusters = 0;
  CUDA_OK(cudaDeviceGetAttribute(&has_clusters, cudaDevAttrClusterLaunch, 0));
  if (has_clusters) return;
  Buffer<int> out(4);
  PairOfBlocks<<<4, 32>>>(out);
  cudaError_t error = cudaGetLastError();  // at once, or when somebody waits
  if (error == cudaSuccess) error = cudaDeviceSynchronize();
  EXPECT_EQ(error, cudaErrorUnsupportedPtxVersion);
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {2, 1, 1};
  config.gridDim = dim3(4), config.blockDim = dim3(32), config.attrs = &attribute, config.numAttrs = 1;
  EXPECT_EQ(cudaLaunchKernelEx(&config, AnyCluster, out.get()), cudaErrorNotSupported);
  EXPECT_SAME(out.Get(), std::vector<int>(4, 0));
  attribute.val.clusterDim = {1, 1, 1};
  (void)cudaGetLastError();
  CUDA_OK(cudaLaunchKernelEx(&config, AnyCluster, out.get()));
  EXPECT_SAME(out.Get(), std::vector<int>(4, 1));
}

// What is said of caches changes no value.
__global__ void Hints(const int* in, int* out) {
  uint64_t policy = 1;
  int value = 0;
  asm volatile("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 0.5;" : "=l"(policy));
  asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(value) : "l"(in + threadIdx.x), "l"(policy));
  asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(out + threadIdx.x), "r"(value), "l"(policy)
               : "memory");
}
CASE(cache_policies) {
  std::vector<int> in(64);
  std::iota(in.begin(), in.end(), 5);
  Buffer<int> device(in), out(64);
  Hints<<<1, 64>>>(device, out);
  EXPECT_SAME(out.Get(), in);
}
