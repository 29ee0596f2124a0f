#include "wharf/cudashim/curand/jump.h"

#include <bitset>

#include "wharf/cudashim/curand/engines.h"

namespace wharf::rng {
namespace {

template <class Jump>
Jump PowerOf2(Jump jump, int exponent) {
  for (int i = 0; i < exponent; ++i) jump = jump * jump;
  return jump;
}
template <class Jump>
Jump Power(Jump jump, uint64_t steps) {
  Jump product = Jump::None();
  for (; steps != 0; steps >>= 1) {
    if (steps & 1) product = product * jump;
    jump = jump * jump;
  }
  return product;
}

constexpr int kBits = XorwowJump::kBits;
using Bits = std::bitset<2 * kBits + 1>;

// The shortest recurrence of a bit of XORWOW's states, by Berlekamp and Massey. Its period is the longest there is, so
// every bit has the recurrence of the states themselves.
Bits XorwowPolynomial() {
  std::bitset<2 * kBits> sequence;
  Xorwow engine{};
  engine.x[0] = 1;
  for (int i = 0; i < 2 * kBits; ++i) {
    engine.Step();
    sequence[i] = engine.x[4] & 1;
  }
  Bits connection, before;  // coefficient i is that of the bit i steps ago
  connection[0] = before[0] = true;
  int length = 0, since = 1;
  for (int n = 0; n < 2 * kBits; ++n) {
    bool discrepancy = false;
    for (int i = 0; i <= length; ++i) discrepancy ^= connection[i] && sequence[n - i];
    if (!discrepancy) {
      ++since;
    } else if (2 * length <= n) {
      const Bits old = connection;
      connection ^= before << since;
      length = n + 1 - length;
      before = old;
      since = 1;
    } else {
      connection ^= before << since;
      ++since;
    }
  }
  Bits polynomial;
  for (int i = 0; i <= length; ++i) polynomial[length - i] = connection[i];
  return polynomial;
}

}  // namespace

XorwowJump XorwowJump::None() {
  XorwowJump jump;
  jump.words_[0] = 1;
  return jump;
}

XorwowJump XorwowJump::operator*(const XorwowJump& other) const {
  static const Bits polynomial = XorwowPolynomial();
  Bits factor, product;
  for (int i = 0; i < kBits; ++i) factor[i] = (other.words_[i / 32] >> (i % 32)) & 1;
  for (int i = 0; i < kBits; ++i) {
    if ((words_[i / 32] >> (i % 32)) & 1) product ^= factor << i;
  }
  for (int i = 2 * kBits - 2; i >= kBits; --i) {
    if (product[i]) product ^= polynomial << (i - kBits);
  }
  XorwowJump result;
  for (int i = 0; i < kBits; ++i) result.words_[i / 32] |= static_cast<uint32_t>(product[i]) << (i % 32);
  return result;
}

XorwowJump XorwowJump::ByPowerOf2(int exponent) {
  XorwowJump one;
  one.words_[0] = 2;
  return PowerOf2(one, exponent);
}
XorwowJump XorwowJump::By(uint64_t steps) { return Power(ByPowerOf2(0), steps); }

Mrg32k3aJump Mrg32k3aJump::None() {
  Mrg32k3aJump jump;
  jump.words_[0] = jump.words_[3] = 1;
  return jump;
}

Mrg32k3aJump Mrg32k3aJump::operator*(const Mrg32k3aJump& other) const {
  Mrg32k3aJump result;
  for (int part = 0; part < 2; ++part) {
    const uint64_t m = Mrg32k3a::Modulus(part);
    // The sum of coefficient * x^i * other: times x is a step of the recurrence of the coefficients, x^3 being two of
    // the lower powers.
    const uint64_t cube[3] = {m - (part == 0 ? 810728 : 1370589), part == 0 ? uint64_t{1403580} : 0,
                              part == 0 ? 0 : uint64_t{527612}};
    uint64_t shifted[3], sum[3] = {0, 0, 0};
    for (int k = 0; k < 3; ++k) shifted[k] = other.words_[3 * part + k];
    for (int i = 0; i < 3; ++i) {
      for (int k = 0; k < 3; ++k) sum[k] = (sum[k] + words_[3 * part + i] * shifted[k]) % m;
      const uint64_t top = shifted[2];
      shifted[2] = (shifted[1] + top * cube[2]) % m;
      shifted[1] = (shifted[0] + top * cube[1]) % m;
      shifted[0] = top * cube[0] % m;
    }
    for (int k = 0; k < 3; ++k) result.words_[3 * part + k] = static_cast<uint32_t>(sum[k]);
  }
  return result;
}

Mrg32k3aJump Mrg32k3aJump::ByPowerOf2(int exponent) {
  Mrg32k3aJump one;
  one.words_[1] = one.words_[4] = 1;
  return PowerOf2(one, exponent);
}
Mrg32k3aJump Mrg32k3aJump::By(uint64_t steps) { return Power(ByPowerOf2(0), steps); }

}  // namespace wharf::rng
