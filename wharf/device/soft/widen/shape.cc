#include "wharf/device/soft/widen/shape.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/KnownBits.h>
#include <llvm/Support/MathExtras.h>

#include "wharf/device/soft/widen/thread_calls.h"

namespace wharf::device::soft {
namespace {

constexpr Shape kUniform{Shape::kAffine, 0};
constexpr Shape kVarying{Shape::kVarying, 0};
constexpr int64_t kMaxStride = int64_t{1} << 24;

Shape Affine(int64_t stride) {
  return stride > kMaxStride || stride < -kMaxStride ? kVarying : Shape{Shape::kAffine, stride};
}

Shape Join(Shape a, Shape b) {
  if (a.kind == Shape::kUnknown) return b;
  if (b.kind == Shape::kUnknown) return a;
  return a == b ? a : kVarying;
}

}  // namespace

ShapeAnalysis::ShapeAnalysis(llvm::Function& function, Neighbours neighbours, const llvm::LoopInfo& loops,
                             const llvm::DominatorTree& tree)
    : layout_(function.getParent()->getDataLayout()),
      neighbours_(std::move(neighbours)),
      loops_(loops),
      tree_(tree),
      after_(function) {
  for (llvm::Argument& argument : function.args()) {
    shapes_[&argument] = argument.getArgNo() == neighbours_.lane ? Affine(1) : kUniform;
  }
  for (const unsigned argument : neighbours_.varying) shapes_[function.getArg(argument)] = kVarying;
  for (const llvm::BasicBlock& block : function) numbers_.try_emplace(&block, static_cast<unsigned>(numbers_.size()));
  // Shapes only ever move up: unknown, affine, varying.
  llvm::ReversePostOrderTraversal<llvm::Function*> order(&function);
  for (bool changed = true; changed;) {
    changed = false;
    for (llvm::BasicBlock* block : order) {
      if (!block->phis().empty() && !joins_.contains(block) && JoinsDivergence(block)) joins_.insert(block);
      for (llvm::Instruction& instruction : *block) {
        const Shape before = Of(&instruction);
        const Shape after = Join(before, Transfer(instruction));
        if (after == before) continue;
        shapes_[&instruction] = after;
        changed = true;
      }
    }
  }
}

Shape ShapeAnalysis::Of(const llvm::Value* value) const {
  if (llvm::isa<llvm::Constant>(value)) return kUniform;
  return shapes_.lookup(value);
}

bool ShapeAnalysis::Diverges(const llvm::BasicBlock* block) const {
  auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
  return branch != nullptr && branch->isConditional() && Of(branch->getCondition()).kind != Shape::kUnknown &&
         !Of(branch->getCondition()).Uniform();
}

bool ShapeAnalysis::Diverges(const llvm::Loop* loop) const {
  llvm::SmallVector<llvm::BasicBlock*, 4> exits;
  loop->getExitBlocks(exits);
  for (const llvm::BasicBlock* block : loop->blocks()) {
    if (!Diverges(block)) continue;
    const auto apart = [&](const llvm::BasicBlock* at) { return Apart(block).test(numbers_.lookup(at)); };
    if (llvm::any_of(exits, apart)) return true;
    // Some are in another round before the others come.
    if (apart(loop->getHeader()) && Meeting(block) != loop->getHeader()) return true;
  }
  return false;
}

const llvm::BasicBlock* ShapeAnalysis::Meeting(const llvm::BasicBlock* block) const {
  const auto* node = after_.getNode(block);
  return node == nullptr || node->getIDom() == nullptr ? nullptr : node->getIDom()->getBlock();
}

const llvm::BitVector& ShapeAnalysis::Apart(const llvm::BasicBlock* block) const {
  llvm::BitVector& apart = apart_[block];
  if (!apart.empty()) return apart;
  apart.resize(static_cast<unsigned>(numbers_.size()));
  const llvm::BasicBlock* meeting = Meeting(block);
  llvm::SmallVector<const llvm::BasicBlock*, 16> open(llvm::succ_begin(block), llvm::succ_end(block));
  while (!open.empty()) {
    const llvm::BasicBlock* at = open.pop_back_val();
    const unsigned number = numbers_.lookup(at);
    if (apart.test(number)) continue;
    apart.set(number);
    if (at != meeting) open.append(llvm::succ_begin(at), llvm::succ_end(at));
  }
  return apart;
}

// True if threads may come to `block` by different ways. To the next round of a loop they come together.
bool ShapeAnalysis::JoinsDivergence(const llvm::BasicBlock* block) const {
  if (loops_.isLoopHeader(block)) return false;
  for (const llvm::BasicBlock* from : llvm::predecessors(block)) {
    // Out of a loop that threads leave in different rounds.
    for (const llvm::Loop* loop = loops_.getLoopFor(from); loop != nullptr && !loop->contains(block);
         loop = loop->getParentLoop()) {
      if (Diverges(loop)) return true;
    }
  }
  const auto* node = tree_.getNode(block);
  if (node == nullptr || node->getIDom() == nullptr) return false;
  const llvm::BasicBlock* dominator = node->getIDom()->getBlock();
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> seen;
  llvm::SmallVector<const llvm::BasicBlock*, 16> open(llvm::pred_begin(block), llvm::pred_end(block));
  while (!open.empty()) {
    const llvm::BasicBlock* from = open.pop_back_val();
    if (!tree_.isReachableFromEntry(from) || !seen.insert(from).second) continue;
    if (Diverges(from) && Apart(from).test(numbers_.lookup(block))) return true;
    if (from != dominator) open.append(llvm::pred_begin(from), llvm::pred_end(from));
  }
  return false;
}

Shape ShapeAnalysis::OfPhi(const llvm::PHINode& phi) const {
  if (joins_.contains(phi.getParent())) return kVarying;
  Shape shape;
  for (const llvm::Value* incoming : phi.incoming_values()) shape = Join(shape, Of(incoming));
  return shape;
}

bool ShapeAnalysis::StartsAligned(const llvm::Value* value) const {
  if (neighbours_.lanes == 1) return false;
  if (auto* argument = llvm::dyn_cast<llvm::Argument>(value)) return argument->getArgNo() == neighbours_.lane;
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || Of(value) != Affine(1)) return false;
  if (llvm::isa<llvm::SExtInst, llvm::ZExtInst, llvm::TruncInst, llvm::FreezeInst>(instruction)) {
    return StartsAligned(instruction->getOperand(0));
  }
  const unsigned opcode = instruction->getOpcode();
  const llvm::Value *a = instruction->getOperand(0),
                    *b = instruction->getNumOperands() > 1 ? instruction->getOperand(1) : nullptr;
  const unsigned bits = llvm::Log2_32(neighbours_.lanes);
  if (opcode == llvm::Instruction::Add || opcode == llvm::Instruction::Or) {
    if (Of(a).Uniform()) std::swap(a, b);
    return Of(b).Uniform() && llvm::computeKnownBits(b, layout_).countMinTrailingZeros() >= bits && StartsAligned(a);
  }
  return opcode == llvm::Instruction::And && StartsAligned(a);  // which keeps the low bits, or it were not affine
}

Shape ShapeAnalysis::OfCompare(const llvm::ICmpInst& compare) const {
  auto* constant = llvm::dyn_cast<llvm::ConstantInt>(compare.getOperand(1));
  if (constant == nullptr || !StartsAligned(compare.getOperand(0))) return kVarying;
  // No multiple of `lanes` lies between two of the lanes.
  llvm::APInt bound = constant->getValue();
  switch (compare.getPredicate()) {
    case llvm::CmpInst::ICMP_ULE:
    case llvm::CmpInst::ICMP_UGT:
    case llvm::CmpInst::ICMP_SLE:
    case llvm::CmpInst::ICMP_SGT:
      ++bound;
      break;
    case llvm::CmpInst::ICMP_EQ:
    case llvm::CmpInst::ICMP_NE:
      return kVarying;
    default:
      break;
  }
  return bound.countTrailingZeros() >= llvm::Log2_32(neighbours_.lanes) ? kUniform : kVarying;
}

Shape ShapeAnalysis::OfCall(const llvm::CallInst& call) const {
  const ThreadCall kind = ThreadCallOf(call);
  if (kind == ThreadCall::kReload) {
    return Affine(llvm::cast<llvm::ConstantInt>(call.getArgOperand(kReloadStride))->getSExtValue());
  }
  if (kind == ThreadCall::kReduced) return kUniform;
  if (!neighbours_.warp) return kVarying;
  if (kind == ThreadCall::kActiveMask) return kUniform;
  if (kind != ThreadCall::kVote && kind != ThreadCall::kRedux) return kVarying;
  const Shape members = Of(call.getArgOperand(*MembersOperand(kind)));
  return members.kind == Shape::kUnknown || members.Uniform() ? members : kVarying;
}

Shape ShapeAnalysis::OfBinary(const llvm::BinaryOperator& operation) const {
  const Shape a = Of(operation.getOperand(0)), b = Of(operation.getOperand(1));
  if (a.kind == Shape::kUnknown || b.kind == Shape::kUnknown) return {};
  if (a.Uniform() && b.Uniform()) return kUniform;
  if (a.kind == Shape::kVarying || b.kind == Shape::kVarying) return kVarying;
  auto* constant = llvm::dyn_cast<llvm::ConstantInt>(operation.getOperand(1));
  const uint64_t low = neighbours_.lanes - 1;
  if (constant != nullptr && constant->getBitWidth() <= 64 && StartsAligned(operation.getOperand(0))) {
    if (operation.getOpcode() == llvm::Instruction::And) {
      const uint64_t kept = constant->getZExtValue() & low;
      if (kept == 0) return kUniform;
      if (kept == low) return a;
    }
    const bool shift =
        operation.getOpcode() == llvm::Instruction::LShr || operation.getOpcode() == llvm::Instruction::AShr;
    if (shift && constant->getValue().uge(llvm::Log2_32(neighbours_.lanes))) return kUniform;
  }
  const bool small = constant != nullptr && constant->getValue().getMinSignedBits() <= 24;
  switch (operation.getOpcode()) {
    case llvm::Instruction::Add:
      return Affine(a.stride + b.stride);
    case llvm::Instruction::Sub:
      return Affine(a.stride - b.stride);
    case llvm::Instruction::Or:  // an addition if no bit is in both
      return llvm::haveNoCommonBitsSet(operation.getOperand(0), operation.getOperand(1), layout_)
                 ? Affine(a.stride + b.stride)
                 : kVarying;
    case llvm::Instruction::Mul:
      return small ? Affine(a.stride * constant->getSExtValue()) : kVarying;
    case llvm::Instruction::Shl:
      return small && constant->getValue().ult(24) ? Affine(a.stride << constant->getZExtValue()) : kVarying;
    default:
      return kVarying;
  }
}

Shape ShapeAnalysis::OfAddress(const llvm::GetElementPtrInst& address) const {
  bool uniform = true;
  for (const llvm::Value* operand : address.operands()) {
    if (Of(operand).kind == Shape::kUnknown) return {};
    uniform &= Of(operand).Uniform();
  }
  if (uniform) return kUniform;
  if (address.getNumIndices() != 1) return kVarying;
  const Shape base = Of(address.getPointerOperand()), index = Of(*address.idx_begin());
  if (base.kind == Shape::kVarying || index.kind == Shape::kVarying) return kVarying;
  const auto size = static_cast<int64_t>(layout_.getTypeAllocSize(address.getSourceElementType()).getFixedValue());
  if (size > kMaxStride) return kVarying;
  return Affine(base.stride + index.stride * size);
}

Shape ShapeAnalysis::Transfer(const llvm::Instruction& instruction) const {
  if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) return OfPhi(*phi);
  if (auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction)) return OfBinary(*operation);
  if (auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) return OfAddress(*address);
  if (instruction.isTerminator()) return kUniform;
  if (llvm::isa<llvm::AllocaInst>(instruction)) return kVarying;  // each thread has its own
  if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      call != nullptr && !llvm::isa<llvm::IntrinsicInst>(call)) {
    return OfCall(*call);
  }
  // Each thread does it by itself.
  if (instruction.isAtomic() || instruction.isVolatile()) return kVarying;
  bool uniform = true;
  for (const llvm::Value* operand : instruction.operands()) {
    if (llvm::isa<llvm::Function>(operand)) continue;
    if (Of(operand).kind == Shape::kUnknown) return {};
    uniform &= Of(operand).Uniform();
  }
  if (uniform) return kUniform;
  if (llvm::isa<llvm::FreezeInst>(instruction)) return Of(instruction.getOperand(0));
  if (auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&instruction)) return OfCompare(*compare);
  switch (instruction.getOpcode()) {
    case llvm::Instruction::SExt:
    case llvm::Instruction::ZExt:
      // Of a predicate there is no such thing as a stride.
      return instruction.getOperand(0)->getType()->isIntegerTy(1) ? kVarying : Of(instruction.getOperand(0));
    case llvm::Instruction::Trunc:
      return instruction.getType()->getScalarSizeInBits() < 32 ? kVarying : Of(instruction.getOperand(0));
    case llvm::Instruction::PtrToInt:
    case llvm::Instruction::IntToPtr:
      return Of(instruction.getOperand(0));
    case llvm::Instruction::Select: {
      if (!Of(instruction.getOperand(0)).Uniform()) return kVarying;
      return Join(Of(instruction.getOperand(1)), Of(instruction.getOperand(2)));
    }
    default:
      return kVarying;
  }
}

}  // namespace wharf::device::soft
