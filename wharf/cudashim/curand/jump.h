// Jumping far in the sequence of an engine whose step is linear: n steps are a polynomial in one step, x^n modulo the
// characteristic polynomial of the recurrence. Nothing of it is a table: the polynomials are computed here.
#pragma once

#include <array>
#include <cstdint>

namespace wharf::rng {

// x^n of XORWOW, as coefficients' bits, lowest first.
class XorwowJump {
 public:
  static constexpr int kBits = 160;
  using Words = std::array<uint32_t, kBits / 32>;

  static XorwowJump ByPowerOf2(int exponent);
  static XorwowJump By(uint64_t steps);
  static XorwowJump None();
  XorwowJump operator*(const XorwowJump& other) const;
  const Words& words() const { return words_; }

 private:
  Words words_{};
};

// x^n of both recurrences of MRG32k3a, three coefficients each, lowest first.
class Mrg32k3aJump {
 public:
  using Words = std::array<uint32_t, 6>;

  static Mrg32k3aJump ByPowerOf2(int exponent);
  static Mrg32k3aJump By(uint64_t steps);
  static Mrg32k3aJump None();
  Mrg32k3aJump operator*(const Mrg32k3aJump& other) const;
  const Words& words() const { return words_; }

 private:
  Words words_{};
};

}  // namespace wharf::rng
