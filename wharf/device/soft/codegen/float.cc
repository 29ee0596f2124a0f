// Floating-point arithmetic. Results of .rn instructions are IEEE's; nothing is contracted or reordered.
#include "wharf/device/soft/codegen/function.h"
#include "wharf/device/soft/codegen/math_approx.h"

namespace wharf::device::soft {
namespace {

// Besides LLVM's FAdd, FSub and FMul.
constexpr int kFma = -1;

}  // namespace

void FunctionCodegen::AddFloatHandlers(std::map<std::string_view, Handler>* handlers) {
  handlers->insert({{"fma", &FunctionCodegen::Fma},
                    {"rcp", &FunctionCodegen::Rcp},
                    {"sqrt", &FunctionCodegen::Sqrt},
                    {"rsqrt", &FunctionCodegen::Rsqrt},
                    {"sin", &FunctionCodegen::Sin},
                    {"cos", &FunctionCodegen::Cos},
                    {"lg2", &FunctionCodegen::Lg2},
                    {"ex2", &FunctionCodegen::Ex2},
                    {"tanh", &FunctionCodegen::Tanh},
                    {"copysign", &FunctionCodegen::Copysign},
                    {"testp", &FunctionCodegen::Testp}});
}

// f64 in a rounding mode other than to nearest.
llvm::Value* FunctionCodegen::RoundedDouble(DoubleOperation operation, llvm::ArrayRef<Value*> operands,
                                            Rounding rounding) {
  llvm::Type* f64 = b_.getDoubleTy();
  llvm::Type* i32 = b_.getInt32Ty();
  Value* zero = llvm::ConstantFP::get(f64, 0);
  auto helper = module_.External("wharf_rounded_double", f64, {i32, i32, f64, f64, f64});
  auto operand = [&](size_t i) { return i < operands.size() ? operands[i] : zero; };
  return b_.CreateCall(helper, {b_.getInt32(static_cast<uint32_t>(operation)),
                                b_.getInt32(static_cast<uint32_t>(rounding)), operand(0), operand(1), operand(2)});
}

llvm::Value* FunctionCodegen::DoubleElement(int operation, llvm::ArrayRef<Value*> x, Rounding rounding) {
  const bool nearest = rounding == Rounding::kNearest;
  switch (operation) {
    case llvm::Instruction::FAdd:
      return nearest ? b_.CreateFAdd(x[0], x[1]) : RoundedDouble(DoubleOperation::kAdd, x, rounding);
    case llvm::Instruction::FSub:
      return nearest ? b_.CreateFSub(x[0], x[1])
                     : RoundedDouble(DoubleOperation::kAdd, {x[0], b_.CreateFNeg(x[1])}, rounding);
    case llvm::Instruction::FMul:
      return nearest ? b_.CreateFMul(x[0], x[1]) : RoundedDouble(DoubleOperation::kMul, x, rounding);
    default:
      return nearest ? Intrinsic(llvm::Intrinsic::fma, x) : RoundedDouble(DoubleOperation::kFma, x, rounding);
  }
}

llvm::Value* FunctionCodegen::SingleElement(int operation, llvm::ArrayRef<Value*> x, Rounding rounding) {
  switch (operation) {
    case llvm::Instruction::FAdd:
      return AddSingle(b_, x[0], x[1], rounding);
    case llvm::Instruction::FSub:
      return rounding == Rounding::kNearest ? b_.CreateFSub(x[0], x[1])
                                            : AddSingle(b_, x[0], b_.CreateFNeg(x[1]), rounding);
    case llvm::Instruction::FMul:
      return MulSingle(b_, x[0], x[1], rounding);
    default:
      return FmaSingle(b_, x[0], x[1], x[2], rounding);
  }
}

// Operands and result are bits of a half or brain float. Single precision has more than twice the bits plus two, so
// that rounding twice is harmless, except after an fma and where a brain float's product is subnormal.
llvm::Value* FunctionCodegen::HalfElement(Type element, int operation, llvm::ArrayRef<Value*> operands, bool ftz) {
  std::vector<Value*> x;
  for (Value* operand : operands) x.push_back(FlushHalf(Widen(operand, element), element, ftz));
  Value* result;
  if (operation == kFma) {
    result = FmaSingleOdd(b_, x[0], x[1], x[2]);
  } else if (operation == llvm::Instruction::FMul && element == Type::kBF16) {
    auto* f64 = b_.getDoubleTy();
    result = NarrowToSingleOdd(b_, b_.CreateFMul(b_.CreateFPExt(x[0], f64), b_.CreateFPExt(x[1], f64)));
  } else {
    result = SingleElement(operation, x, Rounding::kNearest);
  }
  if (!ftz) return Narrow(result, element);
  return Narrow(FlushHalf(Widen(Narrow(result, element), element), element, true), element);
}

llvm::Value* FunctionCodegen::FlushHalf(Value* single, Type element, bool ftz) {
  if (!ftz) return single;
  llvm::Type* f32 = b_.getFloatTy();
  Value* magnitude = Intrinsic(llvm::Intrinsic::fabs, {single});
  Value* small = b_.CreateFCmpOLT(magnitude, llvm::ConstantFP::get(f32, element == Type::kF16 ? 0x1p-14 : 0x1p-126));
  Value* zero = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, llvm::ConstantFP::get(f32, 0), single);
  return b_.CreateSelect(small, zero, single);
}

llvm::Value* FunctionCodegen::FloatElement(Type element, int operation, llvm::ArrayRef<Value*> operands,
                                           Rounding rounding, bool ftz) {
  if (IsHalf(element)) return HalfElement(element, operation, operands, ftz);
  if (element == Type::kF64) return DoubleElement(operation, operands, rounding);
  if (!ftz) return SingleElement(operation, operands, rounding);
  std::vector<Value*> x;
  for (Value* operand : operands) x.push_back(Flush(operand));
  return Flush(SingleElement(operation, x, rounding));
}

void FunctionCodegen::FloatArithmetic(Type type, int operation) {
  const Rounding rounding = TakeRounding();
  const bool ftz = modifiers_.Take("ftz"), saturate = modifiers_.Take("sat"), relu = modifiers_.Take("relu");
  const size_t count = operation == kFma ? 3 : 2;
  if (!Expect(count + 1)) return;
  if ((IsHalf(type) || IsPackedHalf(type)) && rounding != Rounding::kNearest)
    return Unsupported("rounding of this type");
  if (relu && (operation != kFma || IsFloat(type))) return Unsupported("relu of this type");
  if (type == Type::kF64 && (ftz || saturate)) return Malformed("no such modifier of f64");
  std::vector<Value*> operands;
  for (size_t i = 1; i <= count; ++i) operands.push_back(Source(i, type));
  const Type element = ElementOf(type);
  auto compute = [&](llvm::ArrayRef<Value*> x) {
    Value* result = FloatElement(element, operation, x, rounding, ftz);
    if (!saturate && !relu) return result;
    Value* wide = IsHalf(element) ? Widen(result, element) : result;
    wide = saturate ? SaturateUnit(wide) : Relu(wide);
    return IsHalf(element) ? Narrow(wide, element) : wide;
  };
  if (type != Type::kF32x2) return Result(type, Lanewise(type, operands, compute));
  if (saturate || relu) return Unsupported("saturation of this type");
  Result(type, PairOfSingles(operands, [&](llvm::ArrayRef<Value*> x) {
           return FloatElement(Type::kF32, operation, x, rounding, ftz);
         }));
}

// Two f32 in 64 bits.
llvm::Value* FunctionCodegen::PairOfSingles(llvm::ArrayRef<Value*> operands,
                                            const std::function<Value*(llvm::ArrayRef<Value*>)>& operation) {
  Value* result = b_.getInt64(0);
  for (uint32_t lane = 0; lane < 2; ++lane) {
    std::vector<Value*> x;
    for (Value* operand : operands) {
      Value* bits = b_.CreateTrunc(b_.CreateLShr(operand, 32 * lane), b_.getInt32Ty());
      x.push_back(b_.CreateBitCast(bits, b_.getFloatTy()));
    }
    result = b_.CreateOr(result, b_.CreateShl(b_.CreateZExt(ToBits(operation(x)), b_.getInt64Ty()), 32 * lane));
  }
  return result;
}

void FunctionCodegen::Fma() {
  Type type = TypeOrFail();
  if (!IsFloat(type) && !IsHalf(type) && !IsPackedHalf(type) && type != Type::kF32x2) return Malformed("bad type");
  FloatArithmetic(type, kFma);
}

// Negative numbers become zero, NaN stays.
llvm::Value* FunctionCodegen::Relu(Value* x) {
  Value* zero = llvm::ConstantFP::get(x->getType(), 0);
  return b_.CreateSelect(b_.CreateFCmpOLE(x, zero), zero, x);
}

void FunctionCodegen::FloatDiv(Type type) {
  const bool approximate = !modifiers_.TakeOneOf({"approx", "full"}).empty();
  const Rounding rounding = TakeRounding();
  const bool ftz = modifiers_.Take("ftz");
  if (!Expect(3)) return;
  if (!IsFloat(type) || (type == Type::kF64 && (approximate || ftz))) return Malformed("no such division");
  Value* x = Source(1, type);
  Value* y = Source(2, type);
  if (type == Type::kF64) {
    return Result(type, rounding == Rounding::kNearest ? b_.CreateFDiv(x, y)
                                                       : RoundedDouble(DoubleOperation::kDiv, {x, y}, rounding));
  }
  if (!ftz) return Result(type, DivSingle(b_, x, y, rounding));
  Result(type, Flush(DivSingle(b_, Flush(x), Flush(y), rounding)));
}

void FunctionCodegen::FloatNegAbs(Type type, bool negate) {
  const bool ftz = modifiers_.Take("ftz");
  if (!Expect(2)) return;
  Value* value = Source(1, type);
  if (IsFloat(type)) {
    if (ftz) value = Flush(value);
    return Result(type, negate ? b_.CreateFNeg(value) : Intrinsic(llvm::Intrinsic::fabs, {value}));
  }
  if (type == Type::kF32x2) return Unsupported("packed type");
  Type element = ElementOf(type);
  Result(type, Lanewise(type, {value}, [&](llvm::ArrayRef<Value*> x) {
           Value* half = ftz ? Narrow(FlushHalf(Widen(x[0], element), element, true), element) : x[0];
           return negate ? b_.CreateXor(half, b_.getInt16(0x8000)) : b_.CreateAnd(half, b_.getInt16(0x7fff));
         }));
}

void FunctionCodegen::FloatMinMax(Type type, bool max) {
  const bool ftz = modifiers_.Take("ftz"), nan = modifiers_.Take("NaN");
  const bool xorsign = modifiers_.Take("xorsign");
  if (xorsign && !modifiers_.Take("abs")) return Malformed("xorsign without abs");
  if (!Expect(3)) return;
  if (type == Type::kF32x2) return Unsupported("packed type");
  Value* a = Source(1, type);
  Value* b = Source(2, type);
  Type element = ElementOf(type);
  Result(type, Lanewise(type, {a, b}, [&](llvm::ArrayRef<Value*> x) {
           return FloatMinMaxElement(element, x, max, nan, xorsign, ftz);
         }));
}

// A NaN loses against a number unless `nan`; -0 is less than +0. `xorsign`: of the magnitudes, with the signs'
// exclusive or.
llvm::Value* FunctionCodegen::FloatMinMaxElement(Type element, llvm::ArrayRef<Value*> operands, bool max, bool nan,
                                                 bool xorsign, bool ftz) {
  std::vector<Value*> v;
  for (Value* operand : operands) {
    if (IsHalf(element)) {
      v.push_back(FlushHalf(Widen(operand, element), element, ftz));
    } else {
      v.push_back(ftz ? Flush(operand) : operand);
    }
  }
  Value* sign = b_.CreateXor(ToBits(v[0]), ToBits(v[1]));
  if (xorsign) {
    for (Value*& x : v) x = Intrinsic(llvm::Intrinsic::fabs, {x});
  }
  llvm::Type* type = v[0]->getType();
  Value* first = max ? b_.CreateFCmpOGT(v[0], v[1]) : b_.CreateFCmpOLT(v[0], v[1]);
  Value* second_is_nan = b_.CreateFCmpUNO(v[1], v[1]);
  Value* result = b_.CreateSelect(b_.CreateOr(first, second_is_nan), v[0], v[1]);
  // Equal numbers are the same bits, or zeros of different signs.
  Value* merged = max ? b_.CreateAnd(ToBits(v[0]), ToBits(v[1])) : b_.CreateOr(ToBits(v[0]), ToBits(v[1]));
  result = b_.CreateSelect(b_.CreateFCmpOEQ(v[0], v[1]), b_.CreateBitCast(merged, type), result);
  Value* any_nan = nan ? b_.CreateFCmpUNO(v[0], v[1]) : b_.CreateFCmpUNO(result, result);
  Value* canonical = b_.CreateBitCast(
      element == Type::kF64 ? static_cast<Value*>(b_.getInt64(0x7fffffffffffffff)) : b_.getInt32(0x7fffffff), type);
  if (xorsign) {
    Value* bits = ToBits(result);
    Value* mask = llvm::ConstantInt::get(context_, llvm::APInt::getSignMask(bits->getType()->getIntegerBitWidth()));
    result = b_.CreateBitCast(b_.CreateOr(bits, b_.CreateAnd(sign, mask)), type);
  }
  result = b_.CreateSelect(any_nan, canonical, result);
  return IsHalf(element) ? Narrow(result, element) : result;
}

}  // namespace wharf::device::soft
