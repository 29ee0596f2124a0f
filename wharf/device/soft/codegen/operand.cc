#include <bit>

#include "wharf/device/soft/codegen/function.h"
#include "wharf/device/soft/runtime/function_address.h"

namespace wharf::device::soft {

const ptx::Operand& FunctionCodegen::Op(size_t index) {
  static const ptx::Operand kNone{ptx::SinkOperand{}};
  if (index < Count()) return instruction_->operands[index];
  Malformed("too few operands");
  return kNone;
}

bool FunctionCodegen::Expect(size_t least, size_t most) {
  if (Count() >= least && Count() <= std::max(least, most)) return true;
  Malformed("wrong number of operands");
  return false;
}

FunctionCodegen::Type FunctionCodegen::TypeOrFail() {
  Type type = modifiers_.TakeType();
  if (type == Type::kNone) {
    Malformed("no type");
    return Type::kB32;
  }
  return type;
}

llvm::Value* FunctionCodegen::ToBits(Value* value) {
  if (value->getType()->isIntegerTy()) return value;
  return b_.CreateBitCast(value, b_.getIntNTy(value->getType()->getPrimitiveSizeInBits()));
}

llvm::Value* FunctionCodegen::Coerce(Value* value, llvm::Type* to, bool sign) {
  llvm::Type* from = value->getType();
  if (from == to) return value;
  if (from->isIntegerTy(1) || to->isIntegerTy(1)) {
    Malformed("a predicate where a number is needed, or the reverse");
    return llvm::PoisonValue::get(to);
  }
  Value* bits = ToBits(value);
  auto* target = b_.getIntNTy(to->getPrimitiveSizeInBits());
  bits = sign ? b_.CreateSExtOrTrunc(bits, target) : b_.CreateZExtOrTrunc(bits, target);
  return to->isIntegerTy() ? bits : b_.CreateBitCast(bits, to);
}

llvm::Value* FunctionCodegen::Read(const ptx::Operand& operand, Type type) {
  llvm::Type* to = Llvm(type);
  Value* value = nullptr;
  if (!operand.selector.empty()) {
    Unsupported("byte and half selectors");
  } else if (auto* reg = std::get_if<ptx::RegisterOperand>(&operand.value)) {
    llvm::AllocaInst* slot = registers_.at(reg->index);
    if (slot->getAllocatedType()->getPrimitiveSizeInBits() < to->getPrimitiveSizeInBits()) {
      Malformed("a register is narrower than the instruction's type");
    } else {
      value = Coerce(b_.CreateLoad(slot->getAllocatedType(), slot), to, false);
    }
  } else if (auto* integer = std::get_if<ptx::IntegerOperand>(&operand.value)) {
    if (type == Type::kPred) {
      value = b_.getInt1(integer->value != 0);
    } else if (!to->isIntegerTy()) {
      Malformed("an integer where a floating-point number is needed");
    } else {
      value = llvm::ConstantInt::get(
          context_, llvm::APInt(64, static_cast<uint64_t>(integer->value), true).sextOrTrunc(to->getIntegerBitWidth()));
    }
  } else if (auto* immediate = std::get_if<ptx::FloatOperand>(&operand.value)) {
    value = ReadImmediateFloat(*immediate, type);
  } else if (auto* special = std::get_if<ptx::SpecialOperand>(&operand.value)) {
    value = ReadSpecial(special->name);
    if (value != nullptr) value = Coerce(value, to, false);
  } else if (auto* symbol = std::get_if<ptx::SymbolOperand>(&operand.value)) {
    value = ReadSymbol(*symbol, type);
  } else {
    Malformed("operand of the wrong kind");
  }
  if (value == nullptr) return llvm::UndefValue::get(to);
  if (!operand.negated) return value;
  if (value->getType()->isIntegerTy(1)) return b_.CreateNot(value);
  return value->getType()->isIntegerTy() ? b_.CreateNeg(value) : b_.CreateFNeg(value);
}

llvm::Value* FunctionCodegen::ReadImmediateFloat(const ptx::FloatOperand& immediate, Type type) {
  const bool single_bits = immediate.is_exact && immediate.is_single;
  switch (BitsOf(type)) {
    case 32: {
      const uint32_t bits = single_bits ? static_cast<uint32_t>(immediate.bits)
                                        : std::bit_cast<uint32_t>(static_cast<float>(immediate.value));
      return Coerce(b_.getInt32(bits), Llvm(type), false);
    }
    case 64: {
      const uint64_t bits =
          immediate.is_exact && !immediate.is_single ? immediate.bits : std::bit_cast<uint64_t>(immediate.value);
      return Coerce(b_.getInt64(bits), Llvm(type), false);
    }
    default:
      Malformed("a floating-point constant of this width");
      return nullptr;
  }
}

bool FunctionCodegen::IsKernel(std::string_view name) const {
  const ptx::Function* const function = module_.program().module->FindFunction(name);
  return function != nullptr && function->is_entry;
}

llvm::Value* FunctionCodegen::ReadSymbol(const ptx::SymbolOperand& symbol, Type type) {
  llvm::Type* i64 = b_.getInt64Ty();
  const std::string_view name = ResolveAlias(*module_.program().module, symbol.name);
  Value* address = nullptr;
  const auto& shared = module_.program().shared_offsets;
  if (auto local = locals_.find(name); local != locals_.end()) {
    address = b_.CreatePtrToInt(local->second, i64);
  } else if (auto pointer = parameters_.find(name); pointer != parameters_.end()) {
    address = b_.CreatePtrToInt(pointer->second, i64);
  } else if (auto offset = kernel_parameters_.find(name); offset != kernel_parameters_.end()) {
    Value* base = Field(offsetof(BlockContext, parameters), b_.getPtrTy());
    address = b_.CreateAdd(b_.CreatePtrToInt(base, i64), b_.getInt64(offset->second));
  } else if (auto own = shared.find(SharedKey(ptx_, name)); own != shared.end()) {
    address = b_.getInt64(own->second);
  } else if (auto common = shared.find(name); common != shared.end()) {
    address = b_.getInt64(common->second);
  } else if (module_.program().globals.contains(std::string(name))) {
    address = module_.VariableAddress(name);
  } else if (module_.FindFunction(name) != nullptr || IsKernel(name)) {
    address = b_.getInt64(FunctionAddress(name));
  } else {
    Malformed(fmt::format("unknown name {}", symbol.name));
    return nullptr;
  }
  if (symbol.offset != 0) address = b_.CreateAdd(address, b_.getInt64(static_cast<uint64_t>(symbol.offset)));
  return Coerce(address, Llvm(type), false);
}

llvm::Value* FunctionCodegen::ReadPredicate(const ptx::Operand& operand) { return Read(operand, Type::kPred); }

void FunctionCodegen::Write(const ptx::Operand& operand, Type type, Value* value) {
  if (failed() || std::holds_alternative<ptx::SinkOperand>(operand.value)) return;
  auto* reg = std::get_if<ptx::RegisterOperand>(&operand.value);
  if (reg == nullptr || !operand.selector.empty()) return Malformed("the destination is not a register");
  llvm::AllocaInst* slot = registers_.at(reg->index);
  if (slot->getAllocatedType()->getPrimitiveSizeInBits() < value->getType()->getPrimitiveSizeInBits()) {
    return Malformed("the destination is narrower than the instruction's type");
  }
  b_.CreateStore(Coerce(value, slot->getAllocatedType(), IsSigned(type)), slot);
}

llvm::Value* FunctionCodegen::Intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<Value*> arguments) {
  return b_.CreateIntrinsic(id, {arguments[0]->getType()}, arguments);
}

Rounding FunctionCodegen::TakeRounding() {
  const std::string_view name = modifiers_.TakeOneOf({"rn", "rz", "rm", "rp"});
  if (name == "rz") return Rounding::kZero;
  if (name == "rm") return Rounding::kDown;
  if (name == "rp") return Rounding::kUp;
  return Rounding::kNearest;
}

llvm::Value* FunctionCodegen::Lanewise(Type type, llvm::ArrayRef<Value*> operands,
                                       const std::function<Value*(llvm::ArrayRef<Value*>)>& operation) {
  if (!IsPackedHalf(type)) return operation(operands);
  std::vector<Value*> low, high;
  for (Value* operand : operands) {
    low.push_back(b_.CreateTrunc(operand, b_.getInt16Ty()));
    high.push_back(b_.CreateTrunc(b_.CreateLShr(operand, 16), b_.getInt16Ty()));
  }
  Value* low_result = b_.CreateZExt(operation(low), b_.getInt32Ty());
  Value* high_result = b_.CreateZExt(operation(high), b_.getInt32Ty());
  return b_.CreateOr(low_result, b_.CreateShl(high_result, 16));
}

llvm::Value* FunctionCodegen::Widen(Value* half, Type element) {
  return element == Type::kBF16 ? BrainToSingle(b_, half) : HalfToSingle(b_, half);
}

llvm::Value* FunctionCodegen::Narrow(Value* single, Type element) {
  return element == Type::kBF16 ? SingleToBrain(b_, single, Rounding::kNearest)
                                : SingleToHalf(b_, single, Rounding::kNearest);
}

}  // namespace wharf::device::soft
