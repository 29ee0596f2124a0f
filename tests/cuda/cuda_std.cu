// The CUDA C++ standard library: cuda::std and cuda::atomic_ref.
#include <cuda/atomic>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/complex>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>

#include "tests/cuda/harness.h"

using u32 = uint32_t;

__global__ void Arrays(int* out) {
  cuda::std::array<int, 6> values = {5, 3, 8, 1, 9, 2};
  for (size_t i = 0; i < values.size(); ++i) values[i] += int(threadIdx.x);
  cuda::std::swap(values[0], values[5]);
  cuda::std::span<int> middle(values.data() + 1, 4);
  int sum = 0;
  for (int v : middle) sum = sum * 3 + v;
  const auto pair = cuda::std::make_tuple(sum, values.front(), values.back());
  out[threadIdx.x] = cuda::std::get<0>(pair) + 100000 * cuda::std::get<1>(pair) + 1000000 * cuda::std::get<2>(pair);
}
CASE(array_span_tuple) {
  Buffer<int> out(32);
  Arrays<<<1, 32>>>(out);
  std::vector<int> want;
  for (int t = 0; t < 32; ++t) {
    int sum = 0;
    for (int v : {3, 8, 1, 9}) sum = sum * 3 + v + t;
    want.push_back(sum + 100000 * (2 + t) + 1000000 * (5 + t));
  }
  EXPECT_SAME(out.Get(), want);
}
__global__ void Optionals(const int* in, int* out) {
  const auto half = [](int x) { return x % 2 ? cuda::std::nullopt : cuda::std::optional<int>(x / 2); };
  const cuda::std::optional<int> a = half(in[threadIdx.x]);
  out[threadIdx.x] = a ? *a * 10 : a.value_or(-7);
}
CASE(optional) {
  std::vector<int> in(32), want;
  for (int i = 0; i < 32; ++i) in[i] = i * 7 % 23, want.push_back(in[i] % 2 ? -7 : in[i] / 2 * 10);
  Buffer<int> device(in), out(32);
  Optionals<<<1, 32>>>(device, out);
  EXPECT_SAME(out.Get(), want);
}
__global__ void Complex(const float* in, float* out, double* magnitudes) {
  const int t = int(threadIdx.x);
  const cuda::std::complex<float> a(in[t], 1), b(2, in[t] - 3);
  const cuda::std::complex<float> c = a * b + cuda::std::conj(a) - b / cuda::std::complex<float>(0.5f, 0);
  out[2 * t] = c.real(), out[2 * t + 1] = c.imag();
  const cuda::std::complex<double> z(in[t], 2.0 * in[t]);
  magnitudes[t] = cuda::std::abs(z) + cuda::std::norm(z) + cuda::std::exp(cuda::std::complex<double>(0, 1)).real();
}
CASE(complex_numbers) {
  std::vector<float> in(32), want;
  std::vector<double> want2;
  for (int t = 0; t < 32; ++t) {
    const float x = in[t] = float(t) - 8;
    // (x + i)(2 + (x - 3) i) + (x - i) - 2 (2 + (x - 3) i)
    want.push_back(2 * x - (x - 3) + x - 4), want.push_back(x * (x - 3) + 2 - 1 - 2 * (x - 3));
    want2.push_back(std::hypot(double(x), 2.0 * x) + 5.0 * x * x + std::cos(1.0));
  }
  Buffer<float> device(in), out(64);
  Buffer<double> magnitudes(32);
  Complex<<<1, 32>>>(device, out, magnitudes);
  EXPECT_SAME(out.Get(), want);
  EXPECT_NEAR_ULP(magnitudes.Get(), want2, 8);
}
__global__ void Bits(const u32* in, u32* out) {
  const u32 x = in[threadIdx.x];
  out[threadIdx.x] = u32(cuda::std::popcount(x)) | u32(cuda::std::countl_zero(x)) << 8 |
                     u32(cuda::std::countr_zero(x)) << 16 | u32(cuda::std::has_single_bit(x)) << 24 |
                     u32(cuda::std::bit_width(x) % 2) << 25;
  out[32 + threadIdx.x] = cuda::std::rotl(x, int(threadIdx.x)) ^ cuda::std::bit_cast<u32>(float(threadIdx.x));
}
CASE(bit_functions) {
  const std::vector<u32> in = harness::Inputs<u32>(32, 4);
  Buffer<u32> device(in), out(64);
  Bits<<<1, 32>>>(device, out);
  std::vector<u32> want(64);
  for (u32 t = 0; t < 32; ++t) {
    const u32 x = in[t], lead = x ? u32(__builtin_clz(x)) : 32, trail = x ? u32(__builtin_ctz(x)) : 32;
    const u32 count = u32(__builtin_popcount(x));
    want[t] = count | lead << 8 | trail << 16 | u32(count == 1) << 24 | (32 - lead) % 2 << 25;
    want[32 + t] = (t ? x << t | x >> (32 - t) : x) ^ __builtin_bit_cast(u32, float(t));
  }
  EXPECT_SAME(out.Get(), want);
}
__global__ void AtomicRefs(int* cells, float* sum, unsigned long long* wide) {
  cuda::atomic_ref<int, cuda::thread_scope_device> counter(cells[0]);
  counter.fetch_add(1, cuda::std::memory_order_relaxed);
  cuda::atomic_ref<int, cuda::thread_scope_device> highest(cells[1]);
  highest.fetch_max(int(threadIdx.x * 37 % 101));
  cuda::atomic_ref<int, cuda::thread_scope_system> product(cells[2]);
  int old = product.load();
  while (!product.compare_exchange_weak(old, old * 3 + 1, cuda::std::memory_order_acq_rel)) {
  }
  cuda::atomic_ref<float, cuda::thread_scope_device>(*sum).fetch_add(0.5f);
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_block>(*wide).fetch_xor(1ull << (threadIdx.x % 61));
}
CASE(atomic_refs) {
  Buffer<int> cells(3);
  Buffer<float> sum(1);
  Buffer<unsigned long long> wide(1);
  AtomicRefs<<<1, 101>>>(cells, sum, wide);
  u32 product = 0;
  unsigned long long bits = 0;
  for (int t = 0; t < 101; ++t) product = product * 3 + 1, bits ^= 1ull << (t % 61);
  EXPECT_SAME(cells.Get(), (std::vector<int>{101, 100, int(product)}));
  EXPECT_EQ(sum.Get()[0], 50.5f);
  EXPECT_EQ(wide.Get()[0], bits);
}
// Release and acquire between blocks.
__global__ void Publish(cuda::atomic<int, cuda::thread_scope_device>* ready, int* data, int* out) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = int(threadIdx.x) * 3;
    __syncthreads();
    if (threadIdx.x == 0) ready->store(1, cuda::std::memory_order_release);
  } else {
    if (threadIdx.x == 0)
      while (ready->load(cuda::std::memory_order_acquire) == 0) {
      }
    __syncthreads();
    out[(blockIdx.x - 1) * 32 + threadIdx.x] = data[31 - threadIdx.x];
  }
}
CASE(release_and_acquire) {
  Buffer<cuda::atomic<int, cuda::thread_scope_device>> ready(1);
  Buffer<int> data(32), out(64);
  Publish<<<3, 32>>>(ready, data, out);
  std::vector<int> want;
  for (int i = 0; i < 64; ++i) want.push_back((31 - i % 32) * 3);
  EXPECT_SAME(out.Get(), want);
}
template <class T>
__device__ double Limits() {
  using L = cuda::std::numeric_limits<T>;
  return double(L::max()) - double(L::lowest()) + L::digits + (cuda::std::is_signed_v<T> ? 0.5 : 0);
}
__global__ void TypeTraits(double* out) {
  out[0] = Limits<short>(), out[1] = Limits<unsigned>(), out[2] = Limits<signed char>();
}
CASE(limits_and_traits) {
  Buffer<double> out(3);
  TypeTraits<<<1, 1>>>(out);
  EXPECT_SAME(out.Get(), (std::vector<double>{65535 + 15.5, 4294967295.0 + 32, 255 + 7.5}));
}
