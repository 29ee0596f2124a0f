// Conversion of arrays between float and the 16-bit floating-point types, rounding to nearest even.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wharf::device::soft {

float HalfToFloat(uint16_t value);
uint16_t FloatToHalf(float value);
float BrainToFloat(uint16_t value);
uint16_t FloatToBrain(float value);

void HalfToFloat(const uint16_t* from, float* to, size_t count);
void FloatToHalf(const float* from, uint16_t* to, size_t count);
void BrainToFloat(const uint16_t* from, float* to, size_t count);
void FloatToBrain(const float* from, uint16_t* to, size_t count);

}  // namespace wharf::device::soft
