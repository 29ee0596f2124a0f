// Cooperative groups within a block.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "tests/cuda/harness.h"

namespace cg = cooperative_groups;

template <int kSize>
__global__ void TiledSum(const int* in, int* out) {
  auto tile = cg::tiled_partition<kSize>(cg::this_thread_block());
  int v = in[threadIdx.x];
  for (int step = kSize / 2; step; step /= 2) v += tile.shfl_down(v, step);
  if (tile.thread_rank() == 0) out[threadIdx.x / kSize] = v;
}
template <int kSize>
static void CheckTiles() {
  std::vector<int> in(128), want(128 / kSize);
  for (int i = 0; i < 128; ++i) in[i] = i * i % 31, want[i / kSize] += in[i];
  Buffer<int> device(in), out(128 / kSize);
  TiledSum<kSize><<<1, 128>>>(device, out);
  EXPECT_SAME(out.Get(), want);
}
CASE(tiles_of_every_size) { CheckTiles<32>(), CheckTiles<16>(), CheckTiles<8>(), CheckTiles<4>(), CheckTiles<2>(); }

__global__ void ReduceAndScan(const int* in, int* out) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  const int v = in[block.thread_rank()];
  const int sum = cg::reduce(tile, v, cg::plus<int>());
  const int high = cg::reduce(tile, v, cg::greater<int>());
  const int before = cg::exclusive_scan(tile, v, cg::plus<int>());
  out[block.thread_rank()] = sum * 10000 + high * 1000 + before;
}
CASE(reduce_and_scan) {
  std::vector<int> in(64), want(64);
  for (int i = 0; i < 64; ++i) in[i] = (i * 5 + 2) % 7;
  for (int g = 0; g < 4; ++g) {
    int sum = 0, high = 0;
    for (int l = 0; l < 16; ++l) want[g * 16 + l] = sum, sum += in[g * 16 + l], high = std::max(high, in[g * 16 + l]);
    for (int l = 0; l < 16; ++l) want[g * 16 + l] += sum * 10000 + high * 1000;
  }
  Buffer<int> device(in), out(64);
  ReduceAndScan<<<1, 64>>>(device, out);
  EXPECT_SAME(out.Get(), want);
}
__global__ void Coalesced(const int* in, int* counter, int* out) {
  const int v = in[threadIdx.x];
  out[threadIdx.x] = -1;
  if (v % 3 == 0) {
    auto active = cg::coalesced_threads();
    int base = 0;
    if (active.thread_rank() == 0) base = atomicAdd(counter, int(active.size()));
    base = active.shfl(base, 0);
    out[threadIdx.x] = int(active.size()) * 100 + int(active.thread_rank());
    if (base < 0) out[0] = base;
  }
}
CASE(coalesced_threads) {
  std::vector<int> in(64), want(64, -1);
  int total = 0;
  for (int i = 0; i < 64; ++i) in[i] = i * 11 % 19;
  for (int w = 0; w < 2; ++w) {
    std::vector<int> members;
    for (int l = 0; l < 32; ++l)
      if (in[w * 32 + l] % 3 == 0) members.push_back(w * 32 + l);
    for (size_t i = 0; i < members.size(); ++i) want[members[i]] = int(members.size()) * 100 + int(i);
    total += int(members.size());
  }
  Buffer<int> device(in), counter(1), out(64);
  Coalesced<<<1, 64>>>(device, counter, out);
  EXPECT_SAME(out.Get(), want);
  EXPECT_EQ(counter.Get()[0], total);
}
__global__ void Partitions(int* out) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto odd_even = cg::binary_partition(warp, threadIdx.x % 2 == 1);
  auto labelled = cg::labeled_partition(warp, int(threadIdx.x % 5));
  out[threadIdx.x] =
      int(odd_even.size()) * 1000 + int(labelled.size()) * 100 + cg::reduce(labelled, 1, cg::plus<int>());
}
CASE(binary_and_labelled_partitions) {
  Buffer<int> out(32);
  Partitions<<<1, 32>>>(out);
  std::vector<int> want;
  for (int t = 0; t < 32; ++t) want.push_back(16000 + (t % 5 < 2 ? 7 : 6) * 101);
  EXPECT_SAME(out.Get(), want);
}
__global__ void BlockGroup(int* out) {
  auto block = cg::this_thread_block();
  __shared__ int values[60];
  values[block.thread_rank()] = int(block.thread_rank());
  block.sync();
  auto tile = cg::tiled_partition<4>(block);
  tile.sync();
  const dim3 index = block.thread_index();
  out[block.thread_rank()] = values[59 - block.thread_rank()] + 100 * int(tile.meta_group_rank()) +
                             10000 * int(index.y) + int(tile.any(tile.thread_rank() == 2)) * 1000000;
}
CASE(block_groups) {
  Buffer<int> out(60);
  BlockGroup<<<1, dim3(20, 3)>>>(out);
  std::vector<int> want;
  for (int t = 0; t < 60; ++t) want.push_back(59 - t + 100 * (t / 4) + 10000 * (t / 20) + 1000000);
  EXPECT_SAME(out.Get(), want);
}
