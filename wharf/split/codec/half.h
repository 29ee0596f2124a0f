// float32 to 16 bits (IEEE 754 binary16) and back, in loops that compilers vectorise on any machine.
#pragma once

#include <bit>
#include <cstdint>

namespace wharf::split {

// To the nearest, ties to even; beyond ±65504 that, infinities and NaN stay.
inline uint16_t ToHalf(float number) {
  constexpr uint32_t kInfinity = 0x7f800000, kLargest = 0x477fe000;  // 65504
  constexpr uint32_t kSmallestNormal = 113u << 23;                   // 2^-14
  const uint32_t bits = std::bit_cast<uint32_t>(number), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  const uint32_t within = size > kLargest ? kLargest : size;
  // The exponent's bias goes from 127 to 15; half of what is cut off, and a bit less where that makes a tie even.
  const uint32_t normal = (within + 0xfff + (within >> 13 & 1) - (112u << 23)) >> 13;
  // Beside 1/2, float32 has steps of 2^-24, as halves have below 2^-14: adding rounds.
  const uint32_t tiny = std::bit_cast<uint32_t>(std::bit_cast<float>(within) + 0.5f) - std::bit_cast<uint32_t>(0.5f);
  const uint32_t finite = within < kSmallestNormal ? tiny : normal;
  const uint32_t special = size > kInfinity ? 0x7e00 : 0x7c00;
  return static_cast<uint16_t>(sign | (size >= kInfinity ? special : finite));
}

inline float FromHalf(uint16_t half) {
  const uint32_t size = half & 0x7fffu, sign = (half & 0x8000u) << 16;
  // With the same bits of exponent a float32 is 2^112 times as small.
  const float finite = std::bit_cast<float>(size << 13) * 0x1p112f;
  const uint32_t bits = size >= 0x7c00 ? 0x7f800000 | size << 13 : std::bit_cast<uint32_t>(finite);
  return std::bit_cast<float>(sign | bits);
}

}  // namespace wharf::split
