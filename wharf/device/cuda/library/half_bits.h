// Scalars of 16 bits, as the vendor's libraries take them from host memory.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace wharf::device::cuda {

// Nearest half-precision number, ties to even.
inline uint16_t HalfBits(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 48 & 0x8000);
  const double magnitude = std::abs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (magnitude >= 65520) return sign | 0x7c00;
  const int exponent = magnitude < 0x1p-14 ? -14 : std::ilogb(magnitude);
  // In units of the last place; nearbyint rounds to even. A carry moves into the exponent by itself.
  const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  return static_cast<uint16_t>(sign | (units + (static_cast<uint32_t>(exponent + 14) << 10)));
}

// The upper half of the float, rounded likewise.
inline uint16_t BrainBits(double value) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace wharf::device::cuda
