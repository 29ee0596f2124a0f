// set, setp, selp, slct.
#include "wharf/device/soft/codegen/function.h"

namespace wharf::device::soft {
namespace {

using Predicate = llvm::CmpInst::Predicate;

// BAD_ICMP_PREDICATE if the name is no integer comparison. lo, ls, hi, hs are unsigned whatever the type.
Predicate IntegerPredicate(std::string_view name, bool sign) {
  if (name == "eq") return llvm::CmpInst::ICMP_EQ;
  if (name == "ne") return llvm::CmpInst::ICMP_NE;
  if (name == "lt") return sign ? llvm::CmpInst::ICMP_SLT : llvm::CmpInst::ICMP_ULT;
  if (name == "le") return sign ? llvm::CmpInst::ICMP_SLE : llvm::CmpInst::ICMP_ULE;
  if (name == "gt") return sign ? llvm::CmpInst::ICMP_SGT : llvm::CmpInst::ICMP_UGT;
  if (name == "ge") return sign ? llvm::CmpInst::ICMP_SGE : llvm::CmpInst::ICMP_UGE;
  if (name == "lo") return llvm::CmpInst::ICMP_ULT;
  if (name == "ls") return llvm::CmpInst::ICMP_ULE;
  if (name == "hi") return llvm::CmpInst::ICMP_UGT;
  if (name == "hs") return llvm::CmpInst::ICMP_UGE;
  return llvm::CmpInst::BAD_ICMP_PREDICATE;
}

Predicate FloatPredicate(std::string_view name) {
  if (name == "eq") return llvm::CmpInst::FCMP_OEQ;
  if (name == "ne") return llvm::CmpInst::FCMP_ONE;
  if (name == "lt") return llvm::CmpInst::FCMP_OLT;
  if (name == "le") return llvm::CmpInst::FCMP_OLE;
  if (name == "gt") return llvm::CmpInst::FCMP_OGT;
  if (name == "ge") return llvm::CmpInst::FCMP_OGE;
  if (name == "equ") return llvm::CmpInst::FCMP_UEQ;
  if (name == "neu") return llvm::CmpInst::FCMP_UNE;
  if (name == "ltu") return llvm::CmpInst::FCMP_ULT;
  if (name == "leu") return llvm::CmpInst::FCMP_ULE;
  if (name == "gtu") return llvm::CmpInst::FCMP_UGT;
  if (name == "geu") return llvm::CmpInst::FCMP_UGE;
  if (name == "num") return llvm::CmpInst::FCMP_ORD;
  if (name == "nan") return llvm::CmpInst::FCMP_UNO;
  return llvm::CmpInst::BAD_FCMP_PREDICATE;
}

}  // namespace

void FunctionCodegen::AddCompareHandlers(std::map<std::string_view, Handler>* handlers) {
  handlers->insert({{"set", &FunctionCodegen::Set},
                    {"setp", &FunctionCodegen::Setp},
                    {"selp", &FunctionCodegen::Selp},
                    {"slct", &FunctionCodegen::Slct}});
}

std::string_view FunctionCodegen::TakeComparison() {
  return modifiers_.TakeOneOf({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu",
                               "gtu", "geu", "num", "nan"});
}

llvm::Value* FunctionCodegen::Compare(std::string_view operation, Type type, Value* a, Value* b, bool ftz) {
  if (!IsFloat(type) && !IsHalf(type)) {
    Predicate predicate = IntegerPredicate(operation, IsSigned(type));
    if (predicate == llvm::CmpInst::BAD_ICMP_PREDICATE) {
      Malformed("no such comparison of integers");
      return b_.getFalse();
    }
    return b_.CreateICmp(predicate, a, b);
  }
  Predicate predicate = FloatPredicate(operation);
  if (predicate == llvm::CmpInst::BAD_FCMP_PREDICATE) {
    Malformed("no such comparison of floating-point numbers");
    return b_.getFalse();
  }
  if (IsHalf(type)) {
    a = Widen(a, type);
    b = Widen(b, type);
  }
  if (ftz && !IsHalf(type)) {
    a = Flush(a);
    b = Flush(b);
  } else if (ftz) {
    // Subnormal halves are normal single values: compare them as zeros.
    auto flush = [&](Value* x) {
      Value* small =
          b_.CreateFCmpOLT(Intrinsic(llvm::Intrinsic::fabs, {x}), llvm::ConstantFP::get(x->getType(), 0x1p-14));
      return b_.CreateSelect(small, llvm::ConstantFP::get(x->getType(), 0), x);
    };
    a = flush(a);
    b = flush(b);
  }
  return b_.CreateFCmp(predicate, a, b);
}

llvm::Value* FunctionCodegen::Combine(std::string_view combine, Value* result, const ptx::Operand& predicate) {
  if (combine.empty()) return result;
  Value* other = ReadPredicate(predicate);
  if (combine == "and") return b_.CreateAnd(result, other);
  if (combine == "or") return b_.CreateOr(result, other);
  return b_.CreateXor(result, other);
}

void FunctionCodegen::Setp() {
  const std::string_view operation = TakeComparison();
  const std::string_view combine = modifiers_.TakeOneOf({"and", "or", "xor"});
  const bool ftz = modifiers_.Take("ftz");
  Type type = TypeOrFail();
  const bool two = Count() >= 2 && Op(1).after_bar;
  const size_t first = two ? 2 : 1;
  if (!Expect(first + (combine.empty() ? 2 : 3))) return;
  if (operation.empty()) return Malformed("no comparison");
  Value* a = Source(first, type);
  Value* b = Source(first + 1, type);
  if (IsPackedHalf(type)) {  // one predicate for each half
    if (!two) return Malformed("setp of a packed type has two destinations");
    for (uint32_t half = 0; half < 2; ++half) {
      auto part = [&](Value* x) { return b_.CreateTrunc(b_.CreateLShr(x, 16 * half), b_.getInt16Ty()); };
      Value* result = Compare(operation, ElementOf(type), part(a), part(b), ftz);
      if (!combine.empty()) result = Combine(combine, result, Op(first + 2));
      Write(Op(half), Type::kPred, result);
    }
    return;
  }
  Value* result = Compare(operation, type, a, b, ftz);
  Value* negated = b_.CreateNot(result);
  if (!combine.empty()) {
    result = Combine(combine, result, Op(first + 2));
    negated = Combine(combine, negated, Op(first + 2));
  }
  Write(Op(0), Type::kPred, result);
  if (two) Write(Op(1), Type::kPred, negated);
}

void FunctionCodegen::Set() {
  const std::string_view operation = TakeComparison();
  const std::string_view combine = modifiers_.TakeOneOf({"and", "or", "xor"});
  const bool ftz = modifiers_.Take("ftz");
  Type to = TypeOrFail(), type = TypeOrFail();
  if (!Expect(combine.empty() ? 3 : 4)) return;
  if (operation.empty()) return Malformed("no comparison");
  Value* a = Source(1, type);
  Value* b = Source(2, type);
  auto element = [&](Value* x, Value* y, Type element_type, Type result_type) -> Value* {
    Value* result = Compare(operation, element_type, x, y, ftz);
    if (!combine.empty()) result = Combine(combine, result, Op(3));
    const uint32_t bits = BitsOf(result_type);
    Value* one = b_.CreateNot(Int(bits, 0));
    if (result_type == Type::kF32) one = Int(32, 0x3f800000);
    if (result_type == Type::kF16) one = Int(16, 0x3c00);
    if (result_type == Type::kBF16) one = Int(16, 0x3f80);
    return b_.CreateSelect(result, one, Int(bits, 0));
  };
  if (!IsPackedHalf(type)) return Result(to, element(a, b, type, to));
  // Of packed halves: a mask or a one in each half.
  Type half = IsPackedHalf(to) ? ElementOf(to) : Type::kU16;
  Result(Type::kB32,
         Lanewise(type, {a, b}, [&](llvm::ArrayRef<Value*> x) { return element(x[0], x[1], ElementOf(type), half); }));
}

void FunctionCodegen::Selp() {
  Type type = TypeOrFail();
  if (!Expect(4)) return;
  Result(type, b_.CreateSelect(ReadPredicate(Op(3)), Source(1, type), Source(2, type)));
}

void FunctionCodegen::Slct() {
  const bool ftz = modifiers_.Take("ftz");
  Type type = TypeOrFail(), condition_type = TypeOrFail();
  if (!Expect(4)) return;
  Value* condition = Source(3, condition_type);
  Value* choose;
  if (condition_type == Type::kF32) {
    if (ftz) condition = Flush(condition);
    choose = b_.CreateFCmpOGE(condition, llvm::ConstantFP::get(condition->getType(), 0));
  } else {
    choose = b_.CreateICmpSGE(condition, llvm::Constant::getNullValue(condition->getType()));
  }
  Result(type, b_.CreateSelect(choose, Source(1, type), Source(2, type)));
}

}  // namespace wharf::device::soft
