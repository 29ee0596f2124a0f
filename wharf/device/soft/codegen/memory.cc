// Addresses, ld, st, mov, cvta, copies.
#include "wharf/device/soft/codegen/function.h"

namespace wharf::device::soft {

void FunctionCodegen::AddMemoryHandlers(std::map<std::string_view, Handler>* handlers) {
  handlers->insert({{"mov", &FunctionCodegen::Mov},
                    {"ld", &FunctionCodegen::Ld},
                    {"ldu", &FunctionCodegen::Ld},
                    {"st", &FunctionCodegen::St},
                    {"cvta", &FunctionCodegen::Cvta},
                    {"isspacep", &FunctionCodegen::Isspacep},
                    {"prefetch", &FunctionCodegen::Prefetch},
                    {"prefetchu", &FunctionCodegen::Prefetch},
                    {"applypriority", &FunctionCodegen::Prefetch},
                    {"discard", &FunctionCodegen::Prefetch},
                    {"cp", &FunctionCodegen::CpAsync},
                    {"mapa", &FunctionCodegen::Mapa},
                    {"getctarank", &FunctionCodegen::Getctarank},
                    {"createpolicy", &FunctionCodegen::Createpolicy},
                    {"alloca", &FunctionCodegen::Alloca},
                    {"stacksave", &FunctionCodegen::StackSave},
                    {"stackrestore", &FunctionCodegen::StackRestore}});
}

ptx::Space FunctionCodegen::TakeSpace() {
  using Space = ptx::Space;
  if (modifiers_.Take("global")) return Space::kGlobal;
  if (!modifiers_.TakeOneOf({"shared", "shared::cta", "shared::cluster"}).empty()) return Space::kShared;
  if (modifiers_.Take("local")) return Space::kLocal;
  if (modifiers_.Take("const")) return Space::kConst;
  if (!modifiers_.TakeOneOf({"param", "param::entry", "param::func"}).empty()) return Space::kParam;
  return Space::kGeneric;
}

// Hints that do not change what an access does.
void FunctionCodegen::TakeCacheHints() {
  modifiers_.TakeOneOf({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  modifiers_.TakePrefix("L1::");
  modifiers_.TakePrefix("L2::");
}

llvm::Value* FunctionCodegen::GlobalPointer(Value* address) {
  return b_.CreateGEP(b_.getInt8Ty(), Field(offsetof(BlockContext, global), b_.getPtrTy()), address);
}

llvm::Value* FunctionCodegen::SharedPointer(Value* offset) {
  Value* base = Field(offsetof(BlockContext, shared), b_.getPtrTy());
  return b_.CreateGEP(b_.getInt8Ty(), base, b_.CreateZExt(Coerce(offset, b_.getInt32Ty(), false), b_.getInt64Ty()));
}

llvm::Value* FunctionCodegen::LocalPointer(Value* address) { return b_.CreateIntToPtr(address, b_.getPtrTy()); }

// [name + offset] of a parameter or a .param variable.
FunctionCodegen::Address FunctionCodegen::ParameterAddress(std::string_view name, int64_t offset) {
  Value* base = nullptr;
  bool kernel = false;
  if (auto local = locals_.find(name); local != locals_.end()) {
    base = local->second;
  } else if (auto pointer = parameters_.find(name); pointer != parameters_.end()) {
    base = pointer->second;
  } else if (auto at = kernel_parameters_.find(name); at != kernel_parameters_.end()) {
    base = Field(offsetof(BlockContext, parameters), b_.getPtrTy());
    offset += at->second;
    kernel = true;
  } else {
    Malformed(fmt::format("unknown parameter {}", name));
    return {llvm::PoisonValue::get(b_.getPtrTy())};
  }
  return {b_.CreateConstGEP1_64(b_.getInt8Ty(), base, static_cast<uint64_t>(offset)), kernel};
}

llvm::Value* FunctionCodegen::AddressBase(const ptx::AddressOperand& address, ptx::Space* space) {
  if (auto* symbol = std::get_if<ptx::SymbolOperand>(&address.base)) {
    Value* base = ReadSymbol(*symbol, Type::kB64);
    if (failed()) return b_.getInt64(0);
    // A shared variable named without a space is meant by its generic address.
    const bool shared = module_.program().shared_offsets.contains(SharedKey(ptx_, symbol->name)) ||
                        module_.program().shared_offsets.contains(symbol->name);
    if (shared && *space == ptx::Space::kGeneric) *space = ptx::Space::kShared;
    return base;
  }
  auto* reg = std::get_if<ptx::RegisterOperand>(&address.base);
  if (reg == nullptr) return b_.getInt64(0);
  llvm::AllocaInst* slot = registers_.at(reg->index);
  return Coerce(b_.CreateLoad(slot->getAllocatedType(), slot), b_.getInt64Ty(), false);
}

FunctionCodegen::Address FunctionCodegen::AddressOf(const ptx::Operand& operand, ptx::Space space) {
  using Space = ptx::Space;
  auto* address = std::get_if<ptx::AddressOperand>(&operand.value);
  if (address == nullptr) {
    Malformed("no address");
    return {llvm::PoisonValue::get(b_.getPtrTy())};
  }
  Value* offset = b_.getInt64(static_cast<uint64_t>(address->offset));
  if (auto* symbol = std::get_if<ptx::SymbolOperand>(&address->base)) {
    if (space == Space::kParam) return ParameterAddress(symbol->name, address->offset + symbol->offset);
    if (auto local = locals_.find(symbol->name); local != locals_.end()) {
      return {b_.CreateGEP(b_.getInt8Ty(), local->second,
                           b_.CreateAdd(offset, b_.getInt64(static_cast<uint64_t>(symbol->offset))))};
    }
  }
  Value* base = AddressBase(*address, &space);
  if (failed()) return {llvm::PoisonValue::get(b_.getPtrTy())};
  switch (space) {
    case Space::kShared:
      return {SharedPointer(b_.CreateAdd(base, offset)), false, IsChecked(space), llvm::SyncScope::SingleThread};
    case Space::kLocal:
    case Space::kGeneric:  // may be a local array, which LLVM would never expect behind the pointer to device memory
      return {b_.CreateGEP(b_.getInt8Ty(), LocalPointer(base), offset), false, IsChecked(space)};
    default:
      return {b_.CreateGEP(b_.getInt8Ty(), GlobalPointer(base), offset), false, IsChecked(space)};
  }
}

uint32_t FunctionCodegen::TakeVector() {
  const std::string_view vector = modifiers_.TakeOneOf({"v2", "v4", "v8"});
  return vector.empty() ? 1 : static_cast<uint32_t>(vector[1] - '0');
}

// .weak is the default; .volatile is treated as .relaxed.sys, .mmio as well.
FunctionCodegen::Ordering FunctionCodegen::TakeOrdering(bool store) {
  const std::string_view order = modifiers_.TakeOneOf({"volatile", "relaxed", "acquire", "release", "mmio"});
  if (order == "mmio") modifiers_.Take("relaxed");
  if (order == "relaxed") modifiers_.Take("mmio");
  modifiers_.TakeOneOf({"cta", "cluster", "gpu", "gl", "sys"});
  modifiers_.Take("weak");
  if (order.empty()) return {};
  if (order == "acquire" && store) Malformed("a store cannot acquire");
  if (order == "release" && !store) Malformed("a load cannot release");
  return {llvm::AtomicOrdering::Monotonic, order == "release", order == "acquire"};
}

llvm::Value* FunctionCodegen::LoadElement(const Address& address, uint64_t offset, llvm::Type* type,
                                          llvm::AtomicOrdering order) {
  Value* pointer = b_.CreateConstGEP1_64(b_.getInt8Ty(), address.pointer, offset);
  const bool atomic = order != llvm::AtomicOrdering::NotAtomic;
  const uint64_t bytes = type->getPrimitiveSizeInBits() / 8;
  auto* load = b_.CreateAlignedLoad(type, pointer, llvm::Align(atomic ? bytes : 1));
  if (atomic) load->setAtomic(order, address.scope);
  if (address.invariant) module_.MarkInvariant(load);
  return load;
}

void FunctionCodegen::StoreElement(const Address& address, uint64_t offset, Value* value, llvm::AtomicOrdering order) {
  Value* pointer = b_.CreateConstGEP1_64(b_.getInt8Ty(), address.pointer, offset);
  const bool atomic = order != llvm::AtomicOrdering::NotAtomic;
  const uint64_t bytes = value->getType()->getPrimitiveSizeInBits() / 8;
  auto* store = b_.CreateAlignedStore(value, pointer, llvm::Align(atomic ? bytes : 1));
  if (atomic) store->setAtomic(order, address.scope);
}

// A synchronizing vector access of up to 16 bytes is one access: programs pass a value and its flag that way.
void FunctionCodegen::LoadWhole(const Address& address, Type type, const ptx::VectorOperand& to) {
  const uint32_t bits = BitsOf(type);
  const auto count = static_cast<uint32_t>(to.elements.size());
  if (bits * count > 64) {
    auto* vector = llvm::FixedVectorType::get(b_.getIntNTy(bits), count);
    auto* load = b_.CreateAlignedLoad(vector, address.pointer, llvm::Align(16), true);
    for (uint32_t i = 0; i < count; ++i) {
      Write(to.elements[i], type, b_.CreateBitCast(b_.CreateExtractElement(load, i), Llvm(type)));
    }
    return;
  }
  Value* whole = LoadElement(address, 0, b_.getIntNTy(bits * count), llvm::AtomicOrdering::Monotonic);
  for (uint32_t i = 0; i < count; ++i) {
    Value* part = b_.CreateTrunc(b_.CreateLShr(whole, bits * i), b_.getIntNTy(bits));
    Write(to.elements[i], type, b_.CreateBitCast(part, Llvm(type)));
  }
}

void FunctionCodegen::StoreWhole(const Address& address, Type type, const ptx::VectorOperand& from) {
  const uint32_t bits = BitsOf(type);
  const auto count = static_cast<uint32_t>(from.elements.size());
  if (bits * count > 64) {
    Value* vector = llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.getIntNTy(bits), count));
    for (uint32_t i = 0; i < count; ++i) {
      vector = b_.CreateInsertElement(vector, ToBits(Read(from.elements[i], type)), i);
    }
    b_.CreateAlignedStore(vector, address.pointer, llvm::Align(16), true);
    return;
  }
  llvm::Type* whole_type = b_.getIntNTy(bits * count);
  Value* whole = llvm::Constant::getNullValue(whole_type);
  for (uint32_t i = 0; i < count; ++i) {
    Value* part = b_.CreateZExt(ToBits(Read(from.elements[i], type)), whole_type);
    whole = b_.CreateOr(whole, b_.CreateShl(part, bits * i));
  }
  StoreElement(address, 0, whole, llvm::AtomicOrdering::Monotonic);
}

void FunctionCodegen::Ld() {
  const ptx::Space space = TakeSpace();
  const Ordering ordering = TakeOrdering(false);
  modifiers_.Take("nc");
  TakeCacheHints();
  modifiers_.Take("unified");
  const uint32_t vector = TakeVector();
  Type type = TypeOrFail();
  if (!Expect(2, 3)) return;
  Address address = AddressOf(Op(1), space);
  auto* elements = std::get_if<ptx::VectorOperand>(&Op(0).value);
  if ((elements == nullptr ? 1 : elements->elements.size()) != vector) return Malformed("wrong number of elements");
  const bool strong = ordering.order != llvm::AtomicOrdering::NotAtomic;
  CheckAccess(address, uint64_t{vector} * ptx::SizeOf(type), check::kReads | (strong ? check::kStrong : 0));
  if (elements == nullptr) {
    Result(type, LoadElement(address, 0, Llvm(type), ordering.order));
  } else if (ordering.order != llvm::AtomicOrdering::NotAtomic && BitsOf(type) * vector <= 128) {
    LoadWhole(address, type, *elements);
  } else {
    // All loads before the first write: a destination may be the address.
    std::vector<Value*> values;
    for (uint32_t i = 0; i < vector; ++i) {
      values.push_back(LoadElement(address, uint64_t{i} * ptx::SizeOf(type), Llvm(type), ordering.order));
    }
    for (uint32_t i = 0; i < vector; ++i) Write(elements->elements[i], type, values[i]);
  }
  if (ordering.fence_after) b_.CreateFence(llvm::AtomicOrdering::Acquire);
}

void FunctionCodegen::St() {
  const ptx::Space space = TakeSpace();
  const Ordering ordering = TakeOrdering(true);
  TakeCacheHints();
  const uint32_t vector = TakeVector();
  Type type = TypeOrFail();
  if (!Expect(2, 3)) return;
  Address address = AddressOf(Op(0), space);
  if (ordering.fence_before) b_.CreateFence(llvm::AtomicOrdering::Release);
  auto* elements = std::get_if<ptx::VectorOperand>(&Op(1).value);
  if ((elements == nullptr ? 1 : elements->elements.size()) != vector) return Malformed("wrong number of elements");
  if (address.checked) {
    std::vector<Value*> values;
    if (elements == nullptr) values.push_back(Source(1, type));
    for (uint32_t i = 0; elements != nullptr && i < vector; ++i) values.push_back(Read(elements->elements[i], type));
    const bool strong = ordering.order != llvm::AtomicOrdering::NotAtomic;
    CheckAccess(address, uint64_t{vector} * ptx::SizeOf(type), check::kWrites | (strong ? check::kStrong : 0), values);
  }
  if (elements == nullptr) return StoreElement(address, 0, Source(1, type), ordering.order);
  if (ordering.order != llvm::AtomicOrdering::NotAtomic && BitsOf(type) * vector <= 128) {
    return StoreWhole(address, type, *elements);
  }
  for (uint32_t i = 0; i < vector; ++i) {
    StoreElement(address, uint64_t{i} * ptx::SizeOf(type), Read(elements->elements[i], type), ordering.order);
  }
}

}  // namespace wharf::device::soft
