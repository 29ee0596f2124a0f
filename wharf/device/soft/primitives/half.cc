#include "wharf/device/soft/primitives/half.h"

#include <bit>
#include <cmath>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace wharf::device::soft {

float HalfToFloat(uint16_t value) {
  const uint32_t sign = uint32_t{value & 0x8000u} << 16, exponent = value >> 10 & 31, mantissa = value & 0x3ffu;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13 | (mantissa != 0 ? 0x400000u : 0));
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
}

uint16_t FloatToHalf(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds to infinity
  if (magnitude < 0x38800000u) {                                               // subnormal: in units of 2^-24
    const float units = std::nearbyint(std::ldexp(std::bit_cast<float>(magnitude), 24));
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(units));
  }
  const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

float BrainToFloat(uint16_t value) { return std::bit_cast<float>(uint32_t{value} << 16); }

uint16_t FloatToBrain(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

// As many as whole vectors hold; how many these were.
namespace {
#if defined(__x86_64__)
// By what clang, too, can ask for: whatever has AVX2 has F16C.
bool HasF16c() { return __builtin_cpu_supports("avx2") != 0; }

__attribute__((target("avx,f16c"))) size_t WidenF16c(const uint16_t* from, float* to, size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  }
  return i;
}

__attribute__((target("avx,f16c"))) size_t NarrowF16c(const float* from, uint16_t* to, size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  }
  return i;
}

size_t WidenVectors(const uint16_t* from, float* to, size_t count) {
  return HasF16c() ? WidenF16c(from, to, count) : 0;
}
size_t NarrowVectors(const float* from, uint16_t* to, size_t count) {
  return HasF16c() ? NarrowF16c(from, to, count) : 0;
}
#elif defined(__aarch64__)
size_t WidenVectors(const uint16_t* from, float* to, size_t count) {
  size_t i = 0;
  for (; i + 4 <= count; i += 4) vst1q_f32(to + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from + i))));
  return i;
}
size_t NarrowVectors(const float* from, uint16_t* to, size_t count) {
  size_t i = 0;
  for (; i + 4 <= count; i += 4) vst1_u16(to + i, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(from + i))));
  return i;
}
#else
size_t WidenVectors(const uint16_t*, float*, size_t) { return 0; }
size_t NarrowVectors(const float*, uint16_t*, size_t) { return 0; }
#endif
}  // namespace

void HalfToFloat(const uint16_t* from, float* to, size_t count) {
  for (size_t i = WidenVectors(from, to, count); i < count; ++i) to[i] = HalfToFloat(from[i]);
}

void FloatToHalf(const float* from, uint16_t* to, size_t count) {
  for (size_t i = NarrowVectors(from, to, count); i < count; ++i) to[i] = FloatToHalf(from[i]);
}

void BrainToFloat(const uint16_t* from, float* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = BrainToFloat(from[i]);
}

void FloatToBrain(const float* from, uint16_t* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = FloatToBrain(from[i]);
}

}  // namespace wharf::device::soft
