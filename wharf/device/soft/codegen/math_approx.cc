#include "wharf/device/soft/codegen/math_approx.h"

#include <llvm/IR/Intrinsics.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>

#include "wharf/device/soft/codegen/math_rounding.h"

namespace wharf::device::soft {
namespace {

using llvm::Value;

Value* Single(llvm::IRBuilder<>& b, float value) { return llvm::ConstantFP::get(b.getFloatTy(), value); }
Value* Double(llvm::IRBuilder<>& b, double value) { return llvm::ConstantFP::get(b.getDoubleTy(), value); }

// Coefficients from the lowest power up.
Value* Polynomial(llvm::IRBuilder<>& b, Value* x, std::initializer_list<float> coefficients) {
  const float* c = coefficients.end();
  Value* sum = Single(b, *--c);
  while (c != coefficients.begin()) sum = FusedMultiplyAdd(b, sum, x, Single(b, *--c));
  return sum;
}

// Keeps NaN.
Value* Clamp(llvm::IRBuilder<>& b, Value* x, Value* low, Value* high) {
  x = b.CreateSelect(b.CreateFCmpOLT(x, low), low, x);
  return b.CreateSelect(b.CreateFCmpOGT(x, high), high, x);
}

Value* PowerOfTwo(llvm::IRBuilder<>& b, Value* exponent) {
  return b.CreateBitCast(b.CreateShl(b.CreateAdd(exponent, b.getInt32(127)), 23), b.getFloatTy());
}

}  // namespace

llvm::Value* ApproximateExp2(llvm::IRBuilder<>& b, Value* x) {
  // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
  constexpr float kMagic = 0x1.8p23f;
  constexpr float kLimit = 160;  // beyond all exponents, so that the two factors below do not overflow early
  Value* clamped = Clamp(b, x, Single(b, -kLimit), Single(b, kLimit));
  Value* shifted = b.CreateFAdd(clamped, Single(b, kMagic));
  Value* n = b.CreateSub(b.CreateBitCast(shifted, b.getInt32Ty()), b.getInt32(0x4b400000));
  Value* f = b.CreateFSub(clamped, b.CreateFSub(shifted, Single(b, kMagic)));
  Value* p = Polynomial(
      b, f, {1.0F, 0.693147207F, 0.240226509F, 0.0555032723F, 0.00961805668F, 0.00134004282F, 0.000154614447F});
  // In two steps, so that subnormal results are rounded once.
  Value* half = b.CreateAShr(n, 1);
  Value* scaled = b.CreateFMul(p, PowerOfTwo(b, half));
  return b.CreateFMul(scaled, PowerOfTwo(b, b.CreateSub(n, half)));
}

llvm::Value* ApproximateLog2(llvm::IRBuilder<>& b, Value* x) {
  constexpr uint32_t kSqrtHalf = 0x3f3504f3;
  Value* small = b.CreateFCmpOLT(x, Single(b, 0x1p-126F));
  Value* scaled = b.CreateSelect(small, b.CreateFMul(x, Single(b, 0x1p24F)), x);
  Value* bits = b.CreateBitCast(scaled, b.getInt32Ty());
  Value* exponent = b.CreateAShr(b.CreateSub(bits, b.getInt32(kSqrtHalf)), 23);
  Value* mantissa = b.CreateBitCast(b.CreateSub(bits, b.CreateShl(exponent, 23)), b.getFloatTy());
  Value* f = b.CreateFSub(mantissa, Single(b, 1));
  Value* p = Polynomial(b, f,
                        {1.44269504F, -0.721347354F, 0.48089852F, -0.360696542F, 0.288552561F, -0.239608122F,
                         0.204857648F, -0.191388377F, 0.184760334F, -0.107497894F});
  Value* e =
      b.CreateSIToFP(b.CreateSub(exponent, b.CreateSelect(small, b.getInt32(24), b.getInt32(0))), b.getFloatTy());
  Value* result = FusedMultiplyAdd(b, f, p, e);
  const float infinity = std::numeric_limits<float>::infinity();
  result = b.CreateSelect(b.CreateFCmpOEQ(x, Single(b, 0)), Single(b, -infinity), result);
  result = b.CreateSelect(b.CreateFCmpOEQ(x, Single(b, infinity)), x, result);
  Value* invalid = b.CreateFCmpULT(x, Single(b, 0));  // negative or NaN
  return b.CreateSelect(invalid, Single(b, std::numeric_limits<float>::quiet_NaN()), result);
}

llvm::Value* ApproximateSine(llvm::IRBuilder<>& b, Value* x, bool cosine) {
  constexpr double kMagic = 0x1.8p52;
  constexpr double kHalfPiHigh = std::numbers::pi / 2, kHalfPiLow = 6.123233995736766e-17;
  Value* wide = b.CreateFPExt(x, b.getDoubleTy());
  Value* shifted = b.CreateFAdd(b.CreateFMul(wide, Double(b, 2 / std::numbers::pi)), Double(b, kMagic));
  Value* quadrant = b.CreateTrunc(b.CreateBitCast(shifted, b.getInt64Ty()), b.getInt32Ty());
  Value* n = b.CreateFNeg(b.CreateFSub(shifted, Double(b, kMagic)));
  Value* rest = FusedMultiplyAdd(b, n, Double(b, kHalfPiLow), FusedMultiplyAdd(b, n, Double(b, kHalfPiHigh), wide));
  // Arguments too large for this reduction have no meaningful sine in f32; the result stays in [-1, 1].
  Value* r = Clamp(b, b.CreateFPTrunc(rest, b.getFloatTy()), Single(b, -0.8F), Single(b, 0.8F));
  Value* z = b.CreateFMul(r, r);
  Value* sine = Polynomial(b, z, {1.0F, -0.166666666F, 0.00833332821F, -0.000198390325F, 2.7158052e-06F});
  sine = b.CreateFMul(r, sine);
  Value* other = Polynomial(b, z, {1.0F, -0.499999995F, 0.0416666104F, -0.00138864318F, 2.43629267e-05F});
  if (cosine) quadrant = b.CreateAdd(quadrant, b.getInt32(1));
  Value* odd = b.CreateICmpNE(b.CreateAnd(quadrant, b.getInt32(1)), b.getInt32(0));
  Value* value = b.CreateBitCast(b.CreateSelect(odd, other, sine), b.getInt32Ty());
  Value* sign = b.CreateShl(b.CreateAnd(quadrant, b.getInt32(2)), 30);
  return b.CreateBitCast(b.CreateXor(value, sign), b.getFloatTy());
}

llvm::Value* ApproximateTanh(llvm::IRBuilder<>& b, Value* x) {
  Value* magnitude = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  Value* z = b.CreateFMul(x, x);
  Value* small = b.CreateFMul(
      x, Polynomial(b, z, {1.0F, -0.333332828F, 0.133316796F, -0.0537679835F, 0.0207513491F, -0.0058496439F}));
  Value* power = ApproximateExp2(b, b.CreateFMul(magnitude, Single(b, 2.88539008F)));
  Value* ratio = b.CreateFDiv(Single(b, 2), b.CreateFAdd(power, Single(b, 1)));
  Value* large = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, b.CreateFSub(Single(b, 1), ratio), x);
  return b.CreateSelect(b.CreateFCmpOLT(magnitude, Single(b, 0.6F)), small, large);
}

}  // namespace wharf::device::soft
