// Rounding for the evaluator: the processor's rounding modes for float and double, and conversion of an exact value to
// any small format.
#pragma once

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <string>

namespace wharf::device::soft::random_program {

struct Rounding {
  const char* name;  // "rn"; for integers "rni"
  int mode;          // of <cfenv>
};
inline constexpr Rounding kRoundings[] = {
    {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};

// Computes function(a...) in a rounding mode. The volatile copies keep the compiler from moving or folding it.
template <typename T, typename F, typename... A>
__attribute__((noinline)) T InMode(int mode, F function, A... arguments) {
  std::fesetround(mode);
  volatile T result = [&function](volatile A... a) { return function(a...); }(arguments...);
  std::fesetround(FE_TONEAREST);
  return result;
}

// A binary format: sign, exponent, mantissa.
struct Format {
  int exponent_bits, mantissa_bits;
  int Bias() const { return (1 << (exponent_bits - 1)) - 1; }
  uint64_t Infinity() const { return ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits; }
  uint64_t Sign() const { return uint64_t{1} << (exponent_bits + mantissa_bits); }
};
inline constexpr Format kF16{5, 10};
inline constexpr Format kBF16{8, 7};
inline constexpr Format kF32{8, 23};
inline constexpr Format kF64{11, 52};

// The value of finite bits, exactly; NaN and infinities as doubles'.
double Decode(const Format& format, uint64_t bits);

// Rounds `value` plus, if `sticky`, something smaller than any of its bits (away from zero) to the format. `sticky`
// REQUIRES that the format has at least two bits less than double.
uint64_t Encode(const Format& format, double value, int mode, bool sticky = false);

// The sum rounded to odd: exact in its last bit for any further rounding to a format of less than 51 bits.
double AddToOdd(double a, double b);

}  // namespace wharf::device::soft::random_program
