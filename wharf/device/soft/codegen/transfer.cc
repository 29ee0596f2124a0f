// mov, address conversions, asynchronous copies (done at once), stack memory.
#include "wharf/device/soft/codegen/function.h"

namespace wharf::device::soft {

void FunctionCodegen::Mov() {
  Type type = TypeOrFail();
  if (!Expect(2)) return;
  if (auto* from = std::get_if<ptx::VectorOperand>(&Op(1).value)) return MovPack(*from, type);
  if (auto* to = std::get_if<ptx::VectorOperand>(&Op(0).value)) return MovUnpack(*to, type);
  Result(type, Source(1, type));
}

// mov.b32 r, {a, b}: the first element goes to the lowest bits.
void FunctionCodegen::MovPack(const ptx::VectorOperand& vector, Type type) {
  const auto count = static_cast<uint32_t>(vector.elements.size());
  if (count == 0 || BitsOf(type) % (8 * count) != 0) return Malformed("wrong number of elements");
  const uint32_t bits = BitsOf(type) / count;
  llvm::Type* whole_type = b_.getIntNTy(BitsOf(type));
  Value* whole = llvm::Constant::getNullValue(whole_type);
  for (uint32_t i = 0; i < count; ++i) {
    Value* element = ReadBits(vector.elements[i], bits);
    if (failed()) return;
    whole = b_.CreateOr(whole, b_.CreateShl(b_.CreateZExt(element, whole_type), bits * i));
  }
  Result(type, whole);
}

llvm::Value* FunctionCodegen::ReadBits(const ptx::Operand& operand, uint32_t bits) {
  switch (bits) {
    case 8:
      return Read(operand, Type::kB8);
    case 16:
      return Read(operand, Type::kB16);
    case 32:
      return Read(operand, Type::kB32);
    case 64:
      return Read(operand, Type::kB64);
    default:
      Malformed("elements of this size");
      return b_.getInt32(0);
  }
}

void FunctionCodegen::MovUnpack(const ptx::VectorOperand& vector, Type type) {
  const auto count = static_cast<uint32_t>(vector.elements.size());
  if (count == 0 || BitsOf(type) % (8 * count) != 0) return Malformed("wrong number of elements");
  const uint32_t bits = BitsOf(type) / count;
  Value* whole = ToBits(Source(1, type));
  for (uint32_t i = 0; i < count; ++i) {
    Value* element = b_.CreateTrunc(b_.CreateLShr(whole, bits * i), b_.getIntNTy(bits));
    Write(vector.elements[i], Type::kB32, element);
  }
}

// Generic addresses are host addresses; only shared ones need converting.
void FunctionCodegen::Cvta() {
  const bool to = modifiers_.Take("to");
  const ptx::Space space = TakeSpace();
  Type type = TypeOrFail();
  if (!Expect(2)) return;
  if (type != Type::kU64) return Unsupported("only 64-bit addresses");
  Value* value = nullptr;
  auto* reg = std::get_if<ptx::RegisterOperand>(&Op(1).value);
  if (reg != nullptr) {  // a shared address may be in a 32-bit register
    value = b_.CreateLoad(registers_.at(reg->index)->getAllocatedType(), registers_.at(reg->index));
    value = Coerce(value, b_.getInt64Ty(), false);
  } else {
    value = Source(1, type);
  }
  if (space == ptx::Space::kShared) {
    Value* base = b_.CreatePtrToInt(Field(offsetof(BlockContext, shared), b_.getPtrTy()), b_.getInt64Ty());
    value = to ? b_.CreateSub(value, base) : b_.CreateAdd(base, b_.CreateAnd(value, b_.getInt64(kSharedWindow - 1)));
  }
  Result(type, value);
}

void FunctionCodegen::Isspacep() {
  const ptx::Space space = TakeSpace();
  if (!Expect(2)) return;
  Value* address = Source(1, Type::kB64);
  llvm::Type* i64 = b_.getInt64Ty();
  Value* base = b_.CreatePtrToInt(Field(offsetof(BlockContext, shared), b_.getPtrTy()), i64);
  Value* shared = b_.CreateICmpULT(b_.CreateSub(address, base), b_.getInt64(kSharedWindow));
  Value* begin = Field(offsetof(BlockContext, global_begin), i64);
  Value* end = Field(offsetof(BlockContext, global_end), i64);
  Value* global = b_.CreateICmpULT(b_.CreateSub(address, begin), b_.CreateSub(end, begin));
  Value* parameters = b_.CreatePtrToInt(Field(offsetof(BlockContext, parameters), b_.getPtrTy()), i64);
  constexpr uint64_t kMaxParameters = 32764;
  Value* parameter = b_.CreateICmpULT(b_.CreateSub(address, parameters), b_.getInt64(kMaxParameters));
  Value* result = nullptr;
  switch (space) {
    case ptx::Space::kShared:
      result = shared;
      break;
    case ptx::Space::kGlobal:
      result = global;
      break;
    case ptx::Space::kParam:
      result = parameter;
      break;
    case ptx::Space::kLocal: {
      Value* low = Field(offsetof(BlockContext, local_begin), i64);
      Value* high = Field(offsetof(BlockContext, local_end), i64);
      result = b_.CreateICmpULT(b_.CreateSub(address, low), b_.CreateSub(high, low));
      break;
    }
    case ptx::Space::kConst:  // constants live in device memory
      result = b_.getFalse();
      break;
    default:
      return Malformed("no state space");
  }
  Result(Type::kPred, result);
}

// prefetch, prefetchu, applypriority and discard say how memory will be used; ignoring them is right.
void FunctionCodegen::Prefetch() {
  TakeSpace();
  modifiers_.TakeOneOf({"L1", "L2"});
  modifiers_.Take("tensormap");
  TakeCacheHints();
}

void FunctionCodegen::CpAsync() {
  if (!modifiers_.Take("async")) return Unsupported("unknown instruction");
  if (modifiers_.Take("bulk")) return BulkCopy();
  if (modifiers_.Take("mbarrier")) return CopiesArriveAtMbarrier();
  if (modifiers_.Take("commit_group") || modifiers_.Take("wait_all") || modifiers_.Take("wait_group")) return;
  const std::string_view cache = modifiers_.TakeOneOf({"ca", "cg"});
  if (cache.empty() || modifiers_.TakeOneOf({"shared", "shared::cta"}).empty() || !modifiers_.Take("global")) {
    return Unsupported("this form of asynchronous copy");
  }
  modifiers_.TakePrefix("L2::");
  if (!Expect(3, 5)) return;
  auto* size = std::get_if<ptx::IntegerOperand>(&Op(2).value);
  if (size == nullptr || (size->value != 4 && size->value != 8 && size->value != 16)) return Malformed("bad size");
  const auto bytes = static_cast<uint32_t>(size->value);
  Address to = AddressOf(Op(0), ptx::Space::kShared);
  Address from = AddressOf(Op(1), ptx::Space::kGlobal);
  Value* source_bytes = nullptr;
  if (Count() >= 4) {
    auto* reg = std::get_if<ptx::RegisterOperand>(&Op(3).value);
    const bool predicate = reg != nullptr && registers_.at(reg->index)->getAllocatedType()->isIntegerTy(1);
    const bool policy = reg != nullptr && registers_.at(reg->index)->getAllocatedType()->isIntegerTy(64);
    if (predicate) {
      source_bytes = b_.CreateSelect(ReadPredicate(Op(3)), b_.getInt32(0), b_.getInt32(bytes));
    } else if (!policy) {
      source_bytes = Source(3, Type::kB32);
    }
  }
  CopyBytes(to, from, bytes, source_bytes);
}

// `source_bytes`: how many are copied, the rest is zero; null: all.
void FunctionCodegen::CopyBytes(const Address& to, const Address& from, uint32_t bytes, Value* source_bytes) {
  constexpr auto kPlain = llvm::AtomicOrdering::NotAtomic;
  if (source_bytes == nullptr) CheckAccess(from, bytes, check::kReads);
  CheckAccess(to, bytes, check::kWrites);
  if (source_bytes == nullptr) {
    for (uint32_t at = 0; at < bytes; at += 4)
      StoreElement(to, at, LoadElement(from, at, b_.getInt32Ty(), kPlain), kPlain);
    return;
  }
  llvm::Type* pointer = b_.getPtrTy();
  llvm::Type* i32 = b_.getInt32Ty();
  auto helper = module_.External("wharf_copy_and_zero", b_.getVoidTy(), {pointer, pointer, i32, i32});
  b_.CreateCall(helper, {to.pointer, from.pointer, b_.getInt32(bytes), source_bytes});
}

void FunctionCodegen::Alloca() {
  Type type = TypeOrFail();
  if (!Expect(2, 3)) return;
  uint64_t alignment = 8;
  if (Count() == 3) {
    auto* given = std::get_if<ptx::IntegerOperand>(&Op(2).value);
    if (given == nullptr || given->value <= 0 || given->value > 4096) return Malformed("bad alignment");
    alignment = std::max<uint64_t>(alignment, llvm::PowerOf2Ceil(static_cast<uint64_t>(given->value)));
  }
  // From the thread's local memory, which grows downwards.
  Value* bytes = Coerce(Source(1, type), b_.getInt64Ty(), false);
  Value* stack = LocalStack(b_);
  Value* low = b_.CreateSub(b_.CreateLoad(b_.getInt64Ty(), stack), bytes);
  low = b_.CreateAnd(low, b_.getInt64(~(std::max<uint64_t>(alignment, 16) - 1)));
  b_.CreateStore(low, stack);
  Result(type, low);
}

void FunctionCodegen::StackSave() {
  Type type = TypeOrFail();
  if (Expect(1)) Result(type, b_.CreateLoad(b_.getInt64Ty(), LocalStack(b_)));
}

void FunctionCodegen::StackRestore() {
  Type type = TypeOrFail();
  if (!Expect(1)) return;
  b_.CreateStore(Coerce(Source(0, type), b_.getInt64Ty(), false), LocalStack(b_));
}

}  // namespace wharf::device::soft
