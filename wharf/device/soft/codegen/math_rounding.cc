#include "wharf/device/soft/codegen/math_rounding.h"

#include <llvm/IR/Intrinsics.h>

#include <cmath>

namespace wharf::device::soft {
namespace {

using llvm::Value;

Value* Bits(llvm::IRBuilder<>& b, Value* x) {
  return b.CreateBitCast(x, b.getIntNTy(x->getType()->getPrimitiveSizeInBits()));
}

Value* ToDouble(llvm::IRBuilder<>& b, Value* x) { return b.CreateFPExt(x, b.getDoubleTy()); }

Value* SignBit(llvm::IRBuilder<>& b, llvm::Type* type) {
  return llvm::ConstantInt::get(b.getContext(), llvm::APInt::getSignMask(type->getIntegerBitWidth()));
}

Value* NextUpBits(llvm::IRBuilder<>& b, Value* bits) {
  Value* one = llvm::ConstantInt::get(bits->getType(), 1);
  Value* zero = llvm::ConstantInt::get(bits->getType(), 0);
  Value* moved = b.CreateSelect(b.CreateICmpSGE(bits, zero), b.CreateAdd(bits, one), b.CreateSub(bits, one));
  return b.CreateSelect(b.CreateICmpEQ(bits, SignBit(b, bits->getType())), one, moved);
}

Value* NextDownBits(llvm::IRBuilder<>& b, Value* bits) {
  Value* one = llvm::ConstantInt::get(bits->getType(), 1);
  Value* zero = llvm::ConstantInt::get(bits->getType(), 0);
  Value* moved = b.CreateSelect(b.CreateICmpSGT(bits, zero), b.CreateSub(bits, one), b.CreateAdd(bits, one));
  return b.CreateSelect(b.CreateICmpEQ(bits, zero), b.CreateOr(SignBit(b, bits->getType()), one), moved);
}

// `bits` of a float rounded to nearest, `error`: exact - nearest, only its sign matters.
Value* AdjustBits(llvm::IRBuilder<>& b, Value* bits, Value* error, Rounding rounding) {
  Value* zero = llvm::ConstantFP::get(error->getType(), 0);
  Value* too_high = b.CreateFCmpOLT(error, zero);
  Value* too_low = b.CreateFCmpOGT(error, zero);
  switch (rounding) {
    case Rounding::kNearest:
      return bits;
    case Rounding::kDown:
      return b.CreateSelect(too_high, NextDownBits(b, bits), bits);
    case Rounding::kUp:
      return b.CreateSelect(too_low, NextUpBits(b, bits), bits);
    case Rounding::kZero: {
      Value* negative = b.CreateICmpSLT(bits, llvm::ConstantInt::get(bits->getType(), 0));
      Value* away = b.CreateSelect(negative, too_low, too_high);
      return b.CreateSub(bits, b.CreateZExt(away, bits->getType()));
    }
  }
  return bits;
}

// x + y in double and what the sum lost.
struct ExactSum {
  Value* sum;
  Value* lost;
};
ExactSum TwoSum(llvm::IRBuilder<>& b, Value* x, Value* y) {
  Value* sum = b.CreateFAdd(x, y);
  Value* part = b.CreateFSub(sum, x);
  Value* lost = b.CreateFAdd(b.CreateFSub(x, b.CreateFSub(sum, part)), b.CreateFSub(y, part));
  return {sum, lost};
}

// The error of `single`, the double x + lost rounded.
Value* ErrorOf(llvm::IRBuilder<>& b, Value* single, Value* x, Value* lost) {
  Value* error = b.CreateFSub(x, ToDouble(b, single));
  return lost == nullptr ? error : b.CreateFAdd(error, lost);
}

// x + y for doubles that are exact products or single values, rounded once to f32.
Value* RoundSum(llvm::IRBuilder<>& b, Value* x, Value* y, Rounding rounding) {
  ExactSum exact = TwoSum(b, x, y);
  Value* single = b.CreateFPTrunc(exact.sum, b.getFloatTy());
  Value* result = AdjustSingle(b, single, ErrorOf(b, single, exact.sum, exact.lost), rounding);
  if (rounding != Rounding::kDown) return result;
  // A sum that is exactly zero is -0 unless both terms are +0.
  Value* signs = b.CreateOr(Bits(b, x), Bits(b, y));
  Value* zero = b.CreateSelect(b.CreateICmpSLT(signs, b.getInt64(0)), llvm::ConstantFP::getNegativeZero(b.getFloatTy()),
                               llvm::ConstantFP::get(b.getFloatTy(), 0));
  return b.CreateSelect(b.CreateFCmpOEQ(exact.sum, llvm::ConstantFP::get(b.getDoubleTy(), 0)), zero, result);
}

Value* OddSingle(llvm::IRBuilder<>& b, Value* single, Value* error) {
  Value* bits = Bits(b, single);
  Value* zero = llvm::ConstantFP::get(b.getDoubleTy(), 0);
  Value* low_zero = b.CreateICmpEQ(b.CreateAnd(bits, b.getInt32(1)), b.getInt32(0));
  Value* inexact = b.CreateFCmpONE(error, zero);
  Value* positive = b.CreateICmpSGE(bits, b.getInt32(0));
  Value* outward = b.CreateICmpEQ(positive, b.CreateFCmpOGT(error, zero));
  Value* moved = b.CreateSelect(outward, b.CreateAdd(bits, b.getInt32(1)), b.CreateSub(bits, b.getInt32(1)));
  return b.CreateBitCast(b.CreateSelect(b.CreateAnd(low_zero, inexact), moved, bits), b.getFloatTy());
}

Value* Magnitude(llvm::IRBuilder<>& b, Value* x) {
  return b.CreateIntrinsic(llvm::Intrinsic::abs, {x->getType()}, {x, b.getFalse()});
}

}  // namespace

Value* FusedMultiplyAdd(llvm::IRBuilder<>& b, Value* x, Value* y, Value* z) {
  return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
}

Value* FlushSubnormal(llvm::IRBuilder<>& b, Value* value) {
  const bool single = value->getType()->isFloatTy();
  Value* bits = Bits(b, value);
  llvm::Type* type = bits->getType();
  Value* exponent = llvm::ConstantInt::get(type, single ? uint64_t{0x7f800000} : uint64_t{0x7ff0000000000000});
  Value* small = b.CreateICmpEQ(b.CreateAnd(bits, exponent), llvm::ConstantInt::get(type, 0));
  Value* flushed = b.CreateSelect(small, b.CreateAnd(bits, SignBit(b, type)), bits);
  return b.CreateBitCast(flushed, value->getType());
}

Value* AdjustSingle(llvm::IRBuilder<>& b, Value* nearest, Value* error, Rounding rounding) {
  if (rounding == Rounding::kNearest) return nearest;
  return b.CreateBitCast(AdjustBits(b, Bits(b, nearest), error, rounding), nearest->getType());
}

Value* AddSingle(llvm::IRBuilder<>& b, Value* x, Value* y, Rounding rounding) {
  if (rounding == Rounding::kNearest) return b.CreateFAdd(x, y);
  return RoundSum(b, ToDouble(b, x), ToDouble(b, y), rounding);
}

Value* MulSingle(llvm::IRBuilder<>& b, Value* x, Value* y, Rounding rounding) {
  if (rounding == Rounding::kNearest) return b.CreateFMul(x, y);
  return NarrowToSingle(b, b.CreateFMul(ToDouble(b, x), ToDouble(b, y)), rounding);
}

Value* FmaSingle(llvm::IRBuilder<>& b, Value* x, Value* y, Value* z, Rounding rounding) {
  if (rounding == Rounding::kNearest) return FusedMultiplyAdd(b, x, y, z);
  return RoundSum(b, b.CreateFMul(ToDouble(b, x), ToDouble(b, y)), ToDouble(b, z), rounding);
}

Value* DivSingle(llvm::IRBuilder<>& b, Value* x, Value* y, Rounding rounding) {
  Value* quotient = b.CreateFDiv(x, y);
  if (rounding == Rounding::kNearest) return quotient;
  Value* divisor = ToDouble(b, y);
  Value* rest = FusedMultiplyAdd(b, b.CreateFNeg(ToDouble(b, quotient)), divisor, ToDouble(b, x));
  Value* sign = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, llvm::ConstantFP::get(b.getDoubleTy(), 1), divisor);
  return AdjustSingle(b, quotient, b.CreateFMul(rest, sign), rounding);
}

Value* SqrtSingle(llvm::IRBuilder<>& b, Value* x, Rounding rounding) {
  Value* root = b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
  if (rounding == Rounding::kNearest) return root;
  Value* wide = ToDouble(b, root);
  return AdjustSingle(b, root, FusedMultiplyAdd(b, b.CreateFNeg(wide), wide, ToDouble(b, x)), rounding);
}

Value* NarrowToSingle(llvm::IRBuilder<>& b, Value* x, Rounding rounding) {
  Value* single = b.CreateFPTrunc(x, b.getFloatTy());
  if (rounding == Rounding::kNearest) return single;
  return AdjustSingle(b, single, ErrorOf(b, single, x, nullptr), rounding);
}

Value* NarrowToSingleOdd(llvm::IRBuilder<>& b, Value* x) {
  Value* single = b.CreateFPTrunc(x, b.getFloatTy());
  return OddSingle(b, single, ErrorOf(b, single, x, nullptr));
}

Value* FmaSingleOdd(llvm::IRBuilder<>& b, Value* x, Value* y, Value* z) {
  ExactSum exact = TwoSum(b, b.CreateFMul(ToDouble(b, x), ToDouble(b, y)), ToDouble(b, z));
  Value* single = b.CreateFPTrunc(exact.sum, b.getFloatTy());
  return OddSingle(b, single, ErrorOf(b, single, exact.sum, exact.lost));
}

Value* IntegerToFloat(llvm::IRBuilder<>& b, Value* x, bool is_signed, llvm::Type* to, Rounding rounding) {
  const unsigned width = x->getType()->getIntegerBitWidth();
  if (rounding == Rounding::kNearest) return is_signed ? b.CreateSIToFP(x, to) : b.CreateUIToFP(x, to);
  if (width <= 32) {
    Value* exact = is_signed ? b.CreateSIToFP(x, b.getDoubleTy()) : b.CreateUIToFP(x, b.getDoubleTy());
    return to->isDoubleTy() ? exact : NarrowToSingle(b, exact, rounding);
  }
  // Cut off the bits that do not fit; the rest converts exactly.
  const unsigned precision = to->isDoubleTy() ? 53 : 24;
  Value* negative = is_signed ? b.CreateICmpSLT(x, b.getInt64(0)) : b.getFalse();
  Value* magnitude = is_signed ? Magnitude(b, x) : x;
  Value* zeros = b.CreateIntrinsic(llvm::Intrinsic::ctlz, {magnitude->getType()}, {magnitude, b.getFalse()});
  Value* excess =
      b.CreateIntrinsic(llvm::Intrinsic::usub_sat, {magnitude->getType()}, {b.getInt64(64 - precision), zeros});
  Value* kept = b.CreateShl(b.CreateLShr(magnitude, excess), excess);
  Value* bits = Bits(b, b.CreateUIToFP(kept, to));
  if (rounding != Rounding::kZero) {
    Value* side = rounding == Rounding::kDown ? negative : b.CreateNot(negative);
    Value* outward = b.CreateAnd(side, b.CreateICmpNE(kept, magnitude));
    bits = b.CreateAdd(bits, b.CreateZExt(outward, bits->getType()));
  }
  Value* signed_bits = b.CreateOr(bits, SignBit(b, bits->getType()));
  return b.CreateBitCast(b.CreateSelect(negative, signed_bits, bits), to);
}

Value* HalfToSingle(llvm::IRBuilder<>& b, Value* bits) {
  return b.CreateFPExt(b.CreateBitCast(bits, b.getHalfTy()), b.getFloatTy());
}

Value* SingleToHalf(llvm::IRBuilder<>& b, Value* x, Rounding rounding) {
  Value* bits = b.CreateBitCast(b.CreateFPTrunc(x, b.getHalfTy()), b.getInt16Ty());
  if (rounding != Rounding::kNearest) {
    bits = AdjustBits(b, bits, b.CreateFSub(x, HalfToSingle(b, bits)), rounding);
  }
  return b.CreateSelect(b.CreateFCmpUNO(x, x), b.getInt16(0x7fff), bits);
}

Value* BrainToSingle(llvm::IRBuilder<>& b, Value* bits) {
  return b.CreateBitCast(b.CreateShl(b.CreateZExt(bits, b.getInt32Ty()), 16), b.getFloatTy());
}

Value* SingleToBrain(llvm::IRBuilder<>& b, Value* x, Rounding rounding) {
  Value* bits = Bits(b, x);
  Value* rounded = bits;
  if (rounding == Rounding::kNearest) {
    Value* odd = b.CreateAnd(b.CreateLShr(bits, 16), b.getInt32(1));
    rounded = b.CreateAdd(bits, b.CreateAdd(b.getInt32(0x7fff), odd));
  }
  Value* brain = b.CreateTrunc(b.CreateLShr(rounded, 16), b.getInt16Ty());
  if (rounding == Rounding::kDown || rounding == Rounding::kUp) {
    brain = AdjustBits(b, brain, b.CreateFSub(x, BrainToSingle(b, brain)), rounding);
  }
  return b.CreateSelect(b.CreateFCmpUNO(x, x), b.getInt16(0x7fff), brain);
}

Value* ByteToSingle(llvm::IRBuilder<>& b, Value* bits, uint32_t mantissa) {
  // e5m2 is the upper byte of a half.
  if (mantissa == 2) return HalfToSingle(b, b.CreateTrunc(b.CreateShl(bits, 8), b.getInt16Ty()));
  Value* magnitude = b.CreateAnd(bits, b.getInt32(0x7f));
  // The exponent's bias is 120 less, subnormals' too.
  Value* scaled = b.CreateFMul(b.CreateBitCast(b.CreateShl(magnitude, 20), b.getFloatTy()),
                               llvm::ConstantFP::get(b.getFloatTy(), 0x1p120));
  Value* is_nan = b.CreateICmpEQ(magnitude, b.getInt32(0x7f));
  Value* all = b.CreateSelect(is_nan, b.getInt32(0x7fffffff), Bits(b, scaled));
  Value* sign = b.CreateShl(b.CreateAnd(bits, b.getInt32(0x80)), 24);
  return b.CreateBitCast(b.CreateOr(all, sign), b.getFloatTy());
}

Value* SingleToByte(llvm::IRBuilder<>& b, Value* x, uint32_t mantissa) {
  const auto number = [&](double value) { return llvm::ConstantFP::get(b.getFloatTy(), value); };
  const int bits = static_cast<int>(mantissa), bias = bits == 3 ? 7 : 15;
  Value* most = number(bits == 3 ? 448 : 57344);
  Value* magnitude = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  magnitude = b.CreateSelect(b.CreateFCmpOGT(magnitude, most), most, magnitude);
  Value* odd = b.CreateAnd(b.CreateLShr(Bits(b, magnitude), 23 - mantissa), b.getInt32(1));
  Value* half = b.CreateAdd(b.getInt32((1U << (22 - mantissa)) - 1), odd);
  Value* rounded = b.CreateLShr(b.CreateAdd(Bits(b, magnitude), half), 23 - mantissa);
  Value* normal = b.CreateSub(rounded, b.getInt32(static_cast<uint32_t>(127 - bias) << mantissa));
  // Subnormals are whole multiples of the last place of this number's sums.
  Value* large = number(std::ldexp(1.0, 24 - bias - bits));
  Value* subnormal = b.CreateSub(Bits(b, b.CreateFAdd(magnitude, large)), Bits(b, large));
  Value* result = b.CreateSelect(b.CreateFCmpOLT(magnitude, number(std::ldexp(1.0, 1 - bias))), subnormal, normal);
  result = b.CreateOr(result, b.CreateAnd(b.CreateLShr(Bits(b, x), 24), b.getInt32(0x80)));
  return b.CreateSelect(b.CreateFCmpUNO(x, x), b.getInt32(0x7f), result);
}

}  // namespace wharf::device::soft
