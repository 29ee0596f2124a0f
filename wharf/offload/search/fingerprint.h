// 122-bit fingerprints of sequences of 64-bit keys: two polynomials modulo the prime 2^61 - 1. Two different sequences
// of n keys agree by chance with probability below (n / 2^61)^2, under 10^-24 for a million keys.
#pragma once

#include <cstdint>
#include <utility>

namespace wharf::offload {

struct Fingerprint {
  uint64_t first = 0, second = 0;

  bool operator==(const Fingerprint&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Fingerprint& f) {
    return H::combine(std::move(h), f.first, f.second);
  }
};

namespace fingerprint_internal {
inline constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;
inline constexpr uint64_t kFirstBase = 0x0b3a5c96d1e8f427,
                          kSecondBase = 0x17c9e4a2f05b836d;  // arbitrary, below the prime

constexpr uint64_t Reduce(uint64_t x) {
  x = (x & kPrime) + (x >> 61);
  return x >= kPrime ? x - kPrime : x;
}

constexpr uint64_t Multiply(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return Reduce((static_cast<uint64_t>(product) & kPrime) + static_cast<uint64_t>(product >> 61));
}
}  // namespace fingerprint_internal

// A bijection that spreads every bit (the finalizer of MurmurHash3).
constexpr uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
  return x ^ (x >> 33);
}

// The fingerprint of a sequence longer by `key`. The second polynomial sees the key mixed, so that keys that are equal
// modulo the prime still differ.
constexpr Fingerprint Append(const Fingerprint& f, uint64_t key) {
  namespace in = fingerprint_internal;
  return {in::Reduce(in::Multiply(f.first, in::kFirstBase) + in::Reduce(key)),
          in::Reduce(in::Multiply(f.second, in::kSecondBase) + in::Reduce(Mix(key)))};
}

// With `whole` of a sequence, `prefix` of its beginning and `power` = Power(length of the rest): the fingerprint of the
// rest.
constexpr Fingerprint Rest(const Fingerprint& whole, const Fingerprint& prefix, const Fingerprint& power) {
  namespace in = fingerprint_internal;
  return {in::Reduce(whole.first + in::kPrime - in::Multiply(prefix.first, power.first)),
          in::Reduce(whole.second + in::kPrime - in::Multiply(prefix.second, power.second))};
}

// Power(0) is {1, 1}; Power(n + 1) is NextPower(Power(n)).
constexpr Fingerprint NextPower(const Fingerprint& power) {
  namespace in = fingerprint_internal;
  return {in::Multiply(power.first, in::kFirstBase), in::Multiply(power.second, in::kSecondBase)};
}

}  // namespace wharf::offload
