// cuRAND's device API: code nobody here wrote. Its generators are defined for the host too, so the very same sequence
// is the reference for the integers; distributions are checked by their moments.
#include <curand_kernel.h>

#include "tests/cuda/harness.h"

constexpr int kThreads = 64, kDraws = 200;

template <class State>
__global__ void Draw(unsigned* integers, float* uniform, float* normal, double* doubles) {
  const int id = int(blockIdx.x * blockDim.x + threadIdx.x);
  State state;
  curand_init(1234ull, id, 5, &state);
  for (int i = 0; i < kDraws; ++i) {
    integers[id * kDraws + i] = curand(&state);
    uniform[id * kDraws + i] = curand_uniform(&state);
    normal[id * kDraws + i] = curand_normal(&state);
    doubles[id * kDraws + i] = curand_uniform_double(&state);
  }
}
struct Moments {
  double mean = 0, variance = 0, lowest = 1e300, highest = -1e300;
};
template <class T>
static Moments MomentsOf(const std::vector<T>& values) {
  Moments m;
  for (T v : values)
    m.mean += double(v) / double(values.size()), m.lowest = std::min(m.lowest, double(v)),
                                                 m.highest = std::max(m.highest, double(v));
  for (T v : values) m.variance += (double(v) - m.mean) * (double(v) - m.mean) / double(values.size());
  return m;
}
template <class State>
static void CheckGenerator(std::vector<unsigned>* integers) {
  Buffer<unsigned> device_integers(kThreads * kDraws);
  Buffer<float> uniform(kThreads * kDraws), normal(kThreads * kDraws);
  Buffer<double> doubles(kThreads * kDraws);
  Draw<State><<<2, kThreads / 2>>>(device_integers, uniform, normal, doubles);
  CUDA_OK(cudaGetLastError());
  *integers = device_integers.Get();
  const Moments u = MomentsOf(uniform.Get()), n = MomentsOf(normal.Get()), d = MomentsOf(doubles.Get());
  EXPECT(std::fabs(u.mean - 0.5) < 0.015 && std::fabs(u.variance - 1 / 12.0) < 0.005 && u.lowest > 0 && u.highest <= 1);
  EXPECT(std::fabs(d.mean - 0.5) < 0.015 && std::fabs(d.variance - 1 / 12.0) < 0.005 && d.lowest > 0 && d.highest <= 1);
  EXPECT(std::fabs(n.mean) < 0.05 && std::fabs(n.variance - 1) < 0.06 && n.lowest < -2.5 && n.highest > 2.5 &&
         n.highest < 7);
}
CASE(xorwow) {
  std::vector<unsigned> integers;
  CheckGenerator<curandStateXORWOW_t>(&integers);
  EXPECT(std::fabs(MomentsOf(integers).mean / 4294967296.0 - 0.5) < 0.015);
}
CASE(mrg32k3a) {
  std::vector<unsigned> integers;
  CheckGenerator<curandStateMRG32k3a_t>(&integers);
  EXPECT(std::fabs(MomentsOf(integers).mean / 4294967296.0 - 0.5) < 0.015);
}
CASE(philox) {
  std::vector<unsigned> integers;
  CheckGenerator<curandStatePhilox4_32_10_t>(&integers);
  EXPECT(std::fabs(MomentsOf(integers).mean / 4294967296.0 - 0.5) < 0.015);
}

// Philox 4x32-10 by its definition (Salmon and others, 2011).
static void PhiloxHost(uint32_t c[4], uint32_t k0, uint32_t k1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t(0xD2511F53u) * c[0], b = uint64_t(0xCD9E8D57u) * c[2];
    const uint32_t next[4] = {uint32_t(b >> 32) ^ c[1] ^ k0, uint32_t(b), uint32_t(a >> 32) ^ c[3] ^ k1, uint32_t(a)};
    for (int i = 0; i < 4; ++i) c[i] = next[i];
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
}
__global__ void PhiloxFours(uint4* out, unsigned long long seed) {
  curandStatePhilox4_32_10_t state;
  curand_init(seed, threadIdx.x, 0, &state);
  for (int i = 0; i < 8; ++i) out[threadIdx.x * 8 + i] = curand4(&state);
}
CASE(philox_by_definition) {
  constexpr unsigned long long kSeed = 0x123456789ABCDEFull;
  Buffer<uint4> out(32 * 8);
  PhiloxFours<<<1, 32>>>(out, kSeed);
  std::vector<uint4> want;
  for (uint32_t t = 0; t < 32; ++t)
    for (uint32_t i = 0; i < 8; ++i) {
      uint32_t counter[4] = {i, 0, t, 0};  // the subsequence is the counter's upper half
      PhiloxHost(counter, uint32_t(kSeed), uint32_t(kSeed >> 32));
      want.push_back(make_uint4(counter[0], counter[1], counter[2], counter[3]));
    }
  EXPECT_SAME(out.Get(), want);
}
// XORWOW by its definition (Marsaglia, 2003), from the state that curand_init made.
__global__ void XorwowStates(unsigned* states, unsigned* out) {
  curandStateXORWOW_t state;
  curand_init(99, threadIdx.x, 0, &state);
  unsigned* saved = states + threadIdx.x * 6;
  saved[0] = state.d;
  for (int i = 0; i < 5; ++i) saved[1 + i] = state.v[i];
  for (int i = 0; i < 20; ++i) out[threadIdx.x * 20 + i] = curand(&state);
}
CASE(xorwow_by_definition) {
  Buffer<unsigned> states(32 * 6), out(32 * 20);
  XorwowStates<<<1, 32>>>(states, out);
  const std::vector<unsigned> from = states.Get();
  std::vector<unsigned> want;
  for (int t = 0; t < 32; ++t) {
    unsigned d = from[t * 6], v[5];
    for (int i = 0; i < 5; ++i) v[i] = from[t * 6 + 1 + i];
    for (int i = 0; i < 20; ++i) {
      const unsigned x = v[0] ^ (v[0] >> 2);
      for (int k = 0; k < 4; ++k) v[k] = v[k + 1];
      v[4] = (v[4] ^ (v[4] << 4)) ^ (x ^ (x << 1));
      d += 362437;
      want.push_back(v[4] + d);
    }
  }
  EXPECT_SAME(out.Get(), want);
}
__global__ void MonteCarloPi(unsigned long long* inside) {
  curandState state;
  curand_init(42, blockIdx.x * blockDim.x + threadIdx.x, 0, &state);
  unsigned hits = 0;
  for (int i = 0; i < 500; ++i) {
    const float x = curand_uniform(&state), y = curand_uniform(&state);
    hits += x * x + y * y <= 1;
  }
  atomicAdd(inside, (unsigned long long)hits);
}
CASE(monte_carlo_pi) {
  Buffer<unsigned long long> inside(1);
  MonteCarloPi<<<4, 128>>>(inside);
  EXPECT(std::fabs(4.0 * double(inside.Get()[0]) / (512 * 500) - M_PI) < 0.02);
}
__global__ void Distributions(float* lognormal, unsigned* poisson, float2* pairs) {
  curandStatePhilox4_32_10_t state;
  curand_init(7, threadIdx.x, 0, &state);
  for (int i = 0; i < kDraws; ++i) {
    const int at = int(threadIdx.x) * kDraws + i;
    lognormal[at] = logf(curand_log_normal(&state, 1.0f, 0.5f));
    poisson[at] = curand_poisson(&state, 4.0);
    pairs[at] = curand_normal2(&state);
  }
}
CASE(other_distributions) {
  Buffer<float> lognormal(kThreads * kDraws);
  Buffer<unsigned> poisson(kThreads * kDraws);
  Buffer<float2> pairs(kThreads * kDraws);
  Distributions<<<1, kThreads>>>(lognormal, poisson, pairs);
  const Moments l = MomentsOf(lognormal.Get()), p = MomentsOf(poisson.Get());
  EXPECT(std::fabs(l.mean - 1) < 0.03 && std::fabs(l.variance - 0.25) < 0.02);
  EXPECT(std::fabs(p.mean - 4) < 0.1 && std::fabs(p.variance - 4) < 0.25);
  double correlation = 0;
  for (const float2& v : pairs.Get()) correlation += double(v.x) * v.y / (kThreads * kDraws);
  EXPECT(std::fabs(correlation) < 0.05);
}
