// atom, red, membar and fence.
#include "wharf/device/soft/codegen/function.h"

namespace wharf::device::soft {

void FunctionCodegen::AddAtomicHandlers(std::map<std::string_view, Handler>* handlers) {
  handlers->insert({{"atom", &FunctionCodegen::Atom},
                    {"red", &FunctionCodegen::Red},
                    {"membar", &FunctionCodegen::Membar},
                    {"mbarrier", &FunctionCodegen::Mbarrier},
                    {"fence", &FunctionCodegen::Fence}});
}

namespace {

llvm::AtomicOrdering OrderingNamed(std::string_view name) {
  if (name == "acquire") return llvm::AtomicOrdering::Acquire;
  if (name == "release") return llvm::AtomicOrdering::Release;
  if (name == "acq_rel") return llvm::AtomicOrdering::AcquireRelease;
  return llvm::AtomicOrdering::Monotonic;
}

}  // namespace

void FunctionCodegen::Atomic(bool result) {
  const llvm::AtomicOrdering order = OrderingNamed(modifiers_.TakeOneOf({"relaxed", "acquire", "release", "acq_rel"}));
  modifiers_.TakeOneOf({"cta", "cluster", "gpu", "sys"});
  const ptx::Space space = TakeSpace();
  if (space != ptx::Space::kGlobal && space != ptx::Space::kShared && space != ptx::Space::kGeneric) {
    return Malformed("atomics work on global and shared memory");
  }
  const std::string_view operation =
      modifiers_.TakeOneOf({"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"});
  modifiers_.Take("noftz");
  modifiers_.TakePrefix("L2::");
  const uint32_t vector = TakeVector();
  Type type = TypeOrFail();
  const size_t operand = result ? 2 : 1;
  if (!Expect(operand + 1, operand + 3)) return;
  if (operation.empty()) return Malformed("no operation");
  Address address = AddressOf(Op(operand - 1), space);
  if (failed()) return;
  CheckAccess(address, uint64_t{vector} * ptx::SizeOf(type), check::kReads | check::kWrites | check::kStrong);
  // The threads of a block take turns on one thread of the system (runtime/block_scheduler.h).
  atomic_scope_ = space == ptx::Space::kShared ? llvm::SyncScope::SingleThread : llvm::SyncScope::System;
  if (vector > 1) return AtomicVector(operation, type, address, result, order);
  Value* old = operation == "cas" ? CompareAndSwap(type, address.pointer, operand, order)
                                  : AtomicElement(operation, type, address.pointer, Source(operand, type), order);
  if (result && old != nullptr) Result(type, old);
}

// The operation on each element; the vector as a whole is not atomic, nor is it on a GPU.
void FunctionCodegen::AtomicVector(std::string_view operation, Type type, const Address& address, bool result,
                                   llvm::AtomicOrdering order) {
  auto* values = std::get_if<ptx::VectorOperand>(&Op(result ? 2 : 1).value);
  auto* to = result ? std::get_if<ptx::VectorOperand>(&Op(0).value) : values;
  if (values == nullptr || to == nullptr || to->elements.size() != values->elements.size()) {
    return Malformed("no vector");
  }
  std::vector<Value*> old;
  for (size_t i = 0; i < values->elements.size(); ++i) {
    Value* pointer = b_.CreateConstGEP1_64(b_.getInt8Ty(), address.pointer, i * ptx::SizeOf(type));
    old.push_back(AtomicElement(operation, type, pointer, Read(values->elements[i], type), order));
    if (failed()) return;
  }
  for (size_t i = 0; result && i < old.size(); ++i) Write(to->elements[i], type, old[i]);
}

llvm::Value* FunctionCodegen::AtomicElement(std::string_view operation, Type type, Value* pointer, Value* value,
                                            llvm::AtomicOrdering order) {
  if (operation == "exch") return AtomicExchange(type, pointer, value, order);
  if (IsFloat(type) || IsHalf(type) || IsPackedHalf(type)) return AtomicFloat(operation, type, pointer, value, order);
  using Op = llvm::AtomicRMWInst;
  const bool sign = IsSigned(type);
  Op::BinOp rmw = Op::BAD_BINOP;
  if (operation == "add") rmw = Op::Add;
  if (operation == "and") rmw = Op::And;
  if (operation == "or") rmw = Op::Or;
  if (operation == "xor") rmw = Op::Xor;
  if (operation == "min") rmw = sign ? Op::Min : Op::UMin;
  if (operation == "max") rmw = sign ? Op::Max : Op::UMax;
  if (operation == "inc") rmw = Op::UIncWrap;
  if (operation == "dec") rmw = Op::UDecWrap;
  if (rmw == Op::BAD_BINOP || (BitsOf(type) != 32 && BitsOf(type) != 64)) {
    Unsupported("atomic operation on this type");
    return nullptr;
  }
  return b_.CreateAtomicRMW(rmw, pointer, value, llvm::MaybeAlign(BitsOf(type) / 8), order, atomic_scope_);
}

llvm::Value* FunctionCodegen::AtomicExchange(Type type, Value* pointer, Value* value, llvm::AtomicOrdering order) {
  Value* old = b_.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, pointer, ToBits(value), llvm::MaybeAlign(BitsOf(type) / 8),
                                  order, atomic_scope_);
  return b_.CreateBitCast(old, Llvm(type));
}

llvm::Value* FunctionCodegen::AtomicFloat(std::string_view operation, Type type, Value* pointer, Value* value,
                                          llvm::AtomicOrdering order) {
  const bool extremum = operation == "min" || operation == "max";
  if (operation != "add" && !extremum) {
    Unsupported("atomic operation on this type");
    return nullptr;
  }
  if (operation == "add" && (type == Type::kF32 || type == Type::kF64)) {
    return b_.CreateAtomicRMW(llvm::AtomicRMWInst::FAdd, pointer, value, llvm::MaybeAlign(BitsOf(type) / 8), order,
                              atomic_scope_);
  }
  Type element = ElementOf(type);
  llvm::Type* bits = b_.getIntNTy(BitsOf(type));
  Value* old = AtomicLoop(pointer, bits, order, [&](Value* before) {
    Value* current = b_.CreateBitCast(before, Llvm(type));
    Value* next = Lanewise(type, {current, value}, [&](llvm::ArrayRef<Value*> x) {
      if (extremum) return FloatMinMaxElement(element, x, operation == "max", false, false, false);
      return FloatElement(element, llvm::Instruction::FAdd, x, Rounding::kNearest, false);
    });
    return ToBits(next);
  });
  return b_.CreateBitCast(old, Llvm(type));
}

llvm::Value* FunctionCodegen::AtomicLoop(Value* pointer, llvm::Type* bits, llvm::AtomicOrdering order,
                                         const std::function<Value*(Value*)>& update) {
  const llvm::Align align(bits->getIntegerBitWidth() / 8);
  auto* first = b_.CreateAlignedLoad(bits, pointer, align);
  first->setAtomic(llvm::AtomicOrdering::Monotonic);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  auto* loop = NewBlock("atomic");
  auto* done = NewBlock("updated");
  b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  auto* current = b_.CreatePHI(bits, 2);
  current->addIncoming(first, before);
  Value* next = update(current);
  auto* swap = b_.CreateAtomicCmpXchg(pointer, current, next, align, order,
                                      llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(order), atomic_scope_);
  Value* seen = b_.CreateExtractValue(swap, 0);
  current->addIncoming(seen, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateExtractValue(swap, 1), done, loop);
  b_.SetInsertPoint(done);
  return seen;
}

llvm::Value* FunctionCodegen::CompareAndSwap(Type type, Value* pointer, size_t operand, llvm::AtomicOrdering order) {
  if (!Expect(operand + 2, operand + 3)) return nullptr;
  Value* expected = ToBits(Source(operand, type));
  Value* desired = ToBits(Source(operand + 1, type));
  auto* swap = b_.CreateAtomicCmpXchg(pointer, expected, desired, llvm::MaybeAlign(BitsOf(type) / 8), order,
                                      llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(order), atomic_scope_);
  return b_.CreateBitCast(b_.CreateExtractValue(swap, 0), Llvm(type));
}

void FunctionCodegen::Membar() {
  const std::string_view level = modifiers_.TakeOneOf({"cta", "gl", "sys"});
  const bool proxy = modifiers_.TakePrefix("proxy") && !modifiers_.TakeNext().empty();
  if (level.empty() && !proxy) return Malformed("no level");
  b_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
}

// All ways to memory are one here, so what orders one of them orders them all.
void FunctionCodegen::Fence() {
  const bool proxy = modifiers_.Take("proxy") && !modifiers_.TakeNext().empty();
  if (proxy) TakeSpace();
  modifiers_.TakeOneOf({"mbarrier_init"});
  modifiers_.TakePrefix("sync_restrict::");
  const std::string_view order = modifiers_.TakeOneOf({"sc", "acq_rel", "acquire", "release"});
  const std::string_view scope = modifiers_.TakeOneOf({"cta", "cluster", "gpu", "sys"});
  if (scope.empty() && !proxy) return Malformed("no scope");
  if (order == "acquire") {
    b_.CreateFence(llvm::AtomicOrdering::Acquire);
  } else if (order == "release") {
    b_.CreateFence(llvm::AtomicOrdering::Release);
  } else if (order == "acq_rel") {
    b_.CreateFence(llvm::AtomicOrdering::AcquireRelease);
  } else {
    b_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
  }
}

}  // namespace wharf::device::soft
