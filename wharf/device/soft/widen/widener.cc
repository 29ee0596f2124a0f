#include "wharf/device/soft/widen/widener.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/VectorUtils.h>

#include "wharf/device/soft/widen/widener_impl.h"

namespace wharf::device::soft {
namespace {

using llvm::Value;

bool IsWideIntrinsic(const llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call != nullptr && llvm::isTriviallyVectorizable(call->getIntrinsicID()) && !call->getType()->isStructTy();
}

bool IsPlainType(const llvm::Type* type) {
  return type->isFloatTy() || type->isDoubleTy() || type->isHalfTy() || type->isPointerTy() || type->isVoidTy() ||
         (type->isIntegerTy() && type->getIntegerBitWidth() <= 64);
}

bool CanWiden(const llvm::Instruction& instruction, const WideForm& form) {
  if (IsIgnored(instruction) || IsPair(&instruction)) return true;
  if (auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(&instruction)) {
    return IsPair(extract->getAggregateOperand());
  }
  if (!IsPlainType(instruction.getType())) return false;
  const ThreadCall call = ThreadCallOf(instruction);
  if (call == ThreadCall::kKeep || call == ThreadCall::kReload) return true;
  if (call != ThreadCall::kNone) return form.warp && IsWarpOperation(call);
  return llvm::isa<llvm::LoadInst, llvm::StoreInst, llvm::BinaryOperator, llvm::UnaryOperator, llvm::CastInst,
                   llvm::CmpInst, llvm::SelectInst, llvm::PHINode, llvm::GetElementPtrInst, llvm::FreezeInst,
                   llvm::BranchInst, llvm::ReturnInst, llvm::UnreachableInst, llvm::FenceInst>(instruction) ||
         IsWideIntrinsic(instruction) || IsForEachLane(instruction);
}

// A value that is the number of lanes of a block, as activemask gives it there.
const llvm::BasicBlock* ActiveMaskBlock(const Value* members) {
  auto* call = llvm::dyn_cast<llvm::CallInst>(members);
  return call != nullptr && ThreadCallOf(*call) == ThreadCall::kActiveMask ? call->getParent() : nullptr;
}

// Whenever a thread is at a warp operation, all that take part are.
bool Meets(const llvm::Instruction& instruction, const Flow& flow) {
  const ThreadCall call = ThreadCallOf(instruction);
  if (IsOfWholeWarp(call)) return flow.Converged(instruction.getParent());
  const std::optional<unsigned> members = MembersOperand(call);
  if (!members) return true;
  const llvm::BasicBlock* active = ActiveMaskBlock(instruction.getOperand(*members));
  if (active != nullptr && flow.Root(active) == flow.Root(instruction.getParent())) return true;
  return flow.Converged(instruction.getParent());
}

bool CanWiden(const llvm::Function& function, const WideForm& form, const llvm::LoopInfo& loops) {
  using Order = llvm::ReversePostOrderTraversal<const llvm::Function*>;
  const Order order(&function);
  if (llvm::containsIrreducibleCFG<const llvm::BasicBlock*, const Order, const llvm::LoopInfo>(order, loops)) {
    return false;
  }
  size_t returns = 0;
  for (const llvm::BasicBlock& block : function) {
    returns += llvm::isa<llvm::ReturnInst>(block.getTerminator()) ? 1 : 0;
    auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
    if (branch != nullptr && branch->isConditional() && branch->getSuccessor(0) == branch->getSuccessor(1))
      return false;
    for (const llvm::Instruction& instruction : block) {
      if (!CanWiden(instruction, form)) return false;
    }
  }
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (!loop->isLoopSimplifyForm()) return false;
  }
  return returns == 1;
}

bool AllMeet(const llvm::Function& function, const Flow& flow) {
  for (const llvm::BasicBlock& block : function) {
    for (const llvm::Instruction& instruction : block) {
      if (!Meets(instruction, flow)) return false;
    }
  }
  return true;
}

}  // namespace

bool IsIgnored(const llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call != nullptr && (call->isLifetimeStartOrEnd() || call->isAssumeLikeIntrinsic());
}

namespace {
// That no other thread of the system could disturb.
bool IsOwnAccess(llvm::AtomicOrdering order, llvm::SyncScope::ID scope, bool is_volatile) {
  return !is_volatile && (order == llvm::AtomicOrdering::NotAtomic ||
                          (order == llvm::AtomicOrdering::Monotonic && scope == llvm::SyncScope::SingleThread));
}
}  // namespace

bool IsForEachLane(const llvm::Instruction& instruction) {
  if (llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst, llvm::MemIntrinsic>(instruction)) return true;
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    return !IsOwnAccess(load->getOrdering(), load->getSyncScopeID(), load->isVolatile());
  }
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    return !IsOwnAccess(store->getOrdering(), store->getSyncScopeID(), store->isVolatile());
  }
  auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  if (call == nullptr || llvm::isa<llvm::IntrinsicInst>(call) || call->getCalledFunction() == nullptr) return false;
  if (ThreadCallOf(instruction) != ThreadCall::kNone || !call->getCalledFunction()->isDeclaration()) return false;
  // The runtime gets the block's context and no other pointer.
  for (const Value* argument : call->args()) {
    auto* block = llvm::dyn_cast<llvm::Argument>(argument);
    if (argument->getType()->isPointerTy() && (block == nullptr || block->getArgNo() != kBlockArgument)) return false;
  }
  return true;
}

bool IsPair(const llvm::Value* value) {
  if (llvm::isa<llvm::AtomicCmpXchgInst>(value)) return true;
  auto* call = llvm::dyn_cast<llvm::CallInst>(value);
  auto* type = llvm::dyn_cast<llvm::StructType>(value->getType());
  return call != nullptr && type != nullptr && type->getNumElements() == 2 && IsPlainType(type->getElementType(0)) &&
         IsPlainType(type->getElementType(1)) && IsForEachLane(*call);
}

// --- values ---

bool Widener::Run() {
  auto* entry = Block::Create(b_.getContext(), "slots", &wide_);
  auto* start = NewBlock("start");
  slots_.SetInsertPoint(entry);
  slots_.SetInsertPoint(slots_.CreateBr(start));
  b_.SetInsertPoint(start);
  mask_type_ = llvm::FixedVectorType::get(b_.getInt1Ty(), lanes_);
  for (Block* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&thread_)) {
    order_.push_back(block);
    const Flow::Coming& coming = flow_.To(block);
    const llvm::Loop* loop = loops_.getLoopFor(block);
    const bool header = loop != nullptr && loop->getHeader() == block;
    if (coming.way == Flow::Way::kOwn) masks_[block] = Slot(mask_type_);
    if (coming.way == Flow::Way::kOnly || (header && flow_.Steady(loop))) flags_[block] = Slot(b_.getInt1Ty());
    if (header) next_[loop] = Slot(flow_.Steady(loop) ? b_.getInt1Ty() : mask_type_);
  }
  MakeArguments();
  b_.CreateStore(ThreadsThatExist(), masks_[&thread_.getEntryBlock()]);
  EmitRegion(nullptr);
  b_.CreateRetVoid();
  return !failed_;
}

llvm::AllocaInst* Widener::Slot(llvm::Type* type) {
  auto* slot = slots_.CreateAlloca(type);
  slots_.CreateStore(llvm::Constant::getNullValue(type), slot);
  return slot;
}

Value* Widener::LaneNumbers(llvm::Type* type) {
  std::vector<llvm::Constant*> lanes;
  for (unsigned i = 0; i < lanes_; ++i) lanes.push_back(llvm::ConstantInt::get(type, i));
  return llvm::ConstantVector::get(lanes);
}

// Threads beyond the block's edge are masked out.
Value* Widener::ThreadsThatExist() {
  if (form_.interior != nullptr || form_.all_exist) return llvm::Constant::getAllOnesValue(mask_type_);
  Value* extent = wide_.getArg(static_cast<unsigned>(wide_.arg_size()) - 1);
  return b_.CreateICmpULT(Vector(thread_.getArg(kTidX)), Splat(extent));
}

void Widener::MakeArguments() {
  for (llvm::Argument& argument : thread_.args()) {
    Wide wide{wide_.getArg(argument.getArgNo()), b_.getTrue(), nullptr};
    if (argument.getArgNo() == kTidX) {
      wide.vector = b_.CreateAdd(Splat(wide.scalar), LaneNumbers(wide.scalar->getType()));
    }
    arguments_[&argument] = wide;
  }
}

Widener::Slots& Widener::SlotsOf(const llvm::Instruction* instruction) {
  auto [found, fresh] = slot_map_.try_emplace(instruction);
  if (!fresh) return found->second;
  const Shape shape = shapes_.Of(instruction);
  if (shape.kind == Shape::kAffine) found->second.scalar = Slot(instruction->getType());
  if (shape.Strided()) found->second.exact = Slot(b_.getInt1Ty());
  if (!shape.Uniform()) found->second.vector = Slot(WideType(instruction->getType()));
  return found->second;
}

Widener::Wide Widener::Get(Value* value) {
  if (llvm::isa<llvm::Constant>(value)) return {value, b_.getTrue(), nullptr};
  if (auto* argument = llvm::dyn_cast<llvm::Argument>(value)) return arguments_.at(argument);
  auto* instruction = llvm::cast<llvm::Instruction>(value);
  if (auto found = local_.find(instruction); found != local_.end()) return found->second;
  Slots& slots = SlotsOf(instruction);
  return local_[instruction] = {Load(slots.scalar), Load(slots.exact), Load(slots.vector)};
}

Value* Widener::Exact(Value* value) {
  Value* exact = Get(value).exact;
  return exact == nullptr ? b_.getTrue() : exact;
}

Value* Widener::Vector(Value* value) {
  Wide wide = Get(value);
  return wide.vector != nullptr ? wide.vector : Splat(wide.scalar);
}

void Widener::Define(const llvm::Instruction* instruction, Wide wide) {
  local_[instruction] = wide;
  const auto in_this_block = [&](const llvm::User* user) {
    return !llvm::isa<llvm::PHINode>(user) &&
           llvm::cast<llvm::Instruction>(user)->getParent() == instruction->getParent();
  };
  if (llvm::all_of(instruction->users(), in_this_block)) return;
  Slots& slots = SlotsOf(instruction);
  if (slots.scalar != nullptr) b_.CreateStore(wide.scalar, slots.scalar);
  if (slots.exact != nullptr) b_.CreateStore(wide.exact, slots.exact);
  if (slots.vector != nullptr) b_.CreateStore(wide.vector, slots.vector);
}

// --- control flow ---

void Widener::ClearMasks(const llvm::Loop* loop) {
  for (Block* block : loop->blocks()) {
    if (block == loop->getHeader()) continue;
    if (auto mask = masks_.find(block); mask != masks_.end()) b_.CreateStore(NoLanes(), mask->second);
    if (auto flag = flags_.find(block); flag != flags_.end()) b_.CreateStore(b_.getFalse(), flag->second);
  }
  llvm::AllocaInst* next = next_.at(loop);
  b_.CreateStore(llvm::Constant::getNullValue(next->getAllocatedType()), next);
}

// The blocks of a loop, or of the function, in an order in which they depend on each other.
void Widener::EmitRegion(llvm::Loop* region) {
  for (Block* block : order_) {
    llvm::Loop* loop = loops_.getLoopFor(block);
    if (loop == region) {
      EmitBlock(block);
    } else if (loop != nullptr && loop->getHeader() == block && loop->getParentLoop() == region) {
      EmitLoop(loop);
    }
  }
}

void Widener::EmitLoop(llvm::Loop* loop) {
  auto* start = NewBlock("round");
  auto* end = NewBlock("left");
  const bool steady = flow_.Steady(loop);
  Block* header = loop->getHeader();
  local_.clear();
  b_.CreateCondBr(steady ? Load(flags_.at(header)) : Any(Load(masks_.at(header))), start, end);
  b_.SetInsertPoint(start);
  ClearMasks(loop);
  EmitRegion(loop);
  Value* next = Load(next_.at(loop));
  if (!steady) b_.CreateStore(next, masks_.at(header));
  b_.CreateCondBr(steady ? next : Any(next), start, end);
  b_.SetInsertPoint(end);
  local_.clear();
}

namespace {
// Blocks that touch memory, or may divide, only run if some thread does.
bool NeedsGuard(const llvm::BasicBlock& block) {
  size_t count = 0;
  for (const llvm::Instruction& instruction : block) {
    if (instruction.mayReadOrWriteMemory() || instruction.isIntDivRem()) return true;
    ++count;
  }
  return count > 16;
}
}  // namespace

void Widener::EmitBlock(Block* block) {
  local_.clear();
  const Flow::Coming& coming = flow_.To(block);
  const bool always = flow_.Always(block);
  mask_ = coming.way == Flow::Way::kOwn ? Load(masks_.at(block)) : mask_of_.at(coming.from);
  here_ = always                           ? b_.getTrue()
          : coming.way == Flow::Way::kOwn  ? Any(mask_)
          : coming.way == Flow::Way::kOnly ? Load(flags_.at(block))
                                           : here_of_.at(coming.from);
  mask_of_[block] = mask_;
  here_of_[block] = here_;
  // Where a branch decides, the mask holds only if somebody is here.
  const bool holds = flow_.Root(block) == block || always || coming.way == Flow::Way::kOwn;
  Block* after = nullptr;
  if (!always && (NeedsGuard(*block) || !holds)) {
    auto* body = NewBlock("some");
    after = NewBlock("none");
    b_.CreateCondBr(here_, body, after);
    b_.SetInsertPoint(body);
    here_ = b_.getTrue();
  }
  for (llvm::Instruction& instruction : *block) {
    if (!instruction.isTerminator() && !llvm::isa<llvm::PHINode>(instruction) && !IsIgnored(instruction)) {
      EmitInstruction(instruction);
    }
  }
  EmitEdges(block);
  if (after != nullptr) {
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }
  local_.clear();
}

void Widener::EmitEdges(Block* block) {
  auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
  if (branch == nullptr) return;
  std::vector<Assignment> assignments;
  if (branch->isUnconditional()) {
    EmitEdge(block, branch->getSuccessor(0), nullptr, &assignments);
  } else {
    const bool uniform = shapes_.Of(branch->getCondition()).Uniform();
    Value* condition = uniform ? Scalar(branch->getCondition()) : Vector(branch->getCondition());
    EmitEdge(block, branch->getSuccessor(0), condition, &assignments);
    EmitEdge(block, branch->getSuccessor(1), b_.CreateNot(condition), &assignments);
  }
  for (const Assignment& assignment : assignments) b_.CreateStore(assignment.value, assignment.to);
}

void Widener::EmitEdge(Block* from, Block* to, Value* condition, std::vector<Assignment>* assignments) {
  const llvm::Loop* loop = loops_.getLoopFor(to);
  const bool header = loop != nullptr && loop->getHeader() == to;
  const bool back = header && loop->contains(from);
  // A select rather than `and`, because the condition of a thread that is not here may be poison.
  Value* mask = condition == nullptr ? mask_ : b_.CreateSelect(condition, mask_, NoLanes());
  if (condition != nullptr && condition->getType()->isVectorTy()) mask = b_.CreateSelect(mask_, condition, NoLanes());
  if ((header && flow_.Steady(loop)) || flow_.To(to).way == Flow::Way::kOnly) {
    Value* goes = condition == nullptr ? here_ : b_.CreateSelect(here_, condition, b_.getFalse());
    assignments->push_back({back ? next_.at(loop) : flags_.at(to), goes});
  } else if (flow_.To(to).way == Flow::Way::kOwn) {
    llvm::AllocaInst* slot = back ? next_.at(loop) : masks_.at(to);
    assignments->push_back({slot, b_.CreateOr(Load(slot), mask)});
  }
  MergePhis(from, to, condition, mask, assignments);
  met_.insert(to);
}

// All threads that are in the loops left leave them by this edge, in the same round.
bool Widener::LeavesAtOnce(const Block* from, const Block* to, const Value* condition) const {
  const llvm::Loop* loop = loops_.getLoopFor(from);
  return (condition == nullptr || !condition->getType()->isVectorTy()) && to->getSinglePredecessor() == from &&
         loop->getParentLoop() == loops_.getLoopFor(to) && flow_.Steady(loop) &&
         flow_.Root(from) == flow_.Root(loop->getHeader());
}

void Widener::MergePhis(Block* from, Block* to, Value* condition, Value* mask, std::vector<Assignment>* assignments) {
  if (to->phis().empty()) return;
  const llvm::Loop *loop = loops_.getLoopFor(to), *left = loops_.getLoopFor(from);
  const bool header = loop != nullptr && loop->getHeader() == to;
  const bool leaves = left != nullptr && !left->contains(to);
  // What other edges assign is assigned after this, and who comes by none of them has no use for the value. Threads
  // that have left a loop in an earlier round have.
  const bool first = !leaves && !met_.contains(to);
  const bool plain = header || first || (leaves && LeavesAtOnce(from, to, condition));
  const bool together = condition == nullptr || !condition->getType()->isVectorTy();
  Value* goes = nullptr;
  auto merge = [&](llvm::AllocaInst* phi, Value* value, bool per_lane) {
    if (phi == nullptr) return;
    if (!plain && per_lane) {
      value = b_.CreateSelect(mask, value, Load(phi));
    } else if (!plain) {
      if (goes == nullptr) {
        goes = !together ? Any(mask) : condition == nullptr ? here_ : b_.CreateSelect(here_, condition, b_.getFalse());
      }
      value = b_.CreateSelect(goes, value, Load(phi));
    }
    assignments->push_back({phi, value});
  };
  // Threads that come to the block all come by this edge, if any does.
  const bool whole = together && !leaves && flow_.Root(from) == flow_.Root(to);
  for (llvm::PHINode& phi : to->phis()) {
    Value* incoming = phi.getIncomingValueForBlock(from);
    Slots& slots = SlotsOf(&phi);
    if (slots.scalar != nullptr) merge(slots.scalar, Scalar(incoming), false);
    if (slots.exact != nullptr) merge(slots.exact, Exact(incoming), false);
    if (slots.vector != nullptr) merge(slots.vector, Vector(incoming), !whole);
  }
}

// --- the function ---

Neighbours GroupOf(const WideForm& form) {
  return {.lane = kTidX, .varying = {}, .lanes = form.lanes, .warp = form.warp};
}

llvm::Function* MakeWide(llvm::Function& thread, const WideForm& form, llvm::LoopInfo& loops,
                         const llvm::DominatorTree& tree, const ShapeAnalysis& shapes) {
  if (!CanWiden(thread, form, loops)) return nullptr;
  const Flow flow(thread, loops, tree, shapes);
  if (!AllMeet(thread, flow)) return nullptr;
  llvm::LLVMContext& context = thread.getContext();
  std::vector<llvm::Type*> types(thread.getFunctionType()->params());
  types.push_back(llvm::Type::getInt32Ty(context));
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false);
  auto* wide = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "wide", thread.getParent());
  wide->addFnAttrs(llvm::AttrBuilder(context, thread.getAttributes().getFnAttrs()));
  wide->removeFnAttr(llvm::Attribute::NoInline);
  wide->addFnAttr(llvm::Attribute::AlwaysInline);
  wide->addDereferenceableParamAttr(kBlockArgument, sizeof(BlockContext));
  wide->addParamAttr(kBlockArgument, llvm::Attribute::getWithAlignment(context, llvm::Align(8)));
  wide->addParamAttr(kBlockArgument, llvm::Attribute::get(context, kBlockAttribute));
  if (Widener(thread, *wide, form, loops, shapes, flow).Run()) return wide;
  wide->eraseFromParent();
  return nullptr;
}

}  // namespace wharf::device::soft
