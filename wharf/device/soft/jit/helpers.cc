#include "wharf/device/soft/jit/helpers.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "wharf/device/soft/processor/rounded_double.h"

namespace wharf::device::soft {
namespace {

// fns: the position of the n-th set bit of `mask` from `base` upwards (n > 0) or downwards (n < 0), `base` included; n
// = 0 asks whether the bit at `base` is set.
uint32_t FindNthSet(uint32_t mask, uint32_t base, int32_t n) {
  constexpr uint32_t kNone = 0xffffffff;
  if (base > 31) return kNone;
  if (n == 0) return (mask >> base & 1) != 0 ? base : kNone;
  const int32_t step = n > 0 ? 1 : -1;
  int64_t left = std::abs(static_cast<int64_t>(n));
  for (auto at = static_cast<int32_t>(base); at >= 0 && at < 32; at += step) {
    if ((mask >> at & 1) != 0 && --left == 0) return static_cast<uint32_t>(at);
  }
  return kNone;
}

void CopyAndZero(std::byte* to, const std::byte* from, uint32_t bytes, uint32_t source_bytes) {
  source_bytes = std::min(source_bytes, bytes);
  std::memcpy(to, from, source_bytes);
  std::memset(to + source_bytes, 0, bytes - source_bytes);
}

template <typename F>
void* Address(F* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

std::vector<HelperSymbol> HelperSymbols() {
  return {{"wharf_rounded_double", Address(&RoundedDouble)},
          {"wharf_find_nth_set", Address(&FindNthSet)},
          {"wharf_copy_and_zero", Address(&CopyAndZero)},
          {"memcpy", Address<void*(void*, const void*, size_t)>(&std::memcpy)},
          {"memmove", Address<void*(void*, const void*, size_t)>(&std::memmove)},
          {"memset", Address<void*(void*, int, size_t)>(&std::memset)},
          {"fma", Address<double(double, double, double)>(&::fma)},
          {"fmaf", Address<float(float, float, float)>(&::fmaf)},
          {"roundeven", Address<double(double)>(&::roundeven)},
          {"roundevenf", Address<float(float)>(&::roundevenf)}};
}

}  // namespace wharf::device::soft
