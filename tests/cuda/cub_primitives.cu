// CUB: device-wide, block-wide and warp-wide primitives, code nobody here wrote.
#include <cub/cub.cuh>

#include <numeric>

#include "tests/cuda/harness.h"

using u32 = uint32_t;

static std::vector<u32> Numbers(int n, u32 range) {
  harness::Random random(uint64_t(n) + range);
  std::vector<u32> out(n);
  for (u32& v : out) v = u32(random.Next() % range);
  return out;
}
// Calls a device-wide primitive twice, as CUB wants: for the size of its storage, then for the work.
template <class F>
static void Call(F primitive) {
  size_t bytes = 0;
  CUDA_OK(primitive(nullptr, bytes));
  Buffer<unsigned char> storage(bytes + 1);
  CUDA_OK(primitive(static_cast<void*>(storage.get()), bytes));
}

CASE(device_radix_sort_pairs) {
  constexpr int kN = 20000;
  const std::vector<u32> keys = Numbers(kN, 1000);
  std::vector<u32> values(kN);
  std::iota(values.begin(), values.end(), 0);
  Buffer<u32> dk(keys), dv(values), ok(kN), ov(kN);
  Call([&](void* s, size_t& b) {
    return cub::DeviceRadixSort::SortPairs(s, b, dk.get(), ok.get(), dv.get(), ov.get(), kN);
  });
  std::stable_sort(values.begin(), values.end(), [&](u32 a, u32 b) { return keys[a] < keys[b]; });
  EXPECT_SAME(ov.Get(), values);
}
CASE(device_radix_sort_floats_descending) {
  constexpr int kN = 7000;
  std::vector<float> keys(kN);
  harness::Random random(3);
  for (float& k : keys) k = float(random.Uniform() * 200 - 100);
  Buffer<float> in(keys), out(kN);
  Call([&](void* s, size_t& b) { return cub::DeviceRadixSort::SortKeysDescending(s, b, in.get(), out.get(), kN); });
  std::sort(keys.begin(), keys.end(), std::greater<float>());
  EXPECT_SAME(out.Get(), keys);
}
CASE(device_scan) {
  constexpr int kN = 60000;
  const std::vector<u32> values = Numbers(kN, 50);
  Buffer<u32> in(values), out(kN), out2(kN);
  Call([&](void* s, size_t& b) { return cub::DeviceScan::InclusiveSum(s, b, in.get(), out.get(), kN); });
  Call([&](void* s, size_t& b) {
    return cub::DeviceScan::ExclusiveScan(s, b, in.get(), out2.get(), cuda::maximum<>(), 3u, kN);
  });
  std::vector<u32> want(kN), want2(kN);
  u32 largest = 3;
  for (int i = 0; i < kN; ++i)
    want[i] = values[i] + (i ? want[i - 1] : 0), want2[i] = largest, largest = std::max(largest, values[i]);
  EXPECT_SAME(out.Get(), want);
  EXPECT_SAME(out2.Get(), want2);
}
CASE(device_reduce) {
  constexpr int kN = 70001;
  std::vector<double> values(kN);
  for (int i = 0; i < kN; ++i) values[i] = (i * 31 % 1000) * 0.5;
  Buffer<double> in(values), sum(1), low(1);
  Buffer<cub::KeyValuePair<int, double>> highest(1);
  Call([&](void* s, size_t& b) { return cub::DeviceReduce::Sum(s, b, in.get(), sum.get(), kN); });
  Call([&](void* s, size_t& b) { return cub::DeviceReduce::Min(s, b, in.get(), low.get(), kN); });
  EXPECT_EQ(sum.Get()[0], std::accumulate(values.begin(), values.end(), 0.0));
  EXPECT_EQ(low.Get()[0], 0.0);
}
struct Small {
  __device__ bool operator()(u32 x) const { return x < 300; }
};
CASE(device_select) {
  constexpr int kN = 25000;
  const std::vector<u32> values = Numbers(kN, 1000);
  Buffer<u32> in(values), out(kN);
  Buffer<int> count(1);
  Call([&](void* s, size_t& b) { return cub::DeviceSelect::If(s, b, in.get(), out.get(), count.get(), kN, Small()); });
  std::vector<u32> want;
  for (u32 v : values)
    if (v < 300) want.push_back(v);
  EXPECT_EQ(count.Get()[0], int(want.size()));
  std::vector<u32> got = out.Get();
  got.resize(want.size());
  EXPECT_SAME(got, want);
}
CASE(device_histogram) {
  constexpr int kN = 30000;
  const std::vector<u32> values = Numbers(kN, 100);
  Buffer<u32> in(values);
  Buffer<int> bins(10);
  Call([&](void* s, size_t& b) {
    return cub::DeviceHistogram::HistogramEven(s, b, in.get(), bins.get(), 11, 0u, 100u, kN);
  });
  std::vector<int> want(10);
  for (u32 v : values) ++want[v / 10];
  EXPECT_SAME(bins.Get(), want);
}
CASE(device_run_length_encode) {
  std::vector<u32> values = Numbers(9000, 40);
  std::sort(values.begin(), values.begin() + 6000);
  Buffer<u32> in(values), keys(9000);
  Buffer<int> lengths(9000), runs(1);
  Call([&](void* s, size_t& b) {
    return cub::DeviceRunLengthEncode::Encode(s, b, in.get(), keys.get(), lengths.get(), runs.get(), 9000);
  });
  std::vector<int> want;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i == 0 || values[i] != values[i - 1]) want.push_back(0);
    ++want.back();
  }
  EXPECT_EQ(runs.Get()[0], int(want.size()));
  std::vector<int> got = lengths.Get();
  got.resize(want.size());
  EXPECT_SAME(got, want);
}
CASE(device_segmented_reduce) {
  std::vector<int> values(1000), offsets = {0, 10, 10, 400, 1000}, want;
  for (int i = 0; i < 1000; ++i) values[i] = i % 17;
  for (int s = 0; s < 4; ++s)
    want.push_back(std::accumulate(values.begin() + offsets[s], values.begin() + offsets[s + 1], 0));
  Buffer<int> in(values), bounds(offsets), out(4);
  Call([&](void* s, size_t& b) {
    return cub::DeviceSegmentedReduce::Sum(s, b, in.get(), out.get(), 4, bounds.get(), bounds.get() + 1);
  });
  EXPECT_SAME(out.Get(), want);
}

__global__ void BlockPrimitives(const int* in, int* sorted, int* scanned, int* sums) {
  using Load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<int, 128, 4>;
  using Scan = cub::BlockScan<int, 128>;
  using Reduce = cub::BlockReduce<int, 128>;
  using Store = cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_TRANSPOSE>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Sort::TempStorage sort;
    typename Scan::TempStorage scan;
    typename Reduce::TempStorage reduce;
    typename Store::TempStorage store;
  } storage;
  int items[4];
  const int base = int(blockIdx.x) * 512;
  Load(storage.load).Load(in + base, items);
  __syncthreads();
  const int sum = Reduce(storage.reduce).Sum(items);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  __syncthreads();
  Sort(storage.sort).Sort(items);
  __syncthreads();
  int copies[4] = {items[0], items[1], items[2], items[3]};  // storing shuffles its argument
  Store(storage.store).Store(sorted + base, copies);
  __syncthreads();
  Scan(storage.scan).InclusiveSum(items, items);
  __syncthreads();
  Store(storage.store).Store(scanned + base, items);
}
CASE(block_primitives) {
  constexpr int kBlocks = 5, kN = kBlocks * 512;
  std::vector<int> in(kN);
  for (int i = 0; i < kN; ++i) in[i] = i * 7919 % 1013 - 400;
  Buffer<int> device(in), sorted(kN), scanned(kN), sums(kBlocks);
  BlockPrimitives<<<kBlocks, 128>>>(device, sorted, scanned, sums);
  std::vector<int> want = in, want_scan(kN), want_sums(kBlocks);
  for (int b = 0; b < kBlocks; ++b) {
    std::sort(want.begin() + b * 512, want.begin() + (b + 1) * 512);
    std::partial_sum(want.begin() + b * 512, want.begin() + (b + 1) * 512, want_scan.begin() + b * 512);
    want_sums[b] = want_scan[b * 512 + 511];
  }
  EXPECT_SAME(sorted.Get(), want);
  EXPECT_SAME(scanned.Get(), want_scan);
  EXPECT_SAME(sums.Get(), want_sums);
}
__global__ void WarpPrimitives(const int* in, int* scanned, int* sums) {
  __shared__ typename cub::WarpScan<int>::TempStorage scan[4];
  __shared__ typename cub::WarpReduce<int, 16>::TempStorage reduce[8];
  const int t = int(threadIdx.x);
  int v = in[t], total;
  cub::WarpScan<int>(scan[t / 32]).ExclusiveSum(v, v, total);
  scanned[t] = v + 1000 * total;
  const int sum = cub::WarpReduce<int, 16>(reduce[t / 16]).Sum(in[t]);
  if (t % 16 == 0) sums[t / 16] = sum;
}
CASE(warp_primitives) {
  std::vector<int> in(128), want(128), want_sums(8);
  for (int i = 0; i < 128; ++i) in[i] = i * 3 % 10, want_sums[i / 16] += in[i];
  for (int w = 0; w < 4; ++w) {
    int sum = 0;
    for (int l = 0; l < 32; ++l) want[w * 32 + l] = sum, sum += in[w * 32 + l];
    for (int l = 0; l < 32; ++l) want[w * 32 + l] += 1000 * sum;
  }
  Buffer<int> device(in), scanned(128), sums(8);
  WarpPrimitives<<<1, 128>>>(device, scanned, sums);
  EXPECT_SAME(scanned.Get(), want);
  EXPECT_SAME(sums.Get(), want_sums);
}
