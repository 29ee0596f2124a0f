#include "wharf/device/soft/jit/local_frame.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <vector>

#include "wharf/device/soft/codegen/module.h"

namespace wharf::device::soft {
namespace {

using llvm::Value;

struct Variable {
  llvm::AllocaInst* alloca;
  uint64_t offset;
};

bool IsRuntimeCall(const llvm::User* user) {
  auto* call = llvm::dyn_cast<llvm::CallInst>(user);
  return call != nullptr && call->getCalledFunction() != nullptr && call->getCalledFunction()->isDeclaration() &&
         !call->getCalledFunction()->isIntrinsic();
}

// Whether `pointer`, at a constant offset of a variable, is only used to read and write.
bool OnlyAccessed(const Value* pointer, bool* handed_over) {
  for (const llvm::User* user : pointer->users()) {
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
        store != nullptr && store->getPointerOperand() == pointer && store->getValueOperand() != pointer) {
      continue;
    }
    auto* element = llvm::dyn_cast<llvm::GetElementPtrInst>(user);
    if (element != nullptr && element->hasAllConstantIndices() && OnlyAccessed(element, handed_over)) continue;
    if (IsRuntimeCall(user)) {
      *handed_over = true;
      continue;
    }
    auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(user);
    if (llvm::isa<llvm::LoadInst>(user) || (intrinsic != nullptr && intrinsic->isLifetimeStartOrEnd())) continue;
    return false;
  }
  return true;
}

bool IsSlot(const llvm::AllocaInst* alloca) {
  bool handed_over = false;
  return OnlyAccessed(alloca, &handed_over) && handed_over;
}

// Marks of where a variable is in use, which are for the stack.
void EraseMarks(llvm::AllocaInst* alloca) {
  std::vector<llvm::Instruction*> marks;
  for (llvm::User* user : alloca->users()) {
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(user);
    if (call != nullptr && call->isLifetimeStartOrEnd()) marks.push_back(call);
  }
  for (llvm::Instruction* mark : marks) mark->eraseFromParent();
}

class Frame {
 public:
  explicit Frame(Walls& walls) : walls_(walls), function_(*walls.function()) {}

  absl::StatusOr<uint64_t> Run() {
    WHARF_RETURN_IF_ERROR(LayOut());
    if (variables_.empty()) return uint64_t{0};
    if (walls_.block() == nullptr) return CannotConfine(*variables_.front().alloca);
    std::vector<llvm::ReturnInst*> returns;
    for (llvm::Instruction& instruction : llvm::instructions(function_)) {
      if (auto* end = llvm::dyn_cast<llvm::ReturnInst>(&instruction)) returns.push_back(end);
    }
    Open();
    for (llvm::ReturnInst* end : returns) llvm::IRBuilder<>(end).CreateStore(top_, stack_);
    for (const Variable& variable : variables_) {
      EraseMarks(variable.alloca);
      llvm::IRBuilder<> b(base_->getNextNode());
      variable.alloca->replaceAllUsesWith(b.CreateConstGEP1_64(b.getInt8Ty(), base_, variable.offset));
      variable.alloca->eraseFromParent();
    }
    return size_ + alignment_;
  }

 private:
  absl::Status LayOut() {
    const llvm::DataLayout& layout = function_.getParent()->getDataLayout();
    std::vector<llvm::AllocaInst*> slots;
    for (llvm::Instruction& instruction : llvm::instructions(function_)) {
      auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
      if (alloca == nullptr) continue;
      const auto bytes = alloca->getAllocationSize(layout);
      if (!alloca->isStaticAlloca() || !bytes || bytes->isScalable()) return CannotConfine(*alloca);
      if (IsSlot(alloca)) {
        slots.push_back(alloca);
        continue;
      }
      const uint64_t alignment = std::max<uint64_t>(alloca->getAlign().value(), 16);
      alignment_ = std::max(alignment_, alignment);
      size_ = (size_ + alignment - 1) / alignment * alignment;
      variables_.push_back({alloca, size_});
      size_ += bytes->getFixedValue();
      if (size_ >= kAddressSlack / 2) return CannotConfine(*alloca);
    }
    // Slots stay at the very beginning, where their size is part of the frame's.
    for (llvm::AllocaInst* slot : slots) slot->moveBefore(&function_.getEntryBlock().front());
    return absl::OkStatus();
  }

  // Takes the frame from local memory, or traps if it is full.
  void Open() {
    llvm::Instruction* start = walls_.Start();
    while (llvm::isa<llvm::AllocaInst>(start)) start = start->getNextNode();
    llvm::IRBuilder<> b(start);
    const bool own = walls_.thread() != nullptr;
    const auto field = [&](size_t of_thread, size_t of_block) {
      return b.CreateConstGEP1_64(b.getInt8Ty(), own ? walls_.thread() : walls_.block(), own ? of_thread : of_block);
    };
    stack_ = field(offsetof(ThreadContext, local_stack), offsetof(BlockContext, local_stack));
    Value* limit =
        b.CreateLoad(b.getInt64Ty(), field(offsetof(ThreadContext, local_limit), offsetof(BlockContext, local_limit)));
    top_ = b.CreateLoad(b.getInt64Ty(), stack_);
    Value* low = b.CreateAnd(b.CreateSub(top_, b.getInt64(size_)), b.getInt64(~(alignment_ - 1)));
    Value* full = b.CreateOr(b.CreateICmpULT(low, limit), b.CreateICmpUGT(low, top_));
    llvm::Instruction* trap = llvm::SplitBlockAndInsertIfThen(full, start, /*Unreachable=*/true);
    b.SetInsertPoint(trap);
    auto callee = function_.getParent()->getOrInsertFunction("wharf_trap", b.getVoidTy(), b.getPtrTy(), b.getInt32Ty());
    b.CreateCall(callee, {walls_.block(), b.getInt32(static_cast<uint32_t>(TrapKind::kStackOverflow))});
    b.SetInsertPoint(start);
    b.CreateStore(low, stack_);
    base_ = llvm::cast<llvm::Instruction>(walls_.Confine(b, low));
  }

  Walls& walls_;
  llvm::Function& function_;
  std::vector<Variable> variables_;
  uint64_t size_ = 0, alignment_ = 16;
  Value *stack_ = nullptr, *top_ = nullptr;
  llvm::Instruction* base_ = nullptr;
};

}  // namespace

absl::StatusOr<uint64_t> MoveVariables(Walls& walls) { return Frame(walls).Run(); }

}  // namespace wharf::device::soft
