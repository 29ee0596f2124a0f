// Logic, shifts and bit fields.
#include "wharf/device/soft/codegen/function.h"

namespace wharf::device::soft {

void FunctionCodegen::AddBitHandlers(std::map<std::string_view, Handler>* handlers) {
  handlers->insert({{"and", &FunctionCodegen::And},
                    {"or", &FunctionCodegen::Or},
                    {"xor", &FunctionCodegen::Xor},
                    {"not", &FunctionCodegen::Not},
                    {"cnot", &FunctionCodegen::Cnot},
                    {"shl", &FunctionCodegen::Shl},
                    {"shr", &FunctionCodegen::Shr},
                    {"shf", &FunctionCodegen::Shf},
                    {"lop3", &FunctionCodegen::Lop3},
                    {"prmt", &FunctionCodegen::Prmt},
                    {"bfe", &FunctionCodegen::Bfe},
                    {"bfi", &FunctionCodegen::Bfi},
                    {"bfind", &FunctionCodegen::Bfind},
                    {"brev", &FunctionCodegen::Brev},
                    {"popc", &FunctionCodegen::Popc},
                    {"clz", &FunctionCodegen::Clz},
                    {"fns", &FunctionCodegen::Fns},
                    {"bmsk", &FunctionCodegen::Bmsk},
                    {"szext", &FunctionCodegen::Szext}});
}

void FunctionCodegen::Logic(llvm::Instruction::BinaryOps operation) {
  Type type = TypeOrFail();
  if (!Expect(3)) return;
  if (type != Type::kPred && !IsUntyped(type)) return Malformed("logic needs an untyped operand or a predicate");
  Result(type, b_.CreateBinOp(operation, Source(1, type), Source(2, type)));
}

void FunctionCodegen::Not() {
  Type type = TypeOrFail();
  if (Expect(2)) Result(type, b_.CreateNot(Source(1, type)));
}

void FunctionCodegen::Cnot() {
  Type type = TypeOrFail();
  if (!Expect(2)) return;
  Value* value = Source(1, type);
  Value* zero = b_.CreateICmpEQ(value, llvm::Constant::getNullValue(value->getType()));
  Result(type, b_.CreateZExt(zero, value->getType()));
}

// Amounts beyond the width shift everything out.
void FunctionCodegen::Shl() {
  Type type = TypeOrFail();
  if (!Expect(3)) return;
  const uint32_t bits = BitsOf(type);
  Value* amount = Source(2, Type::kU32);
  Value* in_range = b_.CreateICmpULT(amount, b_.getInt32(bits));
  Value* safe = b_.CreateSelect(in_range, amount, b_.getInt32(0));
  Value* shifted = b_.CreateShl(Source(1, type), b_.CreateZExtOrTrunc(safe, Llvm(type)));
  Result(type, b_.CreateSelect(in_range, shifted, Int(bits, 0)));
}

void FunctionCodegen::Shr() {
  Type type = TypeOrFail();
  if (!Expect(3)) return;
  const uint32_t bits = BitsOf(type);
  Value* amount = Source(2, Type::kU32);
  Value* value = Source(1, type);
  if (IsSigned(type)) {
    Value* clamped = Intrinsic(llvm::Intrinsic::umin, {amount, b_.getInt32(bits - 1)});
    return Result(type, b_.CreateAShr(value, b_.CreateZExtOrTrunc(clamped, Llvm(type))));
  }
  Value* in_range = b_.CreateICmpULT(amount, b_.getInt32(bits));
  Value* safe = b_.CreateSelect(in_range, amount, b_.getInt32(0));
  Value* shifted = b_.CreateLShr(value, b_.CreateZExtOrTrunc(safe, Llvm(type)));
  Result(type, b_.CreateSelect(in_range, shifted, Int(bits, 0)));
}

void FunctionCodegen::Shf() {
  const std::string_view direction = modifiers_.TakeOneOf({"l", "r"});
  const std::string_view mode = modifiers_.TakeOneOf({"clamp", "wrap"});
  Type type = TypeOrFail();
  if (!Expect(4)) return;
  if (direction.empty() || mode.empty() || type != Type::kB32) return Malformed("shf needs .l or .r, a mode and .b32");
  auto* i64 = b_.getInt64Ty();
  Value* low = b_.CreateZExt(Source(1, type), i64);
  Value* both = b_.CreateOr(b_.CreateShl(b_.CreateZExt(Source(2, type), i64), 32), low);
  Value* amount = Source(3, Type::kU32);
  amount = mode == "wrap" ? b_.CreateAnd(amount, b_.getInt32(31))
                          : Intrinsic(llvm::Intrinsic::umin, {amount, b_.getInt32(32)});
  amount = b_.CreateZExt(amount, i64);
  Value* shifted = direction == "l" ? b_.CreateLShr(b_.CreateShl(both, amount), 32) : b_.CreateLShr(both, amount);
  Result(type, b_.CreateTrunc(shifted, b_.getInt32Ty()));
}

void FunctionCodegen::Lop3() {
  const std::string_view combine = modifiers_.TakeOneOf({"or", "and"});
  Type type = TypeOrFail();
  const bool predicate = Count() >= 2 && Op(1).after_bar;
  const size_t first = predicate ? 2 : 1;
  if (!Expect(first + 4, first + (predicate ? 5 : 4))) return;
  auto* table = std::get_if<ptx::IntegerOperand>(&Op(first + 3).value);
  if (table == nullptr || type != Type::kB32) return Malformed("lop3 needs .b32 and a constant table");
  const auto bits = static_cast<uint32_t>(table->value) & 0xff;
  Value* inputs[3] = {Source(first, type), Source(first + 1, type), Source(first + 2, type)};
  Value* result = b_.getInt32(0);
  for (uint32_t row = 0; row < 8; ++row) {
    if ((bits >> row & 1) == 0) continue;
    Value* term = b_.getInt32(~uint32_t{0});
    for (uint32_t i = 0; i < 3; ++i) {
      const bool set = (row >> (2 - i) & 1) != 0;
      term = b_.CreateAnd(term, set ? inputs[i] : b_.CreateNot(inputs[i]));
    }
    result = b_.CreateOr(result, term);
  }
  Result(type, result);
  if (!predicate) return;
  if (combine.empty() || Count() != first + 5) return Malformed("lop3 with a predicate needs .or or .and");
  Value* nonzero = b_.CreateICmpNE(result, b_.getInt32(0));
  Write(Op(1), Type::kPred, Combine(combine, nonzero, Op(first + 4)));
}

void FunctionCodegen::Prmt() {
  Type type = TypeOrFail();
  const std::string_view mode = modifiers_.TakeOneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  if (!Expect(4) || type != Type::kB32) return Malformed("prmt needs .b32 and four operands");
  auto* i64 = b_.getInt64Ty();
  Value* both = b_.CreateOr(b_.CreateShl(b_.CreateZExt(Source(2, type), i64), 32), b_.CreateZExt(Source(1, type), i64));
  Value* control = Source(3, type);
  Value* result = b_.getInt32(0);
  for (uint32_t i = 0; i < 4; ++i) {
    Value* select = nullptr;
    Value* low2 = b_.CreateAnd(control, b_.getInt32(3));
    if (mode.empty()) select = b_.CreateLShr(control, 4 * i);
    if (mode == "f4e") select = b_.CreateAdd(low2, b_.getInt32(i));
    if (mode == "b4e") select = b_.CreateSub(low2, b_.getInt32(i));
    if (mode == "rc8") select = low2;
    if (mode == "ecl") select = Intrinsic(llvm::Intrinsic::umax, {low2, b_.getInt32(i)});
    if (mode == "ecr") select = Intrinsic(llvm::Intrinsic::umin, {low2, b_.getInt32(i)});
    if (mode == "rc16") {
      select = b_.CreateOr(b_.CreateShl(b_.CreateAnd(control, b_.getInt32(1)), 1), b_.getInt32(i & 1));
    }
    Value* amount = b_.CreateZExt(b_.CreateShl(b_.CreateAnd(select, b_.getInt32(7)), 3), i64);
    Value* byte = b_.CreateTrunc(b_.CreateLShr(both, amount), b_.getInt8Ty());
    if (mode.empty()) {
      Value* sign = b_.CreateICmpNE(b_.CreateAnd(select, b_.getInt32(8)), b_.getInt32(0));
      byte = b_.CreateSelect(sign, b_.CreateAShr(byte, 7), byte);
    }
    result = b_.CreateOr(result, b_.CreateShl(b_.CreateZExt(byte, b_.getInt32Ty()), 8 * i));
  }
  Result(type, result);
}

void FunctionCodegen::Bfe() {
  Type type = TypeOrFail();
  if (!Expect(4)) return;
  const uint32_t bits = BitsOf(type);
  Value* value = Source(1, type);
  llvm::Type* t = value->getType();
  auto field = [&](size_t i) { return b_.CreateZExt(b_.CreateAnd(Source(i, Type::kU32), b_.getInt32(0xff)), t); };
  Value* position = field(2);
  Value* length = field(3);
  Value* whole = b_.CreateICmpUGE(length, Int(bits, bits));
  Value* last = Intrinsic(llvm::Intrinsic::umin, {position, Int(bits, bits - 1)});
  if (IsSigned(type)) {
    Value* shifted = b_.CreateAShr(value, last);
    Value* empty = b_.CreateICmpEQ(length, Int(bits, 0));
    Value* rest = b_.CreateSelect(b_.CreateOr(whole, empty), Int(bits, 0), b_.CreateSub(Int(bits, bits), length));
    Value* extended = b_.CreateAShr(b_.CreateShl(shifted, rest), rest);
    return Result(type, b_.CreateSelect(empty, Int(bits, 0), extended));
  }
  Value* shifted = b_.CreateSelect(b_.CreateICmpEQ(position, last), b_.CreateLShr(value, last), Int(bits, 0));
  Value* safe = b_.CreateSelect(whole, Int(bits, 0), length);
  Value* mask = b_.CreateSub(b_.CreateShl(Int(bits, 1), safe), Int(bits, 1));
  Result(type, b_.CreateSelect(whole, shifted, b_.CreateAnd(shifted, mask)));
}

void FunctionCodegen::Bfi() {
  Type type = TypeOrFail();
  if (!Expect(5)) return;
  const uint32_t bits = BitsOf(type);
  Value* field = Source(1, type);
  Value* base = Source(2, type);
  llvm::Type* t = field->getType();
  auto byte = [&](size_t i) { return b_.CreateZExt(b_.CreateAnd(Source(i, Type::kU32), b_.getInt32(0xff)), t); };
  Value* position = byte(3);
  Value* length = byte(4);
  Value* whole = b_.CreateICmpUGE(length, Int(bits, bits));
  Value* safe_length = b_.CreateSelect(whole, Int(bits, 0), length);
  Value* ones = b_.CreateSub(b_.CreateShl(Int(bits, 1), safe_length), Int(bits, 1));
  ones = b_.CreateSelect(whole, b_.CreateNot(Int(bits, 0)), ones);
  Value* inside = b_.CreateICmpULT(position, Int(bits, bits));
  Value* safe_position = b_.CreateSelect(inside, position, Int(bits, 0));
  Value* mask = b_.CreateSelect(inside, b_.CreateShl(ones, safe_position), Int(bits, 0));
  Value* placed = b_.CreateAnd(b_.CreateShl(field, safe_position), mask);
  Result(type, b_.CreateOr(b_.CreateAnd(base, b_.CreateNot(mask)), placed));
}

void FunctionCodegen::Bfind() {
  const bool shift_amount = modifiers_.Take("shiftamt");
  Type type = TypeOrFail();
  if (!Expect(2)) return;
  const uint32_t bits = BitsOf(type);
  Value* value = Source(1, type);
  if (IsSigned(type)) {
    value = b_.CreateXor(value, b_.CreateAShr(value, bits - 1));  // the first bit that differs from the sign
  }
  Value* zeros = b_.CreateIntrinsic(llvm::Intrinsic::ctlz, {value->getType()}, {value, b_.getFalse()});
  zeros = b_.CreateZExtOrTrunc(zeros, b_.getInt32Ty());
  Value* found = b_.CreateICmpNE(value, Int(bits, 0));
  Value* position = shift_amount ? zeros : b_.CreateSub(b_.getInt32(bits - 1), zeros);
  Result(Type::kU32, b_.CreateSelect(found, position, b_.getInt32(~uint32_t{0})));
}

void FunctionCodegen::Brev() {
  Type type = TypeOrFail();
  if (Expect(2)) Result(type, Intrinsic(llvm::Intrinsic::bitreverse, {Source(1, type)}));
}

void FunctionCodegen::Popc() {
  Type type = TypeOrFail();
  if (!Expect(2)) return;
  Result(Type::kU32, b_.CreateZExtOrTrunc(Intrinsic(llvm::Intrinsic::ctpop, {Source(1, type)}), b_.getInt32Ty()));
}

void FunctionCodegen::Clz() {
  Type type = TypeOrFail();
  if (!Expect(2)) return;
  Value* value = Source(1, type);
  Value* zeros = b_.CreateIntrinsic(llvm::Intrinsic::ctlz, {value->getType()}, {value, b_.getFalse()});
  Result(Type::kU32, b_.CreateZExtOrTrunc(zeros, b_.getInt32Ty()));
}

void FunctionCodegen::Fns() {
  Type type = TypeOrFail();
  if (!Expect(4)) return;
  llvm::Type* i32 = b_.getInt32Ty();
  auto helper = module_.External("wharf_find_nth_set", i32, {i32, i32, i32});
  Result(type, b_.CreateCall(helper, {Source(1, Type::kB32), Source(2, Type::kB32), Source(3, Type::kS32)}));
}

void FunctionCodegen::Bmsk() {
  const std::string_view mode = modifiers_.TakeOneOf({"clamp", "wrap"});
  Type type = TypeOrFail();
  if (!Expect(3)) return;
  if (mode.empty() || type != Type::kB32) return Malformed("bmsk needs a mode and .b32");
  Value* position = Source(1, Type::kU32);
  Value* width = Source(2, Type::kU32);
  Value* limit = b_.getInt32(mode == "wrap" ? 31 : 32);
  auto reduce = [&](Value* x) {
    return mode == "wrap" ? b_.CreateAnd(x, limit) : Intrinsic(llvm::Intrinsic::umin, {x, limit});
  };
  Value* one = b_.getInt64(1);
  Value* ones = b_.CreateSub(b_.CreateShl(one, b_.CreateZExt(reduce(width), b_.getInt64Ty())), one);
  Value* mask = b_.CreateShl(ones, b_.CreateZExt(reduce(position), b_.getInt64Ty()));
  Result(type, b_.CreateTrunc(mask, b_.getInt32Ty()));
}

void FunctionCodegen::Szext() {
  const std::string_view mode = modifiers_.TakeOneOf({"clamp", "wrap"});
  Type type = TypeOrFail();
  if (!Expect(3)) return;
  if (mode.empty() || (type != Type::kU32 && type != Type::kS32)) return Malformed("szext needs a mode and 32 bits");
  Value* count = Source(2, Type::kU32);
  count = mode == "wrap" ? b_.CreateAnd(count, b_.getInt32(31))
                         : Intrinsic(llvm::Intrinsic::umin, {count, b_.getInt32(32)});
  Value* rest = b_.CreateZExt(b_.CreateSub(b_.getInt32(32), count), b_.getInt64Ty());
  // In 64 bits so that a rest of 32 is a proper shift.
  Value* top = b_.CreateShl(b_.CreateShl(b_.CreateZExt(Source(1, type), b_.getInt64Ty()), rest), 32);
  Value* wide =
      IsSigned(type) ? b_.CreateAShr(b_.CreateAShr(top, 32), rest) : b_.CreateLShr(b_.CreateLShr(top, 32), rest);
  Result(type, b_.CreateTrunc(wide, b_.getInt32Ty()));
}

}  // namespace wharf::device::soft
