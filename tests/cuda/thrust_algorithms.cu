// Thrust: code nobody here wrote.
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/unique.h>

#include <map>
#include <numeric>

#include "tests/cuda/harness.h"

static std::vector<int> Numbers(int n, int range) {
  harness::Random random(uint64_t(n) + 1);
  std::vector<int> out(n);
  for (int& v : out) v = random.Below(range) - range / 2;
  return out;
}
template <class T>
static std::vector<T> Host(const thrust::device_vector<T>& device) {
  std::vector<T> out(device.size());
  thrust::copy(device.begin(), device.end(), out.begin());
  harness::Hash(out.data(), out.size() * sizeof(T));
  return out;
}

CASE(sort_integers) {
  std::vector<int> values = Numbers(30000, 1 << 30);
  thrust::device_vector<int> device(values);
  thrust::sort(device.begin(), device.end());
  std::sort(values.begin(), values.end());
  EXPECT_SAME(Host(device), values);
}
struct ByRemainder {
  __host__ __device__ bool operator()(int a, int b) const {
    const int x = (a % 100 + 100) % 100, y = (b % 100 + 100) % 100;
    return x != y ? x < y : a < b;
  }
};
CASE(sort_with_comparator) {  // merge sort
  std::vector<int> values = Numbers(5000, 100000);
  thrust::device_vector<int> device(values);
  thrust::stable_sort(device.begin(), device.end(), ByRemainder());
  std::stable_sort(values.begin(), values.end(), ByRemainder());
  EXPECT_SAME(Host(device), values);
}
CASE(sort_by_key) {
  const std::vector<int> keys = Numbers(10000, 500);
  std::vector<int> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  thrust::device_vector<int> device_keys(keys), device_values(order);
  thrust::stable_sort_by_key(device_keys.begin(), device_keys.end(), device_values.begin());
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
  EXPECT_SAME(Host(device_values), order);
}
CASE(scans) {
  const std::vector<int> values = Numbers(40000, 100);
  thrust::device_vector<int> device(values), inclusive(values.size()), exclusive(values.size());
  thrust::inclusive_scan(device.begin(), device.end(), inclusive.begin());
  thrust::exclusive_scan(device.begin(), device.end(), exclusive.begin(), 5);
  std::vector<int> want(values.size()), want2(values.size());
  std::partial_sum(values.begin(), values.end(), want.begin());
  for (size_t i = 0; i < values.size(); ++i) want2[i] = 5 + (i ? want[i - 1] : 0);
  EXPECT_SAME(Host(inclusive), want);
  EXPECT_SAME(Host(exclusive), want2);
}
CASE(reductions) {
  const std::vector<int> values = Numbers(50001, 1000);
  thrust::device_vector<int> device(values);
  EXPECT_EQ(thrust::reduce(device.begin(), device.end()), std::accumulate(values.begin(), values.end(), 0));
  EXPECT_EQ(thrust::reduce(device.begin(), device.end(), -100000, thrust::maximum<int>()),
            *std::max_element(values.begin(), values.end()));
  EXPECT_EQ(thrust::inner_product(device.begin(), device.end(), device.begin(), 0ll),
            std::inner_product(values.begin(), values.end(), values.begin(), 0ll));
  EXPECT_EQ(int(thrust::count(device.begin(), device.end(), 7)), int(std::count(values.begin(), values.end(), 7)));
}
CASE(unique_and_remove) {
  std::vector<int> values = Numbers(20000, 50);
  std::sort(values.begin(), values.begin() + 10000);
  thrust::device_vector<int> device(values);
  device.erase(thrust::unique(device.begin(), device.end()), device.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  EXPECT_SAME(Host(device), values);
}
struct Affine {
  float a, b;
  __host__ __device__ float operator()(float x, float y) const { return a * x + b * y; }
};
CASE(transform_binary) {
  thrust::device_vector<float> x(10000), y(10000), out(10000);
  thrust::sequence(x.begin(), x.end());
  thrust::fill(y.begin(), y.end(), 3.0f);
  thrust::transform(x.begin(), x.end(), y.begin(), out.begin(), Affine{2, 5});
  std::vector<float> want(10000);
  for (int i = 0; i < 10000; ++i) want[i] = 2.0f * float(i) + 15;
  EXPECT_SAME(Host(out), want);
}
CASE(reduce_by_key) {
  std::vector<int> keys = Numbers(8000, 60), values = Numbers(8000, 1000);
  std::sort(keys.begin(), keys.end());
  thrust::device_vector<int> device_keys(keys), device_values(values), out_keys(8000), out_values(8000);
  const auto end = thrust::reduce_by_key(device_keys.begin(), device_keys.end(), device_values.begin(),
                                         out_keys.begin(), out_values.begin());
  out_values.resize(end.second - out_values.begin());
  std::map<int, int> sums;
  for (size_t i = 0; i < keys.size(); ++i) sums[keys[i]] += values[i];
  std::vector<int> want;
  for (const auto& sum : sums) want.push_back(sum.second);
  EXPECT_SAME(Host(out_values), want);
}
struct IsEven {
  __host__ __device__ bool operator()(int x) const { return x % 2 == 0; }
};
CASE(copy_if_from_iterator) {
  thrust::device_vector<int> out(5000);
  const auto end =
      thrust::copy_if(thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(10000), out.begin(), IsEven());
  EXPECT_EQ(end - out.begin(), 5000);
  std::vector<int> want;
  for (int i = 0; i < 5000; ++i) want.push_back(2 * i);
  EXPECT_SAME(Host(out), want);
}
CASE(binary_searches) {
  std::vector<int> sorted = Numbers(3000, 5000), keys = Numbers(500, 6000);
  std::sort(sorted.begin(), sorted.end());
  thrust::device_vector<int> device(sorted), device_keys(keys), out(500);
  thrust::lower_bound(device.begin(), device.end(), device_keys.begin(), device_keys.end(), out.begin());
  std::vector<int> want;
  for (int key : keys) want.push_back(int(std::lower_bound(sorted.begin(), sorted.end(), key) - sorted.begin()));
  EXPECT_SAME(Host(out), want);
}
