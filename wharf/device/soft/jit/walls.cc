#include "wharf/device/soft/jit/walls.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <string>

#include "wharf/device/soft/codegen/module.h"

namespace wharf::device::soft {

using llvm::Value;

absl::Status CannotConfine(const Value& what) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  what.print(stream);
  return Internal("generated code cannot be confined: {}", stream.str());
}

Walls::Walls(llvm::Function* function) : function_(function) {
  for (llvm::Argument& argument : function->args()) {
    const llvm::AttributeSet attributes = function->getAttributes().getParamAttrs(argument.getArgNo());
    if (attributes.hasAttribute(kBlockAttribute)) block_ = &argument;
    if (attributes.hasAttribute(kThreadAttribute)) thread_ = &argument;
  }
  llvm::IRBuilder<> b(&function->getEntryBlock().front());
  const auto field = [&b](Value* context, size_t offset, llvm::Type* type) {
    auto* load = b.CreateLoad(type, b.CreateConstGEP1_64(b.getInt8Ty(), context, offset));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
    return load;
  };
  if (block_ == nullptr && thread_ != nullptr) {
    block_ = field(thread_, offsetof(ThreadContext, block), b.getPtrTy());
  }
  if (block_ == nullptr) return;
  memory_ = field(block_, offsetof(BlockContext, memory), b.getPtrTy());
  span_ = field(block_, offsetof(BlockContext, memory_span), b.getInt64Ty());
  begin_ = llvm::cast<llvm::Instruction>(b.CreatePtrToInt(memory_, b.getInt64Ty()));
}

Place Walls::PlaceOf(const Value* pointer) const {
  if (pointer == block_) return Place::kBlock;
  if (pointer == thread_) return Place::kThread;
  if (confined_.contains(pointer)) return Place::kConfined;
  if (llvm::isa<llvm::AllocaInst>(pointer)) return Place::kSlot;
  // The device's own variables.
  if (llvm::isa<llvm::GlobalVariable>(pointer)) {
    return pointer->getName().startswith(kVariablePrefix) ? Place::kConfined : Place::kElsewhere;
  }
  auto* load = llvm::dyn_cast<llvm::LoadInst>(pointer);
  if (load == nullptr || !load->getType()->isPointerTy()) return Place::kElsewhere;
  llvm::APInt offset(64, 0);
  const Value* from = load->getPointerOperand()->stripAndAccumulateConstantOffsets(
      function_->getParent()->getDataLayout(), offset, /*AllowNonInbounds=*/true);
  const Place place = PlaceOf(from);
  if (place == Place::kThread && offset == offsetof(ThreadContext, block)) return Place::kBlock;
  const bool window = offset == offsetof(BlockContext, shared) || offset == offsetof(BlockContext, parameters);
  return place == Place::kBlock && window ? Place::kConfined : Place::kElsewhere;
}

Value* Walls::Confine(llvm::IRBuilder<>& b, Value* address) {
  Value *begin = begin_, *span = span_;
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(address->getType())) {
    begin = b.CreateVectorSplat(vector->getNumElements(), begin);
    span = b.CreateVectorSplat(vector->getNumElements(), span);
  }
  if (address->getType()->isPtrOrPtrVectorTy()) address = b.CreatePtrToInt(address, begin->getType());
  Value* offset = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b.CreateSub(address, begin), span);
  Value* confined = b.CreateGEP(b.getInt8Ty(), memory_, offset);
  confined_.insert(confined);
  return confined;
}

llvm::Instruction* Walls::After(Value* value) const {
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr) return Start();
  if (llvm::isa<llvm::PHINode>(instruction)) return &*instruction->getParent()->getFirstInsertionPt();
  return instruction->getNextNode();
}

Value* Walls::ConfineAtDefinition(Value* address) {
  Value*& confined = at_definition_[address];
  if (confined != nullptr) return confined;
  llvm::IRBuilder<> b(After(address));
  return confined = Confine(b, address);
}

}  // namespace wharf::device::soft
