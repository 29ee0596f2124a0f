#include "wharf/device/soft/testing/random_program_rounding.h"

#include <bit>

namespace wharf::device::soft::random_program {

double Decode(const Format& format, uint64_t bits) {
  const bool negative = (bits & format.Sign()) != 0;
  const uint64_t magnitude = bits & (format.Sign() - 1);
  double value = 0;
  if (magnitude > format.Infinity()) {
    value = NAN;
  } else if (magnitude == format.Infinity()) {
    value = INFINITY;
  } else {
    const uint64_t fraction = magnitude & ((uint64_t{1} << format.mantissa_bits) - 1);
    const auto exponent = static_cast<int>(magnitude >> format.mantissa_bits);
    const uint64_t mantissa = exponent == 0 ? fraction : fraction | uint64_t{1} << format.mantissa_bits;
    value = std::ldexp(static_cast<double>(mantissa),
                       (exponent == 0 ? 1 : exponent) - format.Bias() - format.mantissa_bits);
  }
  return negative ? -value : value;
}

uint64_t Encode(const Format& format, double value, int mode, bool sticky) {
  const uint64_t sign = std::signbit(value) ? format.Sign() : 0;
  if (std::isnan(value)) return format.Sign() - 1;
  if (std::isinf(value)) return sign | format.Infinity();
  const double magnitude = std::fabs(value);
  if (magnitude == 0 && !sticky) return sign;
  const int exponent = magnitude == 0 ? 1 - format.Bias() : std::max(std::ilogb(magnitude), 1 - format.Bias());
  // The magnitude in units of the format's last place.
  const double units = std::ldexp(magnitude, format.mantissa_bits - exponent);
  const double whole = std::floor(units);
  const double rest = units - whole;
  bool up = false;
  if (mode == FE_TONEAREST) {
    const bool odd = (static_cast<uint64_t>(whole) & 1) != 0;
    up = rest > 0.5 || (rest == 0.5 && (sticky || odd));
  } else if (rest > 0 || sticky) {
    up = mode == (sign != 0 ? FE_DOWNWARD : FE_UPWARD);
  }
  const uint64_t bits = (static_cast<uint64_t>(exponent + format.Bias() - 1) << format.mantissa_bits) +
                        static_cast<uint64_t>(whole) + (up ? 1 : 0);
  if (bits < format.Infinity()) return sign | bits;
  // Rounding towards zero, or away from the infinity's side, stops at the largest finite number.
  const bool stops = mode == FE_TOWARDZERO || mode == (sign != 0 ? FE_UPWARD : FE_DOWNWARD);
  return sign | (stops ? format.Infinity() - 1 : format.Infinity());
}

double AddToOdd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  // The rounding error of a sum is a double itself.
  const double b_part = sum - a;
  const double error = (a - (sum - b_part)) + (b - b_part);
  if (error == 0 || (std::bit_cast<uint64_t>(sum) & 1) != 0) return sum;
  return std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
}

}  // namespace wharf::device::soft::random_program
