// cvt.
#include "wharf/device/soft/codegen/function.h"

namespace wharf::device::soft {
namespace {

bool IsFloatOrHalf(ptx::Type type) { return IsFloat(type) || IsHalf(type); }
// Of a float in a byte.
uint32_t MantissaOf(ptx::Type pair) { return pair == ptx::Type::kE4M3x2 ? 3 : 2; }

}  // namespace

void FunctionCodegen::AddConvertHandlers(std::map<std::string_view, Handler>* handlers) {
  handlers->insert({{"cvt", &FunctionCodegen::Cvt}});
}

bool FunctionCodegen::TakeIntegralRounding(Rounding* rounding) {
  const std::string_view name = modifiers_.TakeOneOf({"rni", "rzi", "rmi", "rpi"});
  if (name.empty()) return false;
  *rounding = name == "rni"   ? Rounding::kNearest
              : name == "rzi" ? Rounding::kZero
              : name == "rmi" ? Rounding::kDown
                              : Rounding::kUp;
  return true;
}

llvm::Value* FunctionCodegen::RoundToIntegral(Value* value, Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearest:
      return Intrinsic(llvm::Intrinsic::roundeven, {value});
    case Rounding::kZero:
      return Intrinsic(llvm::Intrinsic::trunc, {value});
    case Rounding::kDown:
      return Intrinsic(llvm::Intrinsic::floor, {value});
    case Rounding::kUp:
      return Intrinsic(llvm::Intrinsic::ceil, {value});
  }
  return value;
}

// Clamps to [0, 1]; NaN becomes 0.
llvm::Value* FunctionCodegen::SaturateUnit(Value* value) {
  Value* zero = llvm::ConstantFP::get(value->getType(), 0);
  Value* one = llvm::ConstantFP::get(value->getType(), 1);
  value = b_.CreateSelect(b_.CreateFCmpOGT(value, zero), value, zero);
  return b_.CreateSelect(b_.CreateFCmpOLT(value, one), value, one);
}

void FunctionCodegen::Cvt() {
  if (modifiers_.Take("pack")) return CvtPack();
  Type to = TypeOrFail();
  if (to == Type::kTF32) return CvtTf32();
  if (IsPackedHalf(to)) return CvtPackedHalf(to);
  if (IsPairOfBytes(to)) return CvtToBytes(to);
  Type from = TypeOrFail();
  if (!Expect(2)) return;
  if (IsInteger(to) && IsInteger(from)) return CvtInteger(to, from);
  if (IsInteger(to) && IsFloatOrHalf(from)) return CvtToInteger(to, from);
  if (IsFloatOrHalf(to) && IsInteger(from)) return CvtFromInteger(to, from);
  if (IsFloatOrHalf(to) && IsFloatOrHalf(from)) return CvtFloat(to, from);
  Unsupported("conversion between these types");
}

// A value of integer type `from` with `value` clamped to the range of `to`.
llvm::Value* FunctionCodegen::ClampInteger(Value* value, Type to, Type from) {
  const uint32_t bits = BitsOf(from), to_bits = BitsOf(to);
  if (IsSigned(from)) {
    const bool lower_fits = IsSigned(to) && to_bits >= bits;
    if (!lower_fits) {
      llvm::APInt low = IsSigned(to) ? llvm::APInt::getSignedMinValue(to_bits).sext(bits) : llvm::APInt(bits, 0);
      value = Intrinsic(llvm::Intrinsic::smax, {value, llvm::ConstantInt::get(context_, low)});
    }
    const uint32_t magnitude = to_bits - (IsSigned(to) ? 1 : 0);
    if (magnitude < bits - 1) {
      llvm::APInt high = llvm::APInt::getLowBitsSet(bits, magnitude);
      value = Intrinsic(llvm::Intrinsic::smin, {value, llvm::ConstantInt::get(context_, high)});
    }
    return value;
  }
  const uint32_t magnitude = to_bits - (IsSigned(to) ? 1 : 0);
  if (magnitude >= bits) return value;
  llvm::APInt high = llvm::APInt::getLowBitsSet(bits, magnitude);
  return Intrinsic(llvm::Intrinsic::umin, {value, llvm::ConstantInt::get(context_, high)});
}

void FunctionCodegen::CvtInteger(Type to, Type from) {
  const bool saturate = modifiers_.Take("sat");
  Value* value = Source(1, from);
  if (saturate) value = ClampInteger(value, to, from);
  auto* type = Llvm(to);
  Result(to, IsSigned(from) ? b_.CreateSExtOrTrunc(value, type) : b_.CreateZExtOrTrunc(value, type));
}

void FunctionCodegen::CvtToInteger(Type to, Type from) {
  Rounding rounding = Rounding::kZero;
  if (!TakeIntegralRounding(&rounding)) return Malformed("no integer rounding");
  const bool ftz = modifiers_.Take("ftz");
  modifiers_.Take("sat");  // conversion to an integer always saturates
  Value* value = Source(1, from);
  if (IsHalf(from)) value = Widen(value, from);
  if (ftz) value = Flush(value);
  value = RoundToIntegral(value, rounding);
  const auto id = IsSigned(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  Value* result = b_.CreateIntrinsic(id, {Llvm(to), value->getType()}, {value});
  if (from == Type::kF64 || BitsOf(to) == 64) {
    Value* invalid = llvm::ConstantInt::get(context_, llvm::APInt::getSignMask(BitsOf(to)));
    result = b_.CreateSelect(b_.CreateFCmpUNO(value, value), invalid, result);
  }
  Result(to, result);
}

void FunctionCodegen::CvtFromInteger(Type to, Type from) {
  const Rounding rounding = TakeRounding();
  const bool saturate = modifiers_.Take("sat");
  Value* value = Source(1, from);
  const bool sign = IsSigned(from);
  if (!IsHalf(to)) {
    Value* result = IntegerToFloat(b_, value, sign, Llvm(to), rounding);
    return Result(to, saturate ? SaturateUnit(result) : result);
  }
  if (BitsOf(from) == 64) {
    // Fold the lowest bits into one, so that the conversion to double is exact and the final rounding still right.
    Value* low = b_.CreateAnd(value, b_.getInt64(0xfff));
    Value* sticky = b_.CreateSelect(b_.CreateICmpNE(low, b_.getInt64(0)), b_.getInt64(0x800), b_.getInt64(0));
    Value* folded = b_.CreateOr(b_.CreateAnd(value, b_.getInt64(~uint64_t{0xfff})), sticky);
    Value* magnitude =
        sign ? b_.CreateIntrinsic(llvm::Intrinsic::abs, {value->getType()}, {value, b_.getFalse()}) : value;
    value = b_.CreateSelect(b_.CreateICmpUGE(magnitude, b_.getInt64(uint64_t{1} << 52)), folded, value);
  }
  Value* single = NarrowToSingleOdd(b_, IntegerToFloat(b_, value, sign, b_.getDoubleTy(), Rounding::kNearest));
  if (saturate) single = SaturateUnit(single);
  Result(to, to == Type::kF16 ? SingleToHalf(b_, single, rounding) : SingleToBrain(b_, single, rounding));
}

void FunctionCodegen::CvtFloat(Type to, Type from) {
  Rounding integral = Rounding::kNearest;
  const bool to_integral = TakeIntegralRounding(&integral);
  const Rounding rounding = TakeRounding();
  const bool ftz = modifiers_.Take("ftz"), saturate = modifiers_.Take("sat"), relu = modifiers_.Take("relu");
  Value* value = Source(1, from);
  if (IsHalf(from)) {
    value = Widen(value, from);
  } else if (ftz && from == Type::kF32 && to != Type::kF16) {
    value = Flush(value);  // not on the way to a half: so it is on GPUs, whatever PTX says
  }
  if (to_integral) value = RoundToIntegral(value, integral);
  if (saturate) value = SaturateUnit(value);
  if (relu) value = Relu(value);
  if (from == Type::kF64 && IsHalf(to)) value = NarrowToSingleOdd(b_, value);
  if (to == Type::kF64) {
    if (from != Type::kF64) value = b_.CreateFPExt(value, b_.getDoubleTy());
  } else if (to == Type::kF32) {
    if (from == Type::kF64) value = NarrowToSingle(b_, value, rounding);
    if (ftz) value = Flush(value);
  } else {
    value = to == Type::kF16 ? SingleToHalf(b_, value, rounding) : SingleToBrain(b_, value, rounding);
  }
  Result(to, value);
}

// cvt.rn.f16x2.f32 d, a, b: a goes to the upper half.
void FunctionCodegen::CvtPackedHalf(Type to) {
  const Rounding rounding = TakeRounding();
  const bool relu = modifiers_.Take("relu"), saturate = modifiers_.Take("satfinite");
  Type from = TypeOrFail(), element = ElementOf(to);
  if (IsPairOfBytes(from) && to == Type::kF16x2 && !saturate) return CvtFromBytes(from, relu);
  if (from != Type::kF32) return Unsupported("conversion between these types");
  if (!Expect(3)) return;
  auto half = [&](size_t operand) {
    Value* x = Source(operand, from);
    if (relu) x = Relu(x);
    if (saturate) {
      Value* limit = llvm::ConstantFP::get(x->getType(), element == Type::kF16 ? 65504.0 : 0x1.fep127);
      Value* beyond = b_.CreateFCmpOGT(Intrinsic(llvm::Intrinsic::fabs, {x}), limit);
      x = b_.CreateSelect(beyond, b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, limit, x), x);
    }
    Value* bits = element == Type::kF16 ? SingleToHalf(b_, x, rounding) : SingleToBrain(b_, x, rounding);
    return b_.CreateZExt(bits, b_.getInt32Ty());
  };
  Value* high = b_.CreateShl(half(1), 16);
  Result(Type::kB32, b_.CreateOr(high, half(2)));
}

// cvt.rn.satfinite{.relu}.e4m3x2.f32 d, a, b: a goes to the upper byte. .f16x2 d, a.
void FunctionCodegen::CvtToBytes(Type to) {
  if (!modifiers_.Take("rn") || !modifiers_.Take("satfinite")) return Malformed("only .rn.satfinite exists");
  const bool relu = modifiers_.Take("relu");
  const Type from = TypeOrFail();
  if (from != Type::kF32 && from != Type::kF16x2) return Unsupported("conversion between these types");
  if (!Expect(from == Type::kF32 ? 3 : 2)) return;
  const auto element = [&](bool upper) {
    if (from == Type::kF32) return Source(upper ? 1 : 2, from);
    Value* both = Source(1, Type::kB32);
    return Widen(b_.CreateTrunc(upper ? b_.CreateLShr(both, 16) : both, b_.getInt16Ty()), Type::kF16);
  };
  const auto byte = [&](bool upper) {
    Value* value = element(upper);
    return SingleToByte(b_, relu ? Relu(value) : value, MantissaOf(to));
  };
  Value* high = b_.CreateShl(byte(true), 8);
  Result(Type::kB16, b_.CreateTrunc(b_.CreateOr(high, byte(false)), b_.getInt16Ty()));
}

// cvt.rn{.relu}.f16x2.e4m3x2 d, a: exact.
void FunctionCodegen::CvtFromBytes(Type from, bool relu) {
  if (!Expect(2)) return;
  Value* both = b_.CreateZExt(Source(1, Type::kB16), b_.getInt32Ty());
  const auto half = [&](Value* byte) {
    Value* value = ByteToSingle(b_, byte, MantissaOf(from));
    return b_.CreateZExt(SingleToHalf(b_, relu ? Relu(value) : value, Rounding::kNearest), b_.getInt32Ty());
  };
  Value* high = b_.CreateShl(half(b_.CreateLShr(both, 8)), 16);
  Result(Type::kB32, b_.CreateOr(high, half(b_.CreateAnd(both, b_.getInt32(0xff)))));
}

// f32 with the lower 13 bits of the fraction rounded off.
void FunctionCodegen::CvtTf32() {
  const std::string_view mode = modifiers_.TakeOneOf({"rna", "rn", "rz"});
  const bool relu = modifiers_.Take("relu"), saturate = modifiers_.Take("satfinite");
  if (TypeOrFail() != Type::kF32 || mode.empty()) return Malformed("no such conversion");
  if (!Expect(2)) return;
  Value* value = Source(1, Type::kF32);
  if (relu) value = Relu(value);
  Value* bits = ToBits(value);
  Value* rounded = bits;
  if (mode == "rna") rounded = b_.CreateAdd(bits, b_.getInt32(0x1000));
  if (mode == "rn") {
    Value* odd = b_.CreateAnd(b_.CreateLShr(bits, 13), b_.getInt32(1));
    rounded = b_.CreateAdd(bits, b_.CreateAdd(b_.getInt32(0xfff), odd));
  }
  rounded = b_.CreateAnd(rounded, b_.getInt32(~uint32_t{0x1fff}));
  if (saturate) {
    Value* magnitude = b_.CreateAnd(rounded, b_.getInt32(0x7fffffff));
    Value* most = b_.getInt32(0x7f7fe000);
    Value* kept = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, magnitude, most);
    rounded = b_.CreateOr(kept, b_.CreateAnd(rounded, b_.getInt32(0x80000000)));
  }
  Result(Type::kB32, b_.CreateSelect(b_.CreateFCmpUNO(value, value), b_.getInt32(0x7fffffff), rounded));
}

// cvt.pack.sat.type.abtype{.ctype} d, a, b{, c}: the saturated a above b, above that the lower bits of c.
void FunctionCodegen::CvtPack() {
  if (!modifiers_.Take("sat")) return Malformed("cvt.pack needs .sat");
  Type to = TypeOrFail(), from = TypeOrFail();
  const bool append = modifiers_.TakeType() == Type::kB32;
  if (!Expect(append ? 4 : 3)) return;
  const uint32_t bits = BitsOf(to);
  if (!IsInteger(to) || bits > 16 || !IsInteger(from) || (bits == 8) != append)
    return Unsupported("pack of these types");
  auto element = [&](size_t operand) {
    Value* value = ClampInteger(Source(operand, from), to, from);
    return b_.CreateZExt(b_.CreateTrunc(value, Llvm(to)), b_.getInt32Ty());
  };
  Value* result = b_.CreateOr(b_.CreateShl(element(1), bits), element(2));
  if (append) result = b_.CreateOr(b_.CreateShl(Source(3, Type::kB32), 2 * bits), result);
  Result(Type::kB32, result);
}

}  // namespace wharf::device::soft
