#include "wharf/device/soft/processor/rounded_double.h"

namespace wharf::device::soft {
namespace {

// Sets FPCR's rounding mode for the scope.
class RoundingScope {
 public:
  explicit RoundingScope(Rounding rounding) {
    constexpr uint64_t kNearest = 0, kUp = 1, kDown = 2, kZero = 3;
    constexpr uint64_t kModes[] = {kNearest, kZero, kDown, kUp};
    constexpr unsigned kShift = 22;
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    Set((saved_ & ~(uint64_t{3} << kShift)) | kModes[static_cast<uint32_t>(rounding) & 3] << kShift);
  }
  ~RoundingScope() { Set(saved_); }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  static void Set(uint64_t control) { asm volatile("msr fpcr, %0" : : "r"(control)); }

  uint64_t saved_;
};

}  // namespace

// Inline assembly, because the compiler is free to move plain arithmetic out of the scope.
double RoundedDouble(uint32_t operation, uint32_t rounding, double x, double y, double z) {
  RoundingScope scope(static_cast<Rounding>(rounding));
  switch (static_cast<DoubleOperation>(operation)) {
    case DoubleOperation::kAdd:
      asm volatile("fadd %d0, %d0, %d1" : "+w"(x) : "w"(y));
      return x;
    case DoubleOperation::kMul:
      asm volatile("fmul %d0, %d0, %d1" : "+w"(x) : "w"(y));
      return x;
    case DoubleOperation::kDiv:
      asm volatile("fdiv %d0, %d0, %d1" : "+w"(x) : "w"(y));
      return x;
    case DoubleOperation::kSqrt:
      asm volatile("fsqrt %d0, %d0" : "+w"(x));
      return x;
    case DoubleOperation::kFma:
      asm volatile("fmadd %d0, %d0, %d1, %d2" : "+w"(x) : "w"(y), "w"(z));
      return x;
  }
  return 0;
}

}  // namespace wharf::device::soft
