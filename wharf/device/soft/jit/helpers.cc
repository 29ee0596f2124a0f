#include "wharf/device/soft/jit/helpers.h"

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "wharf/device/soft/codegen/math_rounding.h"

namespace wharf::device::soft {
namespace {

// Sets the SSE rounding mode for the scope.
class RoundingScope {
 public:
  explicit RoundingScope(Rounding rounding) : saved_(_mm_getcsr()) {
    constexpr uint32_t kModes[] = {_MM_ROUND_NEAREST, _MM_ROUND_TOWARD_ZERO, _MM_ROUND_DOWN, _MM_ROUND_UP};
    _mm_setcsr((saved_ & ~uint32_t{_MM_ROUND_MASK}) | kModes[static_cast<uint32_t>(rounding) & 3]);
  }
  ~RoundingScope() { _mm_setcsr(saved_); }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  uint32_t saved_;
};

__attribute__((target("fma"))) double FusedMultiplyAdd(double x, double y, double z) {
  asm volatile("vfmadd213sd %2, %1, %0" : "+x"(x) : "x"(y), "x"(z));
  return x;
}

// Inline assembly, because the compiler is free to move plain arithmetic out of the scope.
double RoundedDouble(uint32_t operation, uint32_t rounding, double x, double y, double z) {
  RoundingScope scope(static_cast<Rounding>(rounding));
  switch (static_cast<DoubleOperation>(operation)) {
    case DoubleOperation::kAdd:
      asm volatile("addsd %1, %0" : "+x"(x) : "x"(y));
      return x;
    case DoubleOperation::kMul:
      asm volatile("mulsd %1, %0" : "+x"(x) : "x"(y));
      return x;
    case DoubleOperation::kDiv:
      asm volatile("divsd %1, %0" : "+x"(x) : "x"(y));
      return x;
    case DoubleOperation::kSqrt:
      asm volatile("sqrtsd %0, %0" : "+x"(x));
      return x;
    case DoubleOperation::kFma:
      return FusedMultiplyAdd(x, y, z);
  }
  return 0;
}

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
