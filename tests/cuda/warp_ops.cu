// Shuffles, votes and matches, in whole, partial and diverged warps.
#include "tests/cuda/harness.h"

using u32 = uint32_t;
constexpr u32 kAll = 0xFFFFFFFFu;

__global__ void Shuffles(int* out) {
  const int t = int(threadIdx.x), v = t * t + 3;
  out[t] = __shfl_sync(kAll, v, (t * 7 + 5) % 32);
  out[64 + t] = __shfl_up_sync(kAll, v, 3);
  out[128 + t] = __shfl_down_sync(kAll, v, 5);
  out[192 + t] = __shfl_xor_sync(kAll, v, 21);
  out[256 + t] = __shfl_sync(kAll, v, t + 2, 8);
  out[320 + t] = __shfl_up_sync(kAll, v, 2, 8);
  out[384 + t] = __shfl_down_sync(kAll, v, 3, 16);
  out[448 + t] = __shfl_xor_sync(kAll, v, 9, 8);
}
CASE(shuffles_all_modes) {
  Buffer<int> out(512);
  Shuffles<<<1, 64>>>(out);
  std::vector<int> want(512);
  for (int t = 0; t < 64; ++t) {
    const int warp = t & 32, lane = t & 31;
    const auto v = [&](int l) { return (warp + l) * (warp + l) + 3; };
    want[t] = v((t * 7 + 5) % 32);
    want[64 + t] = v(lane < 3 ? lane : lane - 3);
    want[128 + t] = v(lane + 5 > 31 ? lane : lane + 5);
    want[192 + t] = v(lane ^ 21);
    want[256 + t] = v((lane & 24) | ((t + 2) & 7));
    want[320 + t] = v(lane % 8 < 2 ? lane : lane - 2);
    want[384 + t] = v(lane % 16 + 3 > 15 ? lane : lane + 3);
    want[448 + t] = v((lane ^ 9) / 8 <= lane / 8 ? lane ^ 9 : lane);
  }
  EXPECT_SAME(out.Get(), want);
}
__global__ void ShufflePredicate(int* out) {
  int value, inside;
  asm volatile("{\n\t.reg .pred p;\n\tshfl.sync.down.b32 %0|p, %2, 4, 0x1f, 0xffffffff;\n\tselp.s32 %1, 1, 0, p;\n\t}"
               : "=r"(value), "=r"(inside)
               : "r"(int(threadIdx.x) * 2));
  out[threadIdx.x] = value * 10 + inside;
}
CASE(shuffle_predicate) {
  Buffer<int> out(32);
  ShufflePredicate<<<1, 32>>>(out);
  std::vector<int> want(32);
  for (int t = 0; t < 32; ++t) want[t] = t < 28 ? (t + 4) * 20 + 1 : t * 20;
  EXPECT_SAME(out.Get(), want);
}
template <class T>
__global__ void ShuffleWide(T* out) {
  const T v = T(threadIdx.x) * T(1.5e9);
  out[threadIdx.x] = __shfl_xor_sync(kAll, v, 1) - __shfl_down_sync(kAll, v, 2);
}
CASE(shuffle_64_bits) {
  Buffer<double> d(32);
  Buffer<long long> l(32);
  ShuffleWide<double><<<1, 32>>>(d);
  ShuffleWide<long long><<<1, 32>>>(l);
  std::vector<double> want_d(32);
  std::vector<long long> want_l(32);
  for (int t = 0; t < 32; ++t) {
    const int difference = (t ^ 1) - (t < 30 ? t + 2 : t);
    want_d[t] = difference * 1.5e9, want_l[t] = difference * 1500000000ll;
  }
  EXPECT_SAME(d.Get(), want_d);
  EXPECT_SAME(l.Get(), want_l);
}

__global__ void Votes(const int* in, u32* out) {
  const int v = in[threadIdx.x];
  out[threadIdx.x] = __ballot_sync(kAll, v > 0);
  out[64 + threadIdx.x] =
      (__all_sync(kAll, v > -200) ? 1 : 0) + (__any_sync(kAll, v == 77) ? 2 : 0) + (__all_sync(kAll, v > 0) ? 4 : 0);
}
CASE(votes) {
  std::vector<int> in(64);
  for (int i = 0; i < 64; ++i) in[i] = i * 29 % 41 - 20;
  in[40] = 77;
  Buffer<int> device(in);
  Buffer<u32> out(128);
  Votes<<<1, 64>>>(device, out);
  std::vector<u32> want(128);
  for (int t = 0; t < 64; ++t) {
    for (int l = 0; l < 32; ++l) want[t] |= u32(in[(t & 32) + l] > 0) << l;
    want[64 + t] = 1 + (t >= 32 ? 2 : 0);
  }
  EXPECT_SAME(out.Get(), want);
}
__global__ void VoteUni(int* out) {
  int same, different;
  asm volatile(
      "{\n\t.reg .pred p, q, r;\n\tsetp.lt.s32 p, %2, 64;\n\tvote.sync.uni.pred q, p, 0xffffffff;\n\t"
      "setp.lt.s32 p, %2, 5;\n\tvote.sync.uni.pred r, p, 0xffffffff;\n\tselp.s32 %0, 1, 0, q;\n\tselp.s32 %1, 1, 0, "
      "r;\n\t}"
      : "=r"(same), "=r"(different)
      : "r"(int(threadIdx.x)));
  out[threadIdx.x] = same * 2 + different;
}
CASE(vote_uni) {
  Buffer<int> out(64);
  VoteUni<<<1, 64>>>(out);
  std::vector<int> want(64, 3);
  std::fill(want.begin(), want.begin() + 32, 2);
  EXPECT_SAME(out.Get(), want);
}

__global__ void Matches(const int* in, u32* out) {
  const int v = in[threadIdx.x];
  int all = 0;
  out[threadIdx.x] = __match_any_sync(kAll, v);
  out[32 + threadIdx.x] = __match_any_sync(kAll, (unsigned long long)v << 33);
  out[64 + threadIdx.x] = __match_all_sync(kAll, v, &all) + u32(all);
  out[96 + threadIdx.x] = __match_all_sync(kAll, 7, &all) - u32(all);
}
CASE(matches) {
  std::vector<int> in(32);
  for (int i = 0; i < 32; ++i) in[i] = i * i % 5;
  Buffer<int> device(in);
  Buffer<u32> out(128);
  Matches<<<1, 32>>>(device, out);
  std::vector<u32> want(128);
  for (int t = 0; t < 32; ++t) {
    for (int l = 0; l < 32; ++l) want[t] |= u32(in[l] == in[t]) << l;
    want[32 + t] = want[t], want[64 + t] = 0, want[96 + t] = kAll - 1;
  }
  EXPECT_SAME(out.Get(), want);
}

__global__ void Registers(u32* out) {
  u32 lane, eq, lt, le, gt, ge, warps;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("mov.u32 %0, %%lanemask_eq;" : "=r"(eq));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
  asm("mov.u32 %0, %%lanemask_le;" : "=r"(le));
  asm("mov.u32 %0, %%lanemask_gt;" : "=r"(gt));
  asm("mov.u32 %0, %%lanemask_ge;" : "=r"(ge));
  asm("mov.u32 %0, WARP_SZ;" : "=r"(warps));
  const u32 l = threadIdx.x % 32;
  out[threadIdx.x] = (lane == l) + 2 * (eq == 1u << l) + 4 * (lt == (1u << l) - 1) + 8 * (le == (2u << l) - 1) +
                     16 * (gt == ~((2u << l) - 1)) + 32 * (ge == ~((1u << l) - 1)) + 64 * (warps == 32);
}
CASE(lane_registers) {
  Buffer<u32> out(64);
  Registers<<<1, 64>>>(out);
  EXPECT_SAME(out.Get(), std::vector<u32>(64, 127));
}

template <class T>
__device__ T WarpSum(T v) {
  for (int step = 16; step; step /= 2) v += __shfl_down_sync(kAll, v, step);
  return v;
}
__global__ void BlockSum(const float* in, float* out, int n) {
  __shared__ float sums[32];
  float v = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) v += in[i];
  v = WarpSum(v);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = WarpSum(threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) *out = v;
  }
}
CASE(block_sum_by_shuffles) {
  std::vector<float> in(5000);
  float want = 0;
  for (int i = 0; i < 5000; ++i) want += in[i] = float(i % 13 - 6);
  Buffer<float> device(in), out(1);
  BlockSum<<<1, 256>>>(device, out, 5000);
  EXPECT_EQ(out.Get()[0], want);
}
__global__ void InclusiveScan(const int* in, int* out) {
  const int lane = int(threadIdx.x % 32);
  int v = in[threadIdx.x];
  for (int step = 1; step < 32; step *= 2) {
    const int left = __shfl_up_sync(kAll, v, step);
    if (lane >= step) v += left;
  }
  out[threadIdx.x] = v;
}
CASE(warp_scan) {
  std::vector<int> in(96), want(96);
  for (int i = 0; i < 96; ++i) in[i] = i % 7 - 2, want[i] = in[i] + (i % 32 ? want[i - 1] : 0);
  Buffer<int> device(in), out(96);
  InclusiveScan<<<1, 96>>>(device, out);
  EXPECT_SAME(out.Get(), want);
}

// Divergence: each side of the branch talks to its own lanes only.
__global__ void DivergedShuffles(int* out) {
  const int t = int(threadIdx.x);
  int v;
  if (t % 2) {
    v = __shfl_sync(0xAAAAAAAAu, t * 10, (t + 2) % 32);
  } else {
    v = __shfl_sync(0x55555555u, t * 100, (t + 4) % 32);
    v += int(__popc(__ballot_sync(0x55555555u, t % 4 == 0)));
  }
  out[t] = v;
}
CASE(shuffles_in_branches) {
  Buffer<int> out(32);
  DivergedShuffles<<<1, 32>>>(out);
  std::vector<int> want(32);
  for (int t = 0; t < 32; ++t) want[t] = t % 2 ? (t + 2) % 32 * 10 : (t + 4) % 32 * 100 + 8;
  EXPECT_SAME(out.Get(), want);
}
// Lanes leave a loop at different times; those that remain vote.
__global__ void ShrinkingLoop(u32* out) {
  const u32 t = threadIdx.x;
  u32 mask = kAll, last = 0;
  for (u32 i = 0; i < 32; ++i) {
    const u32 stay = __ballot_sync(mask, t > i);
    last = last * 3 + stay;
    if (t <= i) break;
    mask = stay;
  }
  out[t] = last;
}
CASE(votes_in_shrinking_loop) {
  Buffer<u32> out(32);
  ShrinkingLoop<<<1, 32>>>(out);
  std::vector<u32> want(32);
  for (u32 t = 0; t < 32; ++t)
    for (u32 i = 0; i <= t; ++i) want[t] = want[t] * 3 + (i == 31 ? 0 : kAll << (i + 1));
  EXPECT_SAME(out.Get(), want);
}
__global__ void NestedDivergence(u32* out) {
  const u32 t = threadIdx.x;
  u32 r = 0;
  const u32 quarter = t / 8;
  const u32 mask = 0xFFu << (8 * quarter);
  switch (quarter) {
    case 0:
      r = __shfl_xor_sync(mask, t, 1);
      break;
    case 1:
      r = u32(__popc(__ballot_sync(mask, t & 1)));
      break;
    case 2:
      if (t & 4)
        r = __shfl_sync(mask & 0xF0F0F0F0u, t, 20 + (t + 1) % 4);
      else
        r = __shfl_sync(mask & 0x0F0F0F0Fu, t * 2, 16 + (t + 3) % 4);
      break;
    default:
      r = __match_any_sync(mask, t & 3);
  }
  out[t] = r;
}
CASE(nested_divergence) {
  Buffer<u32> out(32);
  NestedDivergence<<<1, 32>>>(out);
  std::vector<u32> want(32);
  for (u32 t = 0; t < 32; ++t) {
    if (t < 8)
      want[t] = t ^ 1;
    else if (t < 16)
      want[t] = 4;
    else if (t < 24)
      want[t] = t & 4 ? 20 + (t + 1) % 4 : (16 + (t + 3) % 4) * 2;
    else
      want[t] = 0x11u << (24 + (t & 3));
  }
  EXPECT_SAME(out.Get(), want);
}
// The last warp has 8 threads.
__global__ void PartialWarp(u32* out) {
  const u32 mask = __activemask();
  const u32 member = threadIdx.x < 32 ? kAll : 0xFFu;
  out[threadIdx.x] =
      (mask & ~member) + u32(__popc(__ballot_sync(member, 1))) + 100 * __shfl_sync(member, threadIdx.x, 3);
}
CASE(partial_warp) {
  Buffer<u32> out(40);
  PartialWarp<<<1, 40>>>(out);
  std::vector<u32> want(40);
  for (u32 t = 0; t < 40; ++t) want[t] = t < 32 ? 32 + 300 : 8 + 3500;
  EXPECT_SAME(out.Get(), want);
}
// Aggregated atomics, as compilers write them: whoever is active elects a leader.
__global__ void Aggregated(const int* in, u32* counter, u32* positions) {
  if (in[threadIdx.x] % 3 == 0) {
    const u32 active = __match_any_sync(__activemask(), 1);
    const int leader = __ffs(int(active)) - 1, lane = int(threadIdx.x % 32);
    u32 base = 0;
    if (lane == leader) base = atomicAdd(counter, u32(__popc(active)));
    base = __shfl_sync(active, base, leader);
    positions[base + __popc(active & ((1u << lane) - 1))] = 1;
  }
}
CASE(aggregated_atomics) {
  std::vector<int> in(128);
  u32 count = 0;
  for (int i = 0; i < 128; ++i) in[i] = i * 17 % 50, count += in[i] % 3 == 0;
  Buffer<int> device(in);
  Buffer<u32> counter(1), positions(128);
  Aggregated<<<1, 128>>>(device, counter, positions);
  EXPECT_EQ(counter.Get()[0], count);
  const std::vector<u32> got = positions.Get();
  for (u32 i = 0; i < 128; ++i) EXPECT_EQ(got[i], u32(i < count));
}
__global__ void SyncWarp(int* out) {
  __shared__ volatile int s[64];
  const int t = int(threadIdx.x), base = t & ~31, lane = t & 31;
  s[t] = t;
  __syncwarp();
  for (int i = 0; i < 5; ++i) {
    const int v = s[base + ((lane + 1) & 31)];
    __syncwarp();
    s[t] = v + 1;
    __syncwarp();
  }
  out[t] = s[t];
}
CASE(syncwarp) {
  Buffer<int> out(64);
  SyncWarp<<<1, 64>>>(out);
  std::vector<int> want(64);
  for (int t = 0; t < 64; ++t) want[t] = (t & 32) + ((t + 5) & 31) + 5;
  EXPECT_SAME(out.Get(), want);
}
__device__ __noinline__ int ShuffleInFunction(int v, int distance) { return __shfl_xor_sync(kAll, v, distance); }
__global__ void ShuffleThroughCalls(int* out) {
  int v = int(threadIdx.x);
  for (int d = 1; d < 32; d *= 2) v += ShuffleInFunction(v, d);
  out[threadIdx.x] = v;
}
CASE(shuffle_in_called_function) {
  Buffer<int> out(64);
  ShuffleThroughCalls<<<1, 64>>>(out);
  std::vector<int> want(64, 496);
  std::fill(want.begin() + 32, want.end(), 496 + 1024);
  EXPECT_SAME(out.Get(), want);
}

// Undefined in PTX; a GPU (H200) gives 0 from lanes that are not there, have ended, or are not in the mask, and a
// lane's own value where the segment ends.
__global__ void ShuffleFromNobody(int* out, int lanes) {
  const int lane = int(threadIdx.x), value = 100 + lane;
  if (lane >= lanes) return;
  int* const results = out + 4 * lane;
  results[0] = __shfl_sync(0xffffffff, value, 31);
  results[1] = __shfl_up_sync(0xffffffff, value, 1);
  results[2] = __shfl_down_sync(0xffffffff, value, 2);
  results[3] = __shfl_xor_sync(0xffffffff, value, 1);
}
static void CheckShuffles(int threads, int lanes) {
  Buffer<int> out(size_t(4) * threads);
  ShuffleFromNobody<<<1, threads>>>(out, lanes);
  const std::vector<int> got = out.Get();
  const auto of = [&](int lane) { return lane < lanes ? 100 + lane : 0; };
  for (int lane = 0; lane < lanes; ++lane) {
    EXPECT_EQ(got[4 * lane], of(31));
    EXPECT_EQ(got[4 * lane + 1], of(lane == 0 ? 0 : lane - 1));
    EXPECT_EQ(got[4 * lane + 2], of(lane + 2 > 31 ? lane : lane + 2));
    EXPECT_EQ(got[4 * lane + 3], of(lane ^ 1));
  }
}
CASE(shuffles_from_lanes_that_do_not_take_part) {
  CheckShuffles(7, 7);    // a block without them
  CheckShuffles(32, 21);  // they have ended
  CheckShuffles(32, 32);
}

// CUDA forbids what GPUs let pass: lanes that are not in their mask exchange with the others where all are together.
__global__ void ShuffleOutsideOfMask(int* out) {
  const int lane = int(threadIdx.x), value = 100 + lane;
  int* const results = out + 4 * lane;
  results[0] = __shfl_sync(0x1, value, 0);
  results[1] = __shfl_up_sync(0x0000ffff, value, 16);
  results[2] = __shfl_xor_sync(0xff, value, 31);
  results[3] = __shfl_down_sync(0, value, 1);
}
CASE(shuffles_of_lanes_outside_of_their_mask) {
  Buffer<int> out(128);
  ShuffleOutsideOfMask<<<1, 32>>>(out);
  const std::vector<int> got = out.Get();
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(got[4 * lane], 100);
    EXPECT_EQ(got[4 * lane + 1], 100 + (lane < 16 ? lane : lane - 16));
    EXPECT_EQ(got[4 * lane + 2], 100 + (lane ^ 31));
    EXPECT_EQ(got[4 * lane + 3], 100 + std::min(lane + 1, 31));
  }
}

__global__ void ShuffleInHalves(int* out) {
  const int lane = int(threadIdx.x), value = 100 + lane;
  if (lane < 16) {
    out[lane] = __shfl_down_sync(0x0000ffff, value, 8);
  } else {
    out[lane] = __shfl_xor_sync(0xffff0000, value, 16);
  }
}
CASE(shuffles_from_lanes_outside_of_the_mask) {
  Buffer<int> out(32);
  ShuffleInHalves<<<1, 32>>>(out);
  const std::vector<int> got = out.Get();
  for (int lane = 0; lane < 32; ++lane) EXPECT_EQ(got[lane], lane < 8 ? 108 + lane : 0);
}
