#include <immintrin.h>

#include "wharf/device/soft/processor/rounded_double.h"

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

}  // namespace

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

}  // namespace wharf::device::soft
