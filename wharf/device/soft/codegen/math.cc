// Reciprocals, roots, the approximate functions, copysign and testp.
#include <cmath>

#include "wharf/device/soft/codegen/function.h"
#include "wharf/device/soft/codegen/math_approx.h"

namespace wharf::device::soft {

// Applies an approximation to f32, or, through f32, to halves.
void FunctionCodegen::Approximation(const std::function<Value*(Value*)>& function) {
  if (!modifiers_.Take("approx")) return Malformed("only .approx exists");
  const bool ftz = modifiers_.Take("ftz");
  Type type = TypeOrFail();
  if (!Expect(2)) return;
  Value* x = Source(1, type);
  if (type == Type::kF32) return Result(type, ftz ? Flush(function(Flush(x))) : function(x));
  if (!IsHalf(type) && !IsPackedHalf(type)) return Malformed("no such approximation of this type");
  Type element = ElementOf(type);
  Result(type, Lanewise(type, {x}, [&](llvm::ArrayRef<Value*> half) {
           Value* result = function(FlushHalf(Widen(half[0], element), element, ftz));
           return Narrow(FlushHalf(result, element, ftz), element);
         }));
}

void FunctionCodegen::Sin() {
  Approximation([&](Value* x) { return ApproximateSine(b_, x, false); });
}
void FunctionCodegen::Cos() {
  Approximation([&](Value* x) { return ApproximateSine(b_, x, true); });
}
void FunctionCodegen::Lg2() {
  Approximation([&](Value* x) { return ApproximateLog2(b_, x); });
}
void FunctionCodegen::Ex2() {
  Approximation([&](Value* x) { return ApproximateExp2(b_, x); });
}
void FunctionCodegen::Tanh() {
  Approximation([&](Value* x) { return ApproximateTanh(b_, x); });
}

void FunctionCodegen::Rcp() {
  const bool approximate = modifiers_.Take("approx");
  const Rounding rounding = TakeRounding();
  const bool ftz = modifiers_.Take("ftz");
  Type type = TypeOrFail();
  if (!Expect(2)) return;
  if (!IsFloat(type) || (type == Type::kF64 && approximate != ftz)) return Malformed("no such reciprocal");
  Value* x = Source(1, type);
  if (ftz) x = Flush(x);
  Value* one = llvm::ConstantFP::get(x->getType(), 1);
  Value* result;
  if (type == Type::kF32) {
    result = DivSingle(b_, one, x, rounding);
  } else if (rounding == Rounding::kNearest) {
    result = b_.CreateFDiv(one, x);
  } else {
    result = RoundedDouble(DoubleOperation::kDiv, {one, x}, rounding);
  }
  Result(type, ftz ? Flush(result) : result);
}

void FunctionCodegen::Sqrt() {
  const bool approximate = modifiers_.Take("approx");
  const Rounding rounding = TakeRounding();
  const bool ftz = modifiers_.Take("ftz");
  Type type = TypeOrFail();
  if (!Expect(2)) return;
  if (!IsFloat(type) || (type == Type::kF64 && (approximate || ftz))) return Malformed("no such square root");
  Value* x = Source(1, type);
  if (ftz) x = Flush(x);
  Value* result;
  if (type == Type::kF32) {
    result = SqrtSingle(b_, x, rounding);
  } else if (rounding == Rounding::kNearest) {
    result = Intrinsic(llvm::Intrinsic::sqrt, {x});
  } else {
    result = RoundedDouble(DoubleOperation::kSqrt, {x}, rounding);
  }
  Result(type, ftz ? Flush(result) : result);
}

void FunctionCodegen::Rsqrt() {
  const bool approximate = modifiers_.Take("approx"), ftz = modifiers_.Take("ftz");
  Type type = TypeOrFail();
  if (!Expect(2)) return;
  if (!IsFloat(type) || !approximate) return Malformed("no such reciprocal square root");
  Value* x = Source(1, type);
  if (ftz) x = Flush(x);
  Value* result = b_.CreateFDiv(llvm::ConstantFP::get(x->getType(), 1), Intrinsic(llvm::Intrinsic::sqrt, {x}));
  Result(type, ftz ? Flush(result) : result);
}

// The sign of the first operand and the magnitude of the second.
void FunctionCodegen::Copysign() {
  Type type = TypeOrFail();
  if (!Expect(3)) return;
  if (!IsFloat(type)) return Malformed("bad type");
  Result(type, b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, Source(2, type), Source(1, type)));
}

void FunctionCodegen::Testp() {
  const std::string_view test =
      modifiers_.TakeOneOf({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  Type type = TypeOrFail();
  if (!Expect(2)) return;
  if (!IsFloat(type) || test.empty()) return Malformed("no such test");
  Value* magnitude = Intrinsic(llvm::Intrinsic::fabs, {Source(1, type)});
  auto number = [&](double value) { return llvm::ConstantFP::get(magnitude->getType(), value); };
  Value* infinity = llvm::ConstantFP::getInfinity(magnitude->getType());
  Value* least = number(type == Type::kF32 ? 0x1p-126 : 0x1p-1022);
  Value* result;
  if (test == "finite") {
    result = b_.CreateFCmpOLT(magnitude, infinity);
  } else if (test == "infinite") {
    result = b_.CreateFCmpOEQ(magnitude, infinity);
  } else if (test == "number") {
    result = b_.CreateFCmpORD(magnitude, magnitude);
  } else if (test == "notanumber") {
    result = b_.CreateFCmpUNO(magnitude, magnitude);
  } else if (test == "normal") {  // zero counts as normal
    Value* large = b_.CreateAnd(b_.CreateFCmpOGE(magnitude, least), b_.CreateFCmpOLT(magnitude, infinity));
    result = b_.CreateOr(large, b_.CreateFCmpOEQ(magnitude, number(0)));
  } else {
    result = b_.CreateAnd(b_.CreateFCmpOLT(magnitude, least), b_.CreateFCmpOGT(magnitude, number(0)));
  }
  Result(Type::kPred, result);
}

}  // namespace wharf::device::soft
