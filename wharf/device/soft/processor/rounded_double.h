// Arithmetic of doubles in a rounding mode other than the nearest: rounded_double_x86_64.cc, rounded_double_aarch64.cc.
#pragma once

#include <cstdint>

namespace wharf::device::soft {

enum class Rounding : uint8_t { kNearest, kZero, kDown, kUp };
enum class DoubleOperation : uint32_t { kAdd, kMul, kFma, kDiv, kSqrt };

// `operation` is a DoubleOperation, `rounding` a Rounding: compiled kernels call it.
double RoundedDouble(uint32_t operation, uint32_t rounding, double x, double y, double z);

}  // namespace wharf::device::soft
