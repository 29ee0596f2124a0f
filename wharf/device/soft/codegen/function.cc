#include "wharf/device/soft/codegen/function.h"

#include <algorithm>

#include "wharf/device/cuda_error.h"
#include "wharf/device/ptx/parser.h"

namespace wharf::device::soft {

FunctionCodegen::FunctionCodegen(ModuleCodegen& module, const ReachedFunction& reached, llvm::Function* function)
    : module_(module),
      reached_(reached),
      ptx_(*reached.function),
      function_(function),
      context_(module.context()),
      b_(context_),
      entry_(context_) {}

const std::map<std::string_view, FunctionCodegen::Handler>& FunctionCodegen::Handlers() {
  static const auto* handlers = [] {
    auto* all = new std::map<std::string_view, Handler>;
    AddIntegerHandlers(all);
    AddBitHandlers(all);
    AddVideoHandlers(all);
    AddFloatHandlers(all);
    AddConvertHandlers(all);
    AddCompareHandlers(all);
    AddMemoryHandlers(all);
    AddAtomicHandlers(all);
    AddControlHandlers(all);
    AddSyncHandlers(all);
    AddTextureHandlers(all);
    AddTensorHandlers(all);
    return all;
  }();
  return *handlers;
}

absl::Status FunctionCodegen::Build() {
  auto* entry = llvm::BasicBlock::Create(context_, "entry", function_);
  auto* start = llvm::BasicBlock::Create(context_, "start", function_);
  entry_.SetInsertPoint(entry);
  entry_.SetInsertPoint(entry_.CreateBr(start));
  b_.SetInsertPoint(start);
  DeclareRegisters();
  DeclareVariables();
  SaveStack();
  if (failed()) return status_;
  BuildBody();
  return status_;
}

void FunctionCodegen::DeclareRegisters() {
  for (const ptx::Body::Register& reg : reached_.body.registers) {
    if (reg.type == Type::kNone) {
      status_ = CudaStatus(CudaError::kInvalidPtx, "function {}: register {} has no type", ptx_.name, reg.name);
      return;
    }
    // A register holds nothing that the program did not put there.
    registers_.push_back(entry_.CreateAlloca(Llvm(reg.type), nullptr, reg.name));
    entry_.CreateStore(llvm::Constant::getNullValue(Llvm(reg.type)), registers_.back());
  }
  carry_ = entry_.CreateAlloca(b_.getInt1Ty(), nullptr, "carry");
  entry_.CreateStore(b_.getFalse(), carry_);
}

void FunctionCodegen::DeclareVariables() {
  if (ptx_.is_entry) {
    std::vector<ParameterLayout> layout = ptx::LayoutParameters(ptx_);
    for (size_t i = 0; i < ptx_.parameters.size(); ++i) {
      kernel_parameters_[ptx_.parameters[i].name] = layout[i].offset;
      parameter_bytes_ = layout[i].offset + layout[i].size;
    }
  } else {
    unsigned argument = kFixedArguments;
    for (const ptx::Variable& v : ptx_.returns) parameters_[v.name] = function_->getArg(argument++);
    for (const ptx::Variable& v : ptx_.parameters) parameters_[v.name] = function_->getArg(argument++);
    LoadParametersInRegisters();
  }
  for (const ptx::Variable& v : reached_.body.variables) {
    if (v.space != ptx::Space::kLocal && v.space != ptx::Space::kParam) continue;
    auto* type = llvm::ArrayType::get(b_.getInt8Ty(), v.Bytes());
    auto* slot = entry_.CreateAlloca(type, nullptr, v.name);
    slot->setAlignment(llvm::Align(std::max<uint64_t>(8, llvm::PowerOf2Ceil(v.alignment))));
    // Nor does a variable. Of one that is larger no launch is accepted.
    constexpr uint64_t kMost = 512 << 10;
    entry_.CreateMemSet(slot, b_.getInt8(0), std::min(v.Bytes(), kMost), slot->getAlign());
    locals_[v.name] = slot;
  }
}

// A function gives back the local memory it takes.
void FunctionCodegen::SaveStack() {
  const auto& instructions = reached_.body.instructions;
  if (std::none_of(instructions.begin(), instructions.end(), [](const ptx::Instruction& instruction) {
        return instruction.opcode == "alloca" || instruction.opcode == "stackrestore";
      })) {
    return;
  }
  saved_stack_ = entry_.CreateAlloca(b_.getInt64Ty(), nullptr, "saved_stack");
  entry_.CreateStore(entry_.CreateLoad(b_.getInt64Ty(), LocalStack(entry_)), saved_stack_);
}

// Parameters declared as registers are registers of the body by the same name.
void FunctionCodegen::LoadParametersInRegisters() {
  for (const ptx::Variable& v : ptx_.parameters) {
    if (v.space != ptx::Space::kReg) continue;
    for (size_t i = 0; i < registers_.size(); ++i) {
      if (reached_.body.registers[i].name != v.name) continue;
      llvm::Type* type = registers_[i]->getAllocatedType();
      b_.CreateStore(b_.CreateLoad(type, parameters_[v.name]), registers_[i]);
    }
  }
}

void FunctionCodegen::BuildBody() {
  const auto& instructions = reached_.body.instructions;
  for (const auto& [label, index] : reached_.body.labels) {
    llvm::BasicBlock*& block = blocks_[index];
    if (block == nullptr) block = NewBlock("label");
  }
  for (at_ = 0; at_ < instructions.size() && !failed(); ++at_) {
    if (auto block = blocks_.find(at_); block != blocks_.end()) {
      b_.CreateBr(block->second);
      b_.SetInsertPoint(block->second);
    }
    BuildInstruction(at_);
  }
  for (auto block = blocks_.lower_bound(at_); block != blocks_.end(); ++block) {
    b_.CreateBr(block->second);
    b_.SetInsertPoint(block->second);
  }
  Leave(false);
}

void FunctionCodegen::Leave(bool exited) {
  if (saved_stack_ != nullptr) b_.CreateStore(b_.CreateLoad(b_.getInt64Ty(), saved_stack_), LocalStack(b_));
  b_.CreateRet(b_.getInt1(exited));
}

llvm::Value* FunctionCodegen::LocalStack(llvm::IRBuilder<>& b) {
  const bool suspendable = module_.suspendable();
  return b.CreateConstGEP1_64(b.getInt8Ty(), function_->getArg(suspendable ? kThreadArgument : kBlockArgument),
                              suspendable ? offsetof(ThreadContext, local_stack) : offsetof(BlockContext, local_stack));
}

void FunctionCodegen::BuildInstruction(uint32_t at) {
  instruction_ = &reached_.body.instructions[at];
  modifiers_ = Modifiers(*instruction_);
  auto handler = Handlers().find(instruction_->opcode);
  if (handler == Handlers().end()) return Unsupported("unknown instruction");
  llvm::BasicBlock* next = nullptr;
  if (instruction_->has_guard) {
    if (instruction_->guard >= registers_.size()) return Malformed("bad guard");
    Value* guard = b_.CreateLoad(registers_[instruction_->guard]->getAllocatedType(), registers_[instruction_->guard]);
    if (!guard->getType()->isIntegerTy(1)) return Malformed("the guard is not a predicate");
    auto* then = NewBlock("guarded");
    next = NewBlock("next");
    if (instruction_->guard_negated) {
      b_.CreateCondBr(guard, next, then);
    } else {
      b_.CreateCondBr(guard, then, next);
    }
    b_.SetInsertPoint(then);
  }
  if (reached_.spin_edges.contains(at)) Yield();
  (this->*handler->second)();
  if (failed()) return;
  if (auto left = modifiers_.Left(); !left.empty()) Unsupported(fmt::format("modifier .{}", left));
  if (next != nullptr) {
    b_.CreateBr(next);
    b_.SetInsertPoint(next);
  }
}

llvm::BasicBlock* FunctionCodegen::NewBlock(const char* name) {
  return llvm::BasicBlock::Create(context_, name, function_);
}

void FunctionCodegen::StartUnreachable() { b_.SetInsertPoint(NewBlock("unreachable")); }

llvm::Value* FunctionCodegen::Field(size_t offset, llvm::Type* type) {
  Value*& field = fields_[offset];
  if (field != nullptr) return field;
  Value* block = function_->getArg(kBlockArgument);
  auto* load = entry_.CreateLoad(type, entry_.CreateConstGEP1_64(entry_.getInt8Ty(), block, offset));
  module_.MarkInvariant(load);
  if (offset == offsetof(BlockContext, parameters)) module_.MarkDereferenceable(load, parameter_bytes_);
  constexpr uint32_t kMaxBlock = 1024, kMaxGrid = 0x7fffffff, kMaxGridYZ = 65535;
  for (size_t d = 0; d < 3; ++d) {
    const uint32_t grid = d == 0 ? kMaxGrid : kMaxGridYZ;
    if (offset == offsetof(BlockContext, block) + 4 * d) module_.MarkRange(load, 1, kMaxBlock + 1);
    if (offset == offsetof(BlockContext, grid) + 4 * d) module_.MarkRange(load, 1, grid + 1);
    if (offset == offsetof(BlockContext, cta) + 4 * d) module_.MarkRange(load, 0, grid);
  }
  return field = load;
}

llvm::Value* FunctionCodegen::ThreadField(size_t offset, llvm::Type* type) {
  Value*& field = thread_fields_[offset];
  if (field != nullptr) return field;
  Value* thread = function_->getArg(kThreadArgument);
  auto* load = entry_.CreateLoad(type, entry_.CreateConstGEP1_64(entry_.getInt8Ty(), thread, offset));
  module_.MarkInvariant(load);
  return field = load;
}

void FunctionCodegen::Unsupported(std::string_view why) {
  if (failed()) return;
  status_ = CudaStatus(CudaError::kUnsupportedPtx, "kernel {}: line {}: `{}` is not supported ({})",
                       module_.program().Kernel().function->name, instruction_->line, instruction_->text, why);
}

void FunctionCodegen::Malformed(std::string_view why) {
  if (failed()) return;
  status_ = CudaStatus(CudaError::kInvalidPtx, "kernel {}: line {}: `{}` is malformed: {}",
                       module_.program().Kernel().function->name, instruction_->line, instruction_->text, why);
}

}  // namespace wharf::device::soft
