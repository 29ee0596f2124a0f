// Branches, calls and the end of a thread.
#include "wharf/device/ptx/link.h"
#include "wharf/device/soft/codegen/function.h"
#include "wharf/device/soft/runtime/function_address.h"

namespace wharf::device::soft {

void FunctionCodegen::AddControlHandlers(std::map<std::string_view, Handler>* handlers) {
  handlers->insert({{"bra", &FunctionCodegen::Bra},
                    {"brx", &FunctionCodegen::Brx},
                    {"call", &FunctionCodegen::Call},
                    {"ret", &FunctionCodegen::Ret},
                    {"exit", &FunctionCodegen::Exit},
                    {"trap", &FunctionCodegen::Trap},
                    {"brkpt", &FunctionCodegen::Trap},
                    {"pmevent", &FunctionCodegen::NoOperation},
                    {"griddepcontrol", &FunctionCodegen::NoOperation},
                    {"setmaxnreg", &FunctionCodegen::NoOperation}});
}

llvm::BasicBlock* FunctionCodegen::LabelBlock(const std::string& label) {
  auto found = reached_.body.labels.find(label);
  if (found != reached_.body.labels.end()) return blocks_.at(found->second);
  Malformed(fmt::format("unknown label {}", label));
  return NewBlock("nowhere");
}

void FunctionCodegen::Bra() {
  modifiers_.Take("uni");
  if (!Expect(1)) return;
  auto* label = std::get_if<ptx::SymbolOperand>(&Op(0).value);
  if (label == nullptr) return Malformed("no label");
  b_.CreateBr(LabelBlock(label->name));
  StartUnreachable();
}

// An index beyond the list is undefined; it traps.
void FunctionCodegen::Brx() {
  if (!modifiers_.Take("idx")) return Malformed("only .idx exists");
  modifiers_.Take("uni");
  if (!Expect(2)) return;
  auto* list = std::get_if<ptx::SymbolOperand>(&Op(1).value);
  auto targets = list == nullptr ? reached_.body.branch_targets.end() : reached_.body.branch_targets.find(list->name);
  if (targets == reached_.body.branch_targets.end()) return Malformed("no list of targets");
  auto* beyond = NewBlock("beyond");
  auto* jump = b_.CreateSwitch(Source(0, Type::kU32), beyond, static_cast<unsigned>(targets->second.size()));
  uint32_t index = 0;
  for (const std::string& label : targets->second) jump->addCase(b_.getInt32(index++), LabelBlock(label));
  b_.SetInsertPoint(beyond);
  CallTrap(TrapKind::kIllegalInstruction);
  StartUnreachable();
}

void FunctionCodegen::Ret() {
  modifiers_.Take("uni");
  for (const ptx::Variable& v : ptx_.returns) {
    if (v.space != ptx::Space::kReg) continue;
    for (size_t i = 0; i < registers_.size(); ++i) {
      if (reached_.body.registers[i].name != v.name) continue;
      b_.CreateStore(b_.CreateLoad(registers_[i]->getAllocatedType(), registers_[i]), parameters_.at(v.name));
    }
  }
  Leave(false);
  StartUnreachable();
}

void FunctionCodegen::Exit() {
  Leave(true);
  StartUnreachable();
}

void FunctionCodegen::CallTrap(TrapKind kind) {
  auto trap = module_.External("wharf_trap", b_.getVoidTy(), {b_.getPtrTy(), b_.getInt32Ty()});
  auto* call = b_.CreateCall(trap, {function_->getArg(kBlockArgument), b_.getInt32(static_cast<uint32_t>(kind))});
  call->setDoesNotReturn();
  b_.CreateUnreachable();
}

void FunctionCodegen::Trap() {
  CallTrap(TrapKind::kTrap);
  StartUnreachable();
}

// Hints and events nobody here listens to.
void FunctionCodegen::NoOperation() {
  while (!modifiers_.TakeNext().empty()) {
  }
}

// Spinning threads let the others run, every few rounds.
void FunctionCodegen::Yield() {
  constexpr uint32_t kRounds = 8;
  if (spins_ == nullptr) {
    spins_ = entry_.CreateAlloca(b_.getInt32Ty(), nullptr, "spins");
    entry_.CreateStore(b_.getInt32(0), spins_);
  }
  Value* spins = b_.CreateAdd(b_.CreateLoad(b_.getInt32Ty(), spins_), b_.getInt32(1));
  b_.CreateStore(spins, spins_);
  auto* yield = NewBlock("yield");
  auto* go_on = NewBlock("go_on");
  b_.CreateCondBr(b_.CreateICmpEQ(b_.CreateAnd(spins, b_.getInt32(kRounds - 1)), b_.getInt32(0)), yield, go_on);
  b_.SetInsertPoint(yield);
  CallRuntime("wharf_yield", b_.getVoidTy(), {});
  b_.CreateBr(go_on);
  b_.SetInsertPoint(go_on);
}

void FunctionCodegen::Call() {
  modifiers_.Take("uni");
  if (!Expect(1)) return;
  auto* symbol = std::get_if<ptx::SymbolOperand>(&Op(0).value);
  if (symbol == nullptr) return CallIndirect();
  if (ptx::IsSystemFunction(symbol->name)) return CallSystem(symbol->name);
  llvm::Function* callee = module_.FindFunction(symbol->name);
  auto found = module_.program().index.find(ResolveAlias(*module_.program().module, symbol->name));
  if (callee == nullptr || found == module_.program().index.end()) return Malformed("unknown function");
  const ptx::Function& declared = *module_.program().functions[found->second].function;
  if (declared.is_entry) return Unsupported("a kernel called as a function");
  std::vector<Value*> pointers = CallPointers(declared.returns, declared.parameters);
  if (failed()) return;
  CallDirect(callee, pointers);
  FinishCall(declared.returns, pointers);
}

// Pointers to where results go and arguments are.
std::vector<llvm::Value*> FunctionCodegen::CallPointers(const std::vector<ptx::Variable>& returns,
                                                        const std::vector<ptx::Variable>& parameters) {
  std::vector<Value*> pointers;
  if (instruction_->call_returns.size() != returns.size() || instruction_->call_arguments.size() != parameters.size()) {
    Malformed("the call does not fit the function");
    return pointers;
  }
  for (size_t i = 0; i < returns.size(); ++i) {
    pointers.push_back(ArgumentPointer(instruction_->call_returns[i], returns[i], true));
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    pointers.push_back(ArgumentPointer(instruction_->call_arguments[i], parameters[i], false));
  }
  return pointers;
}

// .param variables are passed as they are, registers and constants through a slot.
llvm::Value* FunctionCodegen::ArgumentPointer(const ptx::Operand& operand, const ptx::Variable& declared, bool result) {
  if (auto* symbol = std::get_if<ptx::SymbolOperand>(&operand.value)) {
    auto local = locals_.find(symbol->name);
    if (local != locals_.end()) {
      const auto size = llvm::cast<llvm::ArrayType>(local->second->getAllocatedType())->getNumElements();
      if (size < declared.Bytes()) Malformed("an argument is smaller than the parameter");
      return local->second;
    }
    if (auto own = parameters_.find(symbol->name); own != parameters_.end()) return own->second;
  }
  auto* slot = entry_.CreateAlloca(Llvm(declared.type));
  if (!result) b_.CreateStore(Read(operand, declared.type), slot);
  return slot;
}

void FunctionCodegen::CallDirect(llvm::Function* callee, llvm::ArrayRef<Value*> pointers) {
  std::vector<Value*> arguments;
  for (unsigned i = 0; i < kFixedArguments; ++i) arguments.push_back(function_->getArg(i));
  arguments.insert(arguments.end(), pointers.begin(), pointers.end());
  Value* exited = b_.CreateCall(callee, arguments);
  auto* leave = NewBlock("exited");
  auto* go_on = NewBlock("returned");
  b_.CreateCondBr(exited, leave, go_on);
  b_.SetInsertPoint(leave);
  Leave(true);
  b_.SetInsertPoint(go_on);
}

void FunctionCodegen::FinishCall(const std::vector<ptx::Variable>& returns, llvm::ArrayRef<Value*> pointers) {
  for (size_t i = 0; i < returns.size(); ++i) {
    const ptx::Operand& to = instruction_->call_returns[i];
    if (!std::holds_alternative<ptx::RegisterOperand>(to.value)) continue;
    Write(to, returns[i].type, b_.CreateLoad(Llvm(returns[i].type), pointers[i]));
  }
}

// A function's address is a number made from its name; a call compares it with those it may be.
void FunctionCodegen::CallIndirect() {
  const ptx::Body& body = reached_.body;
  std::vector<ptx::Variable> returns, parameters;
  std::vector<std::string> allowed;
  if (auto prototype = body.prototypes.find(instruction_->call_prototype); prototype != body.prototypes.end()) {
    returns = prototype->second.returns;
    parameters = prototype->second.parameters;
  } else if (auto targets = body.call_targets.find(instruction_->call_prototype);
             targets != body.call_targets.end() && !targets->second.empty()) {
    const ptx::Function* first = module_.program().module->FindFunction(targets->second.front());
    if (first == nullptr) return Malformed("unknown target");
    returns = first->returns;
    parameters = first->parameters;
  } else {
    return Malformed("no prototype");
  }
  std::vector<Value*> pointers = CallPointers(returns, parameters);
  if (failed()) return;
  auto* unknown = NewBlock("unknown");
  auto* done = NewBlock("called");
  auto* choose = b_.CreateSwitch(Source(0, Type::kB64), unknown);
  for (const ReachedFunction& target : module_.program().functions) {
    const ptx::Function& f = *target.function;
    if (!target.address_taken || f.is_entry || f.returns.size() != returns.size() ||
        f.parameters.size() != parameters.size()) {
      continue;
    }
    auto* block = NewBlock("target");
    choose->addCase(b_.getInt64(FunctionAddress(f.name)), block);
    b_.SetInsertPoint(block);
    CallDirect(module_.FindFunction(f.name), pointers);
    b_.CreateBr(done);
  }
  b_.SetInsertPoint(unknown);
  CallTrap(TrapKind::kIllegalInstruction);
  b_.SetInsertPoint(done);
  FinishCall(returns, pointers);
}

llvm::Value* FunctionCodegen::SystemArgument(size_t index, Type type) {
  if (index >= instruction_->call_arguments.size()) {
    Malformed("too few arguments");
    return llvm::PoisonValue::get(Llvm(type));
  }
  const ptx::Operand& operand = instruction_->call_arguments[index];
  if (auto* symbol = std::get_if<ptx::SymbolOperand>(&operand.value)) {
    if (auto local = locals_.find(symbol->name); local != locals_.end()) {
      return b_.CreateLoad(Llvm(type), local->second);
    }
  }
  return Read(operand, type);
}

void FunctionCodegen::CallSystem(std::string_view name) {
  llvm::Type* pointer = b_.getPtrTy();
  llvm::Type* i32 = b_.getInt32Ty();
  llvm::Type* i64 = b_.getInt64Ty();
  Value* block = function_->getArg(kBlockArgument);
  Value* result = nullptr;
  Type type = Type::kB64;
  if (name == "vprintf") {
    auto callee = module_.External("wharf_vprintf", i32, {pointer, i64, i64});
    result = b_.CreateCall(callee, {block, SystemArgument(0, Type::kB64), SystemArgument(1, Type::kB64)});
    type = Type::kB32;
  } else if (name == "malloc") {
    result =
        b_.CreateCall(module_.External("wharf_malloc", i64, {pointer, i64}), {block, SystemArgument(0, Type::kB64)});
  } else if (name == "free") {
    b_.CreateCall(module_.External("wharf_free", b_.getVoidTy(), {pointer, i64}),
                  {block, SystemArgument(0, Type::kB64)});
  } else if (name == "cudaGraphSetConditional") {  // the handle is the address of what the client looks at
    b_.CreateStore(SystemArgument(1, Type::kB32), GlobalPointer(SystemArgument(0, Type::kB64)));
  } else if (ptx::LaunchesKernels(name)) {
    result = CallDeviceRuntime(name);
    type = result->getType() == i64 ? Type::kB64 : Type::kB32;
  } else {
    auto* tid = entry_.CreateAlloca(llvm::ArrayType::get(i32, 3));
    for (unsigned d = 0; d < 3; ++d) {
      b_.CreateStore(function_->getArg(kTidX + d), b_.CreateConstGEP1_64(i32, tid, d));
    }
    auto callee = module_.External("wharf_assert_fail", b_.getVoidTy(), {pointer, pointer, i64, i64, i32, i64});
    auto* call = b_.CreateCall(callee, {block, tid, SystemArgument(0, Type::kB64), SystemArgument(1, Type::kB64),
                                        SystemArgument(2, Type::kB32), SystemArgument(3, Type::kB64)});
    call->setDoesNotReturn();
    b_.CreateUnreachable();
    return StartUnreachable();
  }
  if (result == nullptr || instruction_->call_returns.empty()) return;
  const ptx::Operand& to = instruction_->call_returns[0];
  auto* symbol = std::get_if<ptx::SymbolOperand>(&to.value);
  auto local = symbol == nullptr ? locals_.end() : locals_.find(symbol->name);
  if (local == locals_.end()) return Write(to, type, result);
  b_.CreateStore(result, local->second);
}

}  // namespace wharf::device::soft
