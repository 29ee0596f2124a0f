// Integer arithmetic. `add`, `sub`, `mul`, `mad`, `div`, `abs`, `neg`, `min` and `max` of floating-point types are
// passed on to codegen_float.cc.
#include "wharf/device/soft/codegen/function.h"

namespace wharf::device::soft {
namespace {

bool IsFloating(ptx::Type type) {
  return IsFloat(type) || IsHalf(type) || IsPackedHalf(type) || type == ptx::Type::kF32x2;
}
bool IsPackedInteger(ptx::Type type) { return type == ptx::Type::kU16x2 || type == ptx::Type::kS16x2; }

}  // namespace

void FunctionCodegen::AddIntegerHandlers(std::map<std::string_view, Handler>* handlers) {
  handlers->insert({{"add", &FunctionCodegen::Add},
                    {"sub", &FunctionCodegen::Sub},
                    {"addc", &FunctionCodegen::AddCarry},
                    {"subc", &FunctionCodegen::SubBorrow},
                    {"mul", &FunctionCodegen::Mul},
                    {"mad", &FunctionCodegen::Mad},
                    {"madc", &FunctionCodegen::MadCarry},
                    {"mul24", &FunctionCodegen::Mul24},
                    {"mad24", &FunctionCodegen::Mad24},
                    {"sad", &FunctionCodegen::Sad},
                    {"div", &FunctionCodegen::Div},
                    {"rem", &FunctionCodegen::Rem},
                    {"abs", &FunctionCodegen::Abs},
                    {"neg", &FunctionCodegen::Neg},
                    {"min", &FunctionCodegen::Min},
                    {"max", &FunctionCodegen::Max},
                    {"dp4a", &FunctionCodegen::Dp4a},
                    {"dp2a", &FunctionCodegen::Dp2a}});
}

// a + b [+ carry], leaving the carry behind.
void FunctionCodegen::CarryAdd(Value* a, Value* b, Type type, bool carry_in) {
  Value* sum = b_.CreateAdd(a, b);
  Value* carry = b_.CreateICmpULT(sum, a);
  if (carry_in) {
    Value* in = b_.CreateZExt(b_.CreateLoad(b_.getInt1Ty(), carry_), sum->getType());
    sum = b_.CreateAdd(sum, in);
    carry = b_.CreateOr(carry, b_.CreateICmpULT(sum, in));
  }
  b_.CreateStore(carry, carry_);
  Result(type, sum);
}

void FunctionCodegen::Add() {
  Type type = TypeOrFail();
  if (IsFloating(type)) return FloatArithmetic(type, llvm::Instruction::FAdd);
  const bool carry_out = modifiers_.Take("cc"), saturate = modifiers_.Take("sat");
  if (!Expect(3)) return;
  if (IsPackedInteger(type)) {
    Value* a = Source(1, Type::kB32);
    Value* b = Source(2, Type::kB32);
    return Result(Type::kB32, Lanewise(Type::kF16x2, {a, b}, [&](auto x) { return b_.CreateAdd(x[0], x[1]); }));
  }
  Value* a = Source(1, type);
  Value* b = Source(2, type);
  if (carry_out) return CarryAdd(a, b, type, false);
  if (!saturate) return Result(type, b_.CreateAdd(a, b));
  if (type != Type::kS32) return Unsupported("saturation of this type");
  Result(type, Intrinsic(llvm::Intrinsic::sadd_sat, {a, b}));
}

void FunctionCodegen::AddCarry() {
  const bool carry_out = modifiers_.Take("cc");
  Type type = TypeOrFail();
  if (!Expect(3)) return;
  Value* before = b_.CreateLoad(b_.getInt1Ty(), carry_);
  CarryAdd(Source(1, type), Source(2, type), type, true);
  if (!carry_out) b_.CreateStore(before, carry_);
}

void FunctionCodegen::Sub() {
  Type type = TypeOrFail();
  if (IsFloating(type)) return FloatArithmetic(type, llvm::Instruction::FSub);
  const bool carry_out = modifiers_.Take("cc"), saturate = modifiers_.Take("sat");
  if (!Expect(3)) return;
  if (IsPackedInteger(type)) return Unsupported("packed integers");
  Value* a = Source(1, type);
  Value* b = Source(2, type);
  if (carry_out) b_.CreateStore(b_.CreateICmpUGE(a, b), carry_);
  if (!saturate) return Result(type, b_.CreateSub(a, b));
  if (type != Type::kS32) return Unsupported("saturation of this type");
  Result(type, Intrinsic(llvm::Intrinsic::ssub_sat, {a, b}));
}

// A subtraction leaves the carry of a + ~b + 1, that is, whether there was no borrow: nvcc's 128-bit division reads it
// with addc.
void FunctionCodegen::SubBorrow() {
  const bool carry_out = modifiers_.Take("cc");
  Type type = TypeOrFail();
  if (!Expect(3)) return;
  Value* a = Source(1, type);
  Value* b = Source(2, type);
  Value* in = b_.CreateZExt(b_.CreateNot(b_.CreateLoad(b_.getInt1Ty(), carry_)), a->getType());
  Value* first = b_.CreateSub(a, b);
  Value* borrow = b_.CreateOr(b_.CreateICmpULT(a, b), b_.CreateICmpULT(first, in));
  if (carry_out) b_.CreateStore(b_.CreateNot(borrow), carry_);
  Result(type, b_.CreateSub(first, in));
}

// `part`: "lo", "hi" or "wide".
llvm::Value* FunctionCodegen::Product(Value* a, Value* b, Type type, std::string_view part) {
  if (part == "lo") return b_.CreateMul(a, b);
  const uint32_t bits = BitsOf(type);
  auto* wide = b_.getIntNTy(2 * bits);
  const bool sign = IsSigned(type);
  Value* x = sign ? b_.CreateSExt(a, wide) : b_.CreateZExt(a, wide);
  Value* y = sign ? b_.CreateSExt(b, wide) : b_.CreateZExt(b, wide);
  Value* product = b_.CreateMul(x, y, "", !sign, sign);  // cannot overflow
  if (part == "wide") return product;
  return b_.CreateTrunc(b_.CreateLShr(product, bits), a->getType());
}

namespace {

ptx::Type Doubled(ptx::Type type) {
  switch (type) {
    case ptx::Type::kU16:
      return ptx::Type::kU32;
    case ptx::Type::kS16:
      return ptx::Type::kS32;
    case ptx::Type::kU32:
      return ptx::Type::kU64;
    case ptx::Type::kS32:
      return ptx::Type::kS64;
    default:
      return ptx::Type::kNone;
  }
}

}  // namespace

void FunctionCodegen::Mul() {
  const std::string_view part = modifiers_.TakeOneOf({"lo", "hi", "wide"});
  Type type = TypeOrFail();
  if (IsFloating(type)) return FloatArithmetic(type, llvm::Instruction::FMul);
  if (!Expect(3)) return;
  if (part.empty() || !IsInteger(type)) return Malformed("integer mul needs a type and .lo, .hi or .wide");
  Type result = part == "wide" ? Doubled(type) : type;
  if (result == Type::kNone) return Malformed("no wide product of this type");
  Result(result, Product(Source(1, type), Source(2, type), type, part));
}

void FunctionCodegen::Mad() {
  const std::string_view part = modifiers_.TakeOneOf({"lo", "hi", "wide"});
  if (part.empty()) return Fma();
  const bool carry_out = modifiers_.Take("cc"), saturate = modifiers_.Take("sat");
  Type type = TypeOrFail();
  if (!Expect(4)) return;
  Type result = part == "wide" ? Doubled(type) : type;
  if (result == Type::kNone || !IsInteger(type)) return Malformed("no wide product of this type");
  Value* product = Product(Source(1, type), Source(2, type), type, part);
  Value* addend = Source(3, result);
  if (carry_out) return CarryAdd(product, addend, result, false);
  if (!saturate) return Result(result, b_.CreateAdd(product, addend));
  if (part != "hi" || type != Type::kS32) return Unsupported("saturation of this type");
  Result(result, Intrinsic(llvm::Intrinsic::sadd_sat, {product, addend}));
}

void FunctionCodegen::MadCarry() {
  const std::string_view part = modifiers_.TakeOneOf({"lo", "hi"});
  const bool carry_out = modifiers_.Take("cc");
  Type type = TypeOrFail();
  if (!Expect(4)) return;
  if (part.empty() || !IsInteger(type)) return Malformed("madc needs a type and .lo or .hi");
  Value* before = b_.CreateLoad(b_.getInt1Ty(), carry_);
  CarryAdd(Product(Source(1, type), Source(2, type), type, part), Source(3, type), type, true);
  if (!carry_out) b_.CreateStore(before, carry_);
}

llvm::Value* FunctionCodegen::Product24(Value* a, Value* b, Type type, bool high) {
  auto* i64 = b_.getInt64Ty();
  const bool sign = type == Type::kS32;
  auto low24 = [&](Value* x) {
    x = b_.CreateShl(x, 8);
    return sign ? b_.CreateSExt(b_.CreateAShr(x, 8), i64) : b_.CreateZExt(b_.CreateLShr(x, 8), i64);
  };
  Value* product = b_.CreateMul(low24(a), low24(b));
  if (high) product = b_.CreateLShr(product, 16);
  return b_.CreateTrunc(product, b_.getInt32Ty());
}

void FunctionCodegen::Mul24() {
  const std::string_view part = modifiers_.TakeOneOf({"lo", "hi"});
  Type type = TypeOrFail();
  if (!Expect(3)) return;
  if (part.empty() || (type != Type::kU32 && type != Type::kS32))
    return Malformed("mul24 needs .lo or .hi and 32 bits");
  Result(type, Product24(Source(1, type), Source(2, type), type, part == "hi"));
}

void FunctionCodegen::Mad24() {
  const std::string_view part = modifiers_.TakeOneOf({"lo", "hi"});
  const bool saturate = modifiers_.Take("sat");
  Type type = TypeOrFail();
  if (!Expect(4)) return;
  if (part.empty() || (type != Type::kU32 && type != Type::kS32))
    return Malformed("mad24 needs .lo or .hi and 32 bits");
  Value* product = Product24(Source(1, type), Source(2, type), type, part == "hi");
  Value* addend = Source(3, type);
  Result(type, saturate ? Intrinsic(llvm::Intrinsic::sadd_sat, {product, addend}) : b_.CreateAdd(product, addend));
}

void FunctionCodegen::Sad() {
  Type type = TypeOrFail();
  if (!Expect(4)) return;
  Value* a = Source(1, type);
  Value* b = Source(2, type);
  Value* less = IsSigned(type) ? b_.CreateICmpSLT(a, b) : b_.CreateICmpULT(a, b);
  Value* difference = b_.CreateSelect(less, b_.CreateSub(b, a), b_.CreateSub(a, b));
  Result(type, b_.CreateAdd(Source(3, type), difference));
}

// Division by zero does not trap: the quotient is all ones, the remainder the dividend, as GPUs have it.
void FunctionCodegen::DivideInteger(Type type, bool remainder) {
  if (!Expect(3)) return;
  if (!IsInteger(type)) return Malformed("div and rem need an integer type");
  Value* a = Source(1, type);
  Value* b = Source(2, type);
  const bool sign = IsSigned(type);
  const uint32_t bits = BitsOf(type);
  Value* by_zero = b_.CreateICmpEQ(b, Int(bits, 0));
  Value* replace = by_zero;
  if (sign) {
    // The least number / -1 = the least number; dividing by one gives just that, and the remainder zero.
    Value* least = llvm::ConstantInt::get(context_, llvm::APInt::getSignedMinValue(bits));
    Value* overflow = b_.CreateAnd(b_.CreateICmpEQ(a, least), b_.CreateICmpEQ(b, b_.CreateNot(Int(bits, 0))));
    replace = b_.CreateOr(by_zero, overflow);
  }
  Value* divisor = b_.CreateSelect(replace, Int(bits, 1), b);
  if (remainder) {
    Value* rest = sign ? b_.CreateSRem(a, divisor) : b_.CreateURem(a, divisor);
    return Result(type, b_.CreateSelect(by_zero, a, rest));
  }
  Value* quotient = sign ? b_.CreateSDiv(a, divisor) : b_.CreateUDiv(a, divisor);
  Result(type, b_.CreateSelect(by_zero, b_.CreateNot(Int(bits, 0)), quotient));
}

void FunctionCodegen::Div() {
  Type type = TypeOrFail();
  if (IsFloating(type)) return FloatDiv(type);
  DivideInteger(type, false);
}

void FunctionCodegen::Rem() { DivideInteger(TypeOrFail(), true); }

void FunctionCodegen::Abs() {
  Type type = TypeOrFail();
  if (IsFloating(type)) return FloatNegAbs(type, false);
  if (!Expect(2)) return;
  Value* value = Source(1, type);
  Result(type, b_.CreateIntrinsic(llvm::Intrinsic::abs, {value->getType()}, {value, b_.getFalse()}));
}

void FunctionCodegen::Neg() {
  Type type = TypeOrFail();
  if (IsFloating(type)) return FloatNegAbs(type, true);
  if (!Expect(2)) return;
  Result(type, b_.CreateNeg(Source(1, type)));
}

void FunctionCodegen::Min() { MinMax(false); }
void FunctionCodegen::Max() { MinMax(true); }

void FunctionCodegen::MinMax(bool max) {
  Type type = TypeOrFail();
  if (IsFloating(type)) return FloatMinMax(type, max);
  if (!Expect(3)) return;
  if (IsPackedInteger(type)) return PackedMinMax(type, max);
  const bool relu = modifiers_.Take("relu");
  const auto id = IsSigned(type) ? (max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin)
                                 : (max ? llvm::Intrinsic::umax : llvm::Intrinsic::umin);
  Value* result = Intrinsic(id, {Source(1, type), Source(2, type)});
  if (relu) {
    if (type != Type::kS32) return Unsupported("relu of this type");
    result = Intrinsic(llvm::Intrinsic::smax, {result, b_.getInt32(0)});
  }
  Result(type, result);
}

void FunctionCodegen::PackedMinMax(Type type, bool max) {
  const bool relu = modifiers_.Take("relu"), sign = type == Type::kS16x2;
  const auto id = sign ? (max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin)
                       : (max ? llvm::Intrinsic::umax : llvm::Intrinsic::umin);
  Value* a = Source(1, Type::kB32);
  Value* b = Source(2, Type::kB32);
  Result(Type::kB32, Lanewise(Type::kF16x2, {a, b}, [&](llvm::ArrayRef<Value*> x) {
           Value* result = Intrinsic(id, {x[0], x[1]});
           return relu && sign ? Intrinsic(llvm::Intrinsic::smax, {result, b_.getInt16(0)}) : result;
         }));
}

// dp4a.atype.btype d, a, b, c and dp2a.{lo,hi}.atype.btype: sums of products of bytes, or of halves and bytes.
void FunctionCodegen::DotProduct(uint32_t element_bits) {
  const bool high = element_bits == 16 && modifiers_.TakeOneOf({"lo", "hi"}) == "hi";
  Type a_type = TypeOrFail(), b_type = TypeOrFail();
  if (!Expect(4)) return;
  Value* a = Source(1, a_type);
  Value* b = Source(2, b_type);
  Value* sum = Source(3, a_type);
  auto element = [&](Value* word, uint32_t index, uint32_t bits, Type type) {
    Value* part = b_.CreateTrunc(b_.CreateLShr(word, index * bits), b_.getIntNTy(bits));
    return IsSigned(type) ? b_.CreateSExt(part, b_.getInt32Ty()) : b_.CreateZExt(part, b_.getInt32Ty());
  };
  const uint32_t terms = 32 / element_bits;
  for (uint32_t i = 0; i < terms; ++i) {
    Value* x = element(a, i, element_bits, a_type);
    Value* y = element(b, i + (high ? 2 : 0), 8, b_type);
    sum = b_.CreateAdd(sum, b_.CreateMul(x, y));
  }
  Result(IsSigned(a_type) || IsSigned(b_type) ? Type::kS32 : Type::kU32, sum);
}

}  // namespace wharf::device::soft
