// Half precision and bfloat16: conversions over every bit pattern, arithmetic against float or double rounded once.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "tests/cuda/harness.h"

using u16 = uint16_t;
using u32 = uint32_t;

// The value of a half-like format with `mantissa` bits of mantissa.
static double Decode(u32 bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1, e = int(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const u32 m = bits & ((1u << mantissa_bits) - 1);
  const double sign = bits >> (exponent_bits + mantissa_bits) & 1 ? -1 : 1;
  if (e == (1 << exponent_bits) - 1) return m ? NAN : sign * INFINITY;
  return sign * (e ? std::ldexp(double((1u << mantissa_bits) + m), e - bias - mantissa_bits)
                   : std::ldexp(double(m), 1 - bias - mantissa_bits));
}
enum Mode { kNearest, kZero, kUp, kDown };
// The nearest pattern, found by its definition.
static u16 Encode(double x, int exponent_bits, int mantissa_bits, Mode mode = kNearest) {
  const u32 sign = std::signbit(x) ? 1u << (exponent_bits + mantissa_bits) : 0;
  const u32 infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  if (std::isnan(x)) return u16(0x7FFF);
  const double magnitude = std::fabs(x);
  if (std::isinf(x)) return u16(sign | infinity);
  u32 low = 0, high = infinity;  // low <= magnitude < high, as patterns of positive numbers
  while (high - low > 1) {
    const u32 middle = (low + high) / 2;
    (Decode(middle, exponent_bits, mantissa_bits) <= magnitude ? low : high) = middle;
  }
  const double below = Decode(low, exponent_bits, mantissa_bits);
  double above = Decode(high, exponent_bits, mantissa_bits);
  if (std::isinf(above))
    above = 2 * Decode(low, exponent_bits, mantissa_bits) - Decode(low - 1, exponent_bits, mantissa_bits);
  bool away = false;
  if (magnitude != below) {
    if (mode == kNearest)
      away = magnitude - below > above - magnitude || (magnitude - below == above - magnitude && (low & 1));
    if (mode == kUp) away = !sign;
    if (mode == kDown) away = sign;
  }
  return u16(sign | (away ? high : low));
}
static u16 ToHalf(double x, Mode mode = kNearest) { return Encode(x, 5, 10, mode); }
static u16 ToBf16(double x, Mode mode = kNearest) { return Encode(x, 8, 7, mode); }
static double FromHalf(u16 bits) { return Decode(bits, 5, 10); }
static double FromBf16(u16 bits) { return Decode(bits, 8, 7); }

static std::vector<u16> Patterns(size_t n, uint64_t seed) {
  harness::Random random(seed);
  std::vector<u16> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = u16(i % 4 ? random.Next() & 0xBFFF : random.Next());
  const u16 corners[] = {0, 0x8000, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x0001, 0x03FF, 0x0400, 0x3555};
  for (size_t i = 0; i < 24; ++i) out[i] = corners[i * seed % 12];
  return out;
}
#define H(x) __ushort_as_half(x)
#define HB(x) __half_as_ushort(x)
#define B(x) __ushort_as_bfloat16(x)
#define BB(x) __bfloat16_as_ushort(x)
// NaNs compare as one pattern.
#define HN(x) (__hisnan(x) ? u16(0x7FFF) : HB(x))
#define BN(x) (__hisnan(x) ? u16(0x7FFF) : BB(x))
static u16 One(u16 bits, u32 infinity) { return (bits & 0x7FFF) > infinity ? u16(0x7FFF) : bits; }
#define HH(x) One(x, 0x7C00)

__global__ void AllHalves(float* half_out, float* bf16_out) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  half_out[i] = __half2float(H(u16(i)));
  bf16_out[i] = __bfloat162float(B(u16(i)));
}
CASE(every_pattern_to_float) {
  Buffer<float> halves(65536), bf16s(65536);
  AllHalves<<<256, 256>>>(halves, bf16s);
  std::vector<float> want_half(65536), want_bf16(65536);
  for (u32 i = 0; i < 65536; ++i) want_half[i] = float(FromHalf(u16(i))), want_bf16[i] = float(FromBf16(u16(i)));
  EXPECT_SAME(halves.Get(), want_half);
  EXPECT_SAME(bf16s.Get(), want_bf16);
}
static std::vector<float> HalfRange(size_t n, uint64_t seed) {
  std::vector<float> out = harness::Inputs<float>(n, seed);
  harness::Random random(seed);
  for (size_t i = 50; i < n; ++i) out[i] = float(random.Uniform() * 2 - 1) * std::ldexp(1.0f, random.Below(44) - 26);
  for (size_t i = 50; i < 150; ++i) out[i] = float(FromHalf(u16(i * 97)) + FromHalf(u16(i * 97 + 1))) / 2;  // ties
  return out;
}
ELEMENTWISE_OF(f32_to_half_rn, u16, float, HalfRange, HN(__float2half_rn(a)), ToHalf(a), 0)
ELEMENTWISE_OF(f32_to_half_rz, u16, float, HalfRange, HN(__float2half_rz(a)), ToHalf(a, kZero), 0)
ELEMENTWISE_OF(f32_to_half_ru, u16, float, HalfRange, HN(__float2half_ru(a)), ToHalf(a, kUp), 0)
ELEMENTWISE_OF(f32_to_half_rd, u16, float, HalfRange, HN(__float2half_rd(a)), ToHalf(a, kDown), 0)
ELEMENTWISE_OF(f32_to_bf16_rn, u16, float, HalfRange, BN(__float2bfloat16_rn(a)), ToBf16(a), 0)
ELEMENTWISE_OF(f32_to_bf16_rz, u16, float, HalfRange, BN(__float2bfloat16_rz(a)), ToBf16(a, kZero), 0)
ELEMENTWISE(f64_to_half, u16, double, HN(__double2half(a)), ToHalf(a))
ELEMENTWISE(int_to_half, u16, int, HN(__int2half_rn(a % 70000)), ToHalf(a % 70000))
ELEMENTWISE_OF(half_to_int, int, u16, Patterns, __hisnan(H(a)) ? 0 : __half2int_rn(H(a)),
               std::isnan(FromHalf(a))   ? 0
               : std::isinf(FromHalf(a)) ? (a >> 15 ? INT32_MIN : INT32_MAX)
                                         : int(std::nearbyint(FromHalf(a))),
               0)
ELEMENTWISE_OF(half_to_short_rz, int, u16, Patterns, __hisnan(H(a)) ? 0 : __half2short_rz(H(a)),
               std::isnan(FromHalf(a)) ? 0 : int(std::max(-32768.0, std::min(32767.0, std::trunc(FromHalf(a))))), 0)

// One operation in double, rounded once, is right: double holds the exact sum, product and fused product here.
ELEMENTWISE_OF(half_add, u16, u16, Patterns, HN(__hadd(H(a), H(b))), ToHalf(FromHalf(a) + FromHalf(b)), 0)
ELEMENTWISE_OF(half_sub, u16, u16, Patterns, HN(__hsub(H(a), H(b))), ToHalf(FromHalf(a) - FromHalf(b)), 0)
ELEMENTWISE_OF(half_mul, u16, u16, Patterns, HN(__hmul(H(a), H(b))), ToHalf(FromHalf(a) * FromHalf(b)), 0)
static u16 HalfFma(u16 a, u16 b, u16 c) {
  const long double exact = (long double)FromHalf(a) * FromHalf(b) + FromHalf(c);
  double rounded = double(exact);  // to odd, so that the second rounding sees what the first dropped
  if ((long double)rounded != exact && std::isfinite(rounded)) {
    uint64_t bits = __builtin_bit_cast(uint64_t, rounded);
    if (!(bits & 1)) bits += ((exact > rounded) == (rounded > 0)) ? 1 : -1;
    rounded = __builtin_bit_cast(double, bits);
  }
  return ToHalf(rounded);
}
ELEMENTWISE_OF(half_fma, u16, u16, Patterns, HN(__hfma(H(a), H(b), H(c))), HalfFma(a, b, c), 0)
ELEMENTWISE_OF(half_div, u16, u16, Patterns, HN(__hdiv(H(a), H(b))), ToHalf(float(FromHalf(a)) / float(FromHalf(b))), 0)
ELEMENTWISE_OF(half_neg_abs, u16, u16, Patterns, HN(__habs(__hneg(H(a)))), HH(a & 0x7FFF), 0)
ELEMENTWISE_OF(half_compare, int, u16, Patterns,
               __hlt(H(a), H(b)) | __hle(H(a), H(b)) << 1 | __heq(H(a), H(a)) << 2 | __hgtu(H(a), H(b)) << 3 |
                   __hne(H(b), H(c)) << 4,
               int(FromHalf(a) < FromHalf(b)) | int(FromHalf(a) <= FromHalf(b)) << 1 |
                   int(FromHalf(a) == FromHalf(a)) << 2 | int(!(FromHalf(a) <= FromHalf(b))) << 3 |
                   int(FromHalf(b) < FromHalf(c) || FromHalf(b) > FromHalf(c)) << 4,
               0)
ELEMENTWISE_OF(half_rounding, u16, u16, Patterns, HN(hfloor(H(a))) ^ HN(hceil(H(b))) ^ HN(hrint(H(c))),
               ToHalf(std::floor(FromHalf(a))) ^ ToHalf(std::ceil(FromHalf(b))) ^ ToHalf(std::nearbyint(FromHalf(c))),
               0)
ELEMENTWISE_OF(half_sqrt, u16, u16, Patterns, HN(hsqrt(H(a & 0x7FFF))), ToHalf(std::sqrt(FromHalf(a & 0x7FFF))), 0)

static std::vector<u32> Pairs(size_t n, uint64_t seed) {
  const std::vector<u16> low = Patterns(n, seed), high = Patterns(n, seed + 20);
  std::vector<u32> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = low[i] | u32(high[i]) << 16;
  return out;
}
__device__ __half2 P(u32 x) { return *reinterpret_cast<__half2*>(&x); }
__device__ u32 Q(__half2 x) { return HN(__low2half(x)) | u32(HN(__high2half(x))) << 16; }
__device__ __nv_bfloat162 PB(u32 x) { return *reinterpret_cast<__nv_bfloat162*>(&x); }
__device__ u32 QB(__nv_bfloat162 x) { return BN(__low2bfloat16(x)) | u32(BN(__high2bfloat16(x))) << 16; }
template <class F>
static u32 Each(u32 a, u32 b, F f) {
  return f(u16(a), u16(b)) | u32(f(u16(a >> 16), u16(b >> 16))) << 16;
}
ELEMENTWISE_OF(half2_add, u32, u32, Pairs, Q(__hadd2(P(a), P(b))),
               Each(a, b, [](u16 x, u16 y) { return ToHalf(FromHalf(x) + FromHalf(y)); }), 0)
ELEMENTWISE_OF(half2_mul, u32, u32, Pairs, Q(__hmul2(P(a), P(b))),
               Each(a, b, [](u16 x, u16 y) { return ToHalf(FromHalf(x) * FromHalf(y)); }), 0)
ELEMENTWISE_OF(half2_fma, u32, u32, Pairs, Q(__hfma2(P(a), P(b), P(c))),
               HalfFma(u16(a), u16(b), u16(c)) | u32(HalfFma(u16(a >> 16), u16(b >> 16), u16(c >> 16))) << 16, 0)
ELEMENTWISE_OF(half2_swap, u32, u32, Pairs, Q(__halves2half2(__high2half(P(a)), __low2half(P(b)))),
               HH(u16(a >> 16)) | u32(HH(u16(b))) << 16, 0)
ELEMENTWISE_OF(half2_compare, u32, u32, Pairs, Q(__hgt2(P(a), P(b))),
               Each(a, b, [](u16 x, u16 y) { return u16(FromHalf(x) > FromHalf(y) ? 0x3C00 : 0); }), 0)
static double Larger(double x, double y) { return std::isnan(x) ? y : std::isnan(y) ? x : std::max(x, y); }
ELEMENTWISE_OF(half2_max, u32, u32, Pairs, Q(__hmax2(P(a & 0x7FFF7FFF), P(b & 0x7FFF7FFF))),
               Each(a & 0x7FFF7FFF, b & 0x7FFF7FFF,
                    [](u16 x, u16 y) { return ToHalf(Larger(FromHalf(x), FromHalf(y))); }),
               0)
ELEMENTWISE_OF(bf16_add, u16, u16, Patterns, BN(__hadd(B(a), B(b))), ToBf16(float(FromBf16(a)) + float(FromBf16(b))), 0)
ELEMENTWISE_OF(bf16_mul, u16, u16, Patterns, BN(__hmul(B(a), B(b))), ToBf16(FromBf16(a) * FromBf16(b)), 0)
ELEMENTWISE_OF(bf162_mul, u32, u32, Pairs, QB(__hmul2(PB(a), PB(b))),
               Each(a, b, [](u16 x, u16 y) { return ToBf16(FromBf16(x) * FromBf16(y)); }), 0)
ELEMENTWISE_OF(bf16_compare, int, u16, Patterns, __hlt(B(a), B(b)) | __hge(B(b), B(c)) << 1,
               int(FromBf16(a) < FromBf16(b)) | int(FromBf16(b) >= FromBf16(c)) << 1, 0)

__global__ void HalfDot(const __half2* a, const __half2* b, float* out, int n) {
  __half2 sum = __float2half2_rn(0.0f);
  for (int i = 0; i < n; ++i) sum = __hfma2(a[threadIdx.x * n + i], b[threadIdx.x * n + i], sum);
  out[threadIdx.x] = __low2float(sum) + __high2float(sum);
}
CASE(half2_dot_of_integers) {
  constexpr int kThreads = 32, kLength = 16;
  std::vector<u32> a(kThreads * kLength), b(a.size());
  std::vector<float> want(kThreads, 0.0f);
  for (int i = 0; i < kThreads * kLength; ++i) {
    const int x = i % 5 - 2, y = i % 7 - 3, u = i % 3, v = i % 4;
    a[i] = ToHalf(x) | u32(ToHalf(u)) << 16, b[i] = ToHalf(y) | u32(ToHalf(v)) << 16;
    want[i / kLength] += float(x * y + u * v);
  }
  Buffer<u32> da(a), db(b);
  Buffer<float> out(kThreads);
  HalfDot<<<1, kThreads>>>(reinterpret_cast<__half2*>(da.get()), reinterpret_cast<__half2*>(db.get()), out, kLength);
  EXPECT_SAME(out.Get(), want);
}
