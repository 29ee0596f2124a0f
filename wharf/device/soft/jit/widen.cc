#include "wharf/device/soft/jit/widen.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>

#include <map>
#include <set>
#include <vector>

#include "wharf/device/soft/codegen/module.h"
#include "wharf/device/soft/jit/confine.h"
#include "wharf/device/soft/jit/interior.h"
#include "wharf/device/soft/jit/shape.h"

namespace wharf::device::soft {
namespace {

using llvm::Value;

bool IsWideIntrinsic(const llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call != nullptr && llvm::isTriviallyVectorizable(call->getIntrinsicID()) && !call->getType()->isStructTy();
}

bool IsIgnored(const llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call != nullptr && (call->isLifetimeStartOrEnd() || call->isAssumeLikeIntrinsic());
}

bool IsPlainType(const llvm::Type* type) {
  return type->isFloatTy() || type->isDoubleTy() || type->isHalfTy() || type->isPointerTy() || type->isVoidTy() ||
         (type->isIntegerTy() && type->getIntegerBitWidth() <= 64);
}

bool CanWiden(const llvm::Instruction& instruction) {
  if (IsIgnored(instruction)) return true;
  if (!IsPlainType(instruction.getType())) return false;
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return load->isSimple();
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) return store->isSimple();
  return llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator, llvm::CastInst, llvm::CmpInst, llvm::SelectInst,
                   llvm::PHINode, llvm::GetElementPtrInst, llvm::FreezeInst, llvm::BranchInst, llvm::ReturnInst>(
             instruction) ||
         IsWideIntrinsic(instruction);
}

bool CanWiden(const llvm::Function& function, const llvm::LoopInfo& loops) {
  using Order = llvm::ReversePostOrderTraversal<const llvm::Function*>;
  const Order order(&function);
  if (llvm::containsIrreducibleCFG<const llvm::BasicBlock*, const Order, const llvm::LoopInfo>(order, loops)) {
    return false;
  }
  size_t returns = 0;
  for (const llvm::BasicBlock& block : function) {
    returns += llvm::isa<llvm::ReturnInst>(block.getTerminator()) ? 1 : 0;
    for (const llvm::Instruction& instruction : block) {
      if (!CanWiden(instruction)) return false;
    }
  }
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (!loop->isLoopSimplifyForm()) return false;
  }
  return returns == 1;
}

// A value of the thread function in the wide function. `scalar` is the value, of a uniform one, or that of the first
// lane, of a strided one; `exact` says, of a strided one, that no lane has wrapped: then the lanes follow from the
// first. `vector` is there for all but uniform values.
struct Wide {
  Value* scalar = nullptr;
  Value* exact = nullptr;
  Value* vector = nullptr;
};

class Widener {
 public:
  // `interior` if `thread` is one's, else null.
  Widener(llvm::Function& thread, llvm::Function& wide, unsigned lanes, const Interior* interior, llvm::LoopInfo& loops,
          const ShapeAnalysis& shapes)
      : thread_(thread),
        wide_(wide),
        lanes_(lanes),
        interior_(interior),
        loops_(loops),
        shapes_(shapes),
        b_(thread.getContext()),
        slots_(thread.getContext()) {}

  void Run() {
    auto* entry = llvm::BasicBlock::Create(b_.getContext(), "slots", &wide_);
    auto* start = NewBlock("start");
    slots_.SetInsertPoint(entry);
    slots_.SetInsertPoint(slots_.CreateBr(start));
    b_.SetInsertPoint(start);
    mask_type_ = llvm::FixedVectorType::get(b_.getInt1Ty(), lanes_);
    for (llvm::BasicBlock& block : thread_) masks_[&block] = Slot(mask_type_);
    for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&thread_)) order_.push_back(block);
    MakeArguments();
    b_.CreateStore(ThreadsThatExist(), masks_[&thread_.getEntryBlock()]);
    EmitRegion(nullptr);
    b_.CreateRetVoid();
  }

 private:
  // --- values ---
  struct Slots {
    llvm::AllocaInst *scalar = nullptr, *exact = nullptr, *vector = nullptr;
  };

  llvm::AllocaInst* Slot(llvm::Type* type) {
    auto* slot = slots_.CreateAlloca(type);
    slots_.CreateStore(llvm::Constant::getNullValue(type), slot);
    return slot;
  }

  llvm::Type* WideType(llvm::Type* type) const { return llvm::FixedVectorType::get(type, lanes_); }
  llvm::BasicBlock* NewBlock(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, &wide_); }
  Value* Splat(Value* scalar) { return b_.CreateVectorSplat(lanes_, scalar); }
  // Threads beyond the block's edge are masked out.
  Value* ThreadsThatExist() {
    if (interior_ != nullptr) return llvm::Constant::getAllOnesValue(mask_type_);
    return b_.CreateICmpULT(Vector(thread_.getArg(kTidX)), Splat(wide_.getArg(kThreadArgument + 1)));
  }
  Value* NoLanes() const { return llvm::Constant::getNullValue(mask_type_); }
  Value* Any(Value* mask) {
    auto* bits = b_.getIntNTy(lanes_);
    return b_.CreateICmpNE(b_.CreateBitCast(mask, bits), llvm::ConstantInt::get(bits, 0));
  }

  void MakeArguments() {
    for (llvm::Argument& argument : thread_.args()) {
      Wide wide{wide_.getArg(argument.getArgNo()), b_.getTrue(), nullptr};
      if (argument.getArgNo() == kTidX) {
        std::vector<uint32_t> lane(lanes_);
        for (unsigned i = 0; i < lanes_; ++i) lane[i] = i;
        wide.vector = b_.CreateAdd(Splat(wide.scalar), llvm::ConstantDataVector::get(b_.getContext(), lane));
      }
      arguments_[&argument] = wide;
    }
  }

  Slots& SlotsOf(const llvm::Instruction* instruction) {
    auto [found, fresh] = slot_map_.try_emplace(instruction);
    if (!fresh) return found->second;
    const Shape shape = shapes_.Of(instruction);
    if (shape.kind == Shape::kAffine) found->second.scalar = Slot(instruction->getType());
    if (shape.Strided()) found->second.exact = Slot(b_.getInt1Ty());
    if (!shape.Uniform()) found->second.vector = Slot(WideType(instruction->getType()));
    return found->second;
  }

  Value* Load(llvm::AllocaInst* slot) {
    return slot == nullptr ? nullptr : b_.CreateLoad(slot->getAllocatedType(), slot);
  }

  Wide Get(Value* value) {
    if (llvm::isa<llvm::Constant>(value)) return {value, b_.getTrue(), nullptr};
    if (auto* argument = llvm::dyn_cast<llvm::Argument>(value)) return arguments_.at(argument);
    auto* instruction = llvm::cast<llvm::Instruction>(value);
    if (auto found = local_.find(instruction); found != local_.end()) return found->second;
    Slots& slots = SlotsOf(instruction);
    return local_[instruction] = {Load(slots.scalar), Load(slots.exact), Load(slots.vector)};
  }
  Value* Scalar(Value* value) { return Get(value).scalar; }
  Value* Exact(Value* value) {
    Value* exact = Get(value).exact;
    return exact == nullptr ? b_.getTrue() : exact;
  }
  Value* Vector(Value* value) {
    Wide wide = Get(value);
    return wide.vector != nullptr ? wide.vector : Splat(wide.scalar);
  }

  void Define(const llvm::Instruction* instruction, Wide wide) {
    Slots& slots = SlotsOf(instruction);
    if (slots.scalar != nullptr) b_.CreateStore(wide.scalar, slots.scalar);
    if (slots.exact != nullptr) b_.CreateStore(wide.exact, slots.exact);
    if (slots.vector != nullptr) b_.CreateStore(wide.vector, slots.vector);
    local_[instruction] = wide;
  }

  // --- control flow ---
  void ClearMasks(const llvm::Loop* loop) {
    for (llvm::BasicBlock* block : loop->blocks()) {
      if (block != loop->getHeader()) b_.CreateStore(NoLanes(), masks_[block]);
    }
    b_.CreateStore(NoLanes(), next_[loop]);
  }

  // The blocks of a loop, or of the function, in an order in which they depend on each other.
  void EmitRegion(llvm::Loop* region) {
    for (llvm::BasicBlock* block : order_) {
      llvm::Loop* loop = loops_.getLoopFor(block);
      if (loop == region) {
        EmitBlock(block);
      } else if (loop != nullptr && loop->getHeader() == block && loop->getParentLoop() == region) {
        EmitLoop(loop);
      }
    }
  }

  void EmitLoop(llvm::Loop* loop) {
    auto* start = NewBlock("round");
    auto* end = NewBlock("left");
    next_[loop] = Slot(mask_type_);
    local_.clear();
    b_.CreateCondBr(Any(Load(masks_[loop->getHeader()])), start, end);
    b_.SetInsertPoint(start);
    ClearMasks(loop);
    EmitRegion(loop);
    Value* next = Load(next_[loop]);
    b_.CreateStore(next, masks_[loop->getHeader()]);
    b_.CreateCondBr(Any(next), start, end);
    b_.SetInsertPoint(end);
    local_.clear();
  }

  // Blocks that touch memory, or may divide, only run if some thread does.
  static bool NeedsGuard(const llvm::BasicBlock& block) {
    size_t count = 0;
    for (const llvm::Instruction& instruction : block) {
      if (instruction.mayReadOrWriteMemory() || instruction.isIntDivRem()) return true;
      ++count;
    }
    return count > 16;
  }

  void EmitBlock(llvm::BasicBlock* block) {
    local_.clear();
    mask_ = Load(masks_[block]);
    llvm::Loop* loop = loops_.getLoopFor(block);
    const bool entered = block == &thread_.getEntryBlock() || (loop != nullptr && loop->getHeader() == block);
    llvm::BasicBlock* after = nullptr;
    if (!entered && NeedsGuard(*block)) {
      auto* body = NewBlock("some");
      after = NewBlock("none");
      b_.CreateCondBr(Any(mask_), body, after);
      b_.SetInsertPoint(body);
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

  void EmitEdges(llvm::BasicBlock* block) {
    auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
    if (branch == nullptr) return;
    if (branch->isUnconditional()) return EmitEdge(block, branch->getSuccessor(0), mask_);
    // A select rather than `and`, because the condition of a thread that is not here may be poison.
    Value* condition = Vector(branch->getCondition());
    EmitEdge(block, branch->getSuccessor(0), b_.CreateSelect(mask_, condition, NoLanes()));
    EmitEdge(block, branch->getSuccessor(1), b_.CreateSelect(mask_, b_.CreateNot(condition), NoLanes()));
  }

  void EmitEdge(llvm::BasicBlock* from, llvm::BasicBlock* to, Value* mask) {
    llvm::Loop* loop = loops_.getLoopFor(to);
    const bool header = loop != nullptr && loop->getHeader() == to;
    llvm::AllocaInst* slot = header && loop->contains(from) ? next_.at(loop) : masks_.at(to);
    b_.CreateStore(b_.CreateOr(Load(slot), mask), slot);
    std::vector<std::pair<llvm::AllocaInst*, Value*>> stores;  // after all reads: phis change together
    Value* any = nullptr;
    auto merge = [&](llvm::AllocaInst* phi, Value* value, bool per_lane) {
      if (phi == nullptr) return;
      if (!header) {
        if (!per_lane && any == nullptr) any = Any(mask);
        value = b_.CreateSelect(per_lane ? mask : any, value, Load(phi));
      }
      stores.emplace_back(phi, value);
    };
    for (llvm::PHINode& phi : to->phis()) {
      Value* incoming = phi.getIncomingValueForBlock(from);
      Slots& slots = SlotsOf(&phi);
      if (slots.scalar != nullptr) merge(slots.scalar, Scalar(incoming), false);
      if (slots.exact != nullptr) merge(slots.exact, Exact(incoming), false);
      if (slots.vector != nullptr) merge(slots.vector, Vector(incoming), true);
    }
    for (auto [phi, value] : stores) b_.CreateStore(value, phi);
  }

  // --- instructions ---
  void EmitInstruction(llvm::Instruction& instruction) {
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) return EmitStore(*store);
    const Shape shape = shapes_.Of(&instruction);
    if (shape.Uniform()) return Define(&instruction, {CloneScalar(instruction), b_.getTrue(), nullptr});
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return EmitLoad(*load);
    Wide wide;
    wide.vector = EmitVector(instruction);
    if (shape.Strided()) {
      wide.scalar = CloneScalar(instruction);
      wide.exact = EmitExact(instruction);
    }
    Define(&instruction, wide);
  }

  Value* CloneScalar(const llvm::Instruction& instruction) {
    llvm::Instruction* clone = instruction.clone();
    for (llvm::Use& use : clone->operands()) {
      if (!llvm::isa<llvm::Function>(use.get())) use.set(Scalar(use.get()));
    }
    clone->dropPoisonGeneratingFlags();  // the first lane may be of a thread that is not here
    return b_.Insert(clone);
  }

  // No wrapping between the first and the last lane of what an extension widens.
  Value* EmitExact(const llvm::Instruction& instruction) {
    Value* exact = b_.getTrue();
    for (Value* operand : instruction.operands()) {
      if (!llvm::isa<llvm::Function>(operand)) exact = b_.CreateAnd(exact, Exact(operand));
    }
    if (!llvm::isa<llvm::SExtInst, llvm::ZExtInst>(instruction)) return exact;
    const bool sign = llvm::isa<llvm::SExtInst>(instruction);
    if (interior_ != nullptr && interior_->steady.contains({instruction.getOperand(0), sign})) return exact;
    const int64_t span = shapes_.Of(instruction.getOperand(0)).stride * static_cast<int64_t>(lanes_ - 1);
    return b_.CreateAnd(exact, StaysInType(b_, Scalar(instruction.getOperand(0)), span, sign));
  }

  Value* EmitVector(llvm::Instruction& i) {
    if (auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&i)) {
      Value* divisor = Vector(i.getOperand(1));
      // What a thread that is not here divides by may be zero.
      if (i.isIntDivRem()) divisor = b_.CreateSelect(mask_, divisor, llvm::ConstantInt::get(divisor->getType(), 1));
      return b_.CreateBinOp(operation->getOpcode(), Vector(i.getOperand(0)), divisor);
    }
    if (auto* cast = llvm::dyn_cast<llvm::CastInst>(&i)) {
      return b_.CreateCast(cast->getOpcode(), Vector(i.getOperand(0)), WideType(i.getType()));
    }
    if (auto* compare = llvm::dyn_cast<llvm::CmpInst>(&i)) {
      return b_.CreateCmp(compare->getPredicate(), Vector(i.getOperand(0)), Vector(i.getOperand(1)));
    }
    if (llvm::isa<llvm::SelectInst>(i)) {
      return b_.CreateSelect(Vector(i.getOperand(0)), Vector(i.getOperand(1)), Vector(i.getOperand(2)));
    }
    if (auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&i)) {
      std::vector<Value*> indices;
      for (Value* index : address->indices()) {
        indices.push_back(llvm::isa<llvm::Constant>(index) ? index : Vector(index));
      }
      Value* base = address->getPointerOperand();
      base = shapes_.Of(base).Uniform() ? Scalar(base) : Vector(base);
      return b_.CreateGEP(address->getSourceElementType(), base, indices);
    }
    if (llvm::isa<llvm::FreezeInst>(i)) return b_.CreateFreeze(Vector(i.getOperand(0)));
    if (i.getOpcode() == llvm::Instruction::FNeg) return b_.CreateFNeg(Vector(i.getOperand(0)));
    return EmitIntrinsic(llvm::cast<llvm::IntrinsicInst>(i));
  }

  Value* EmitIntrinsic(llvm::IntrinsicInst& call) {
    const llvm::Intrinsic::ID id = call.getIntrinsicID();
    std::vector<llvm::Type*> types = {WideType(call.getType())};
    std::vector<Value*> arguments;
    for (unsigned a = 0; a < call.arg_size(); ++a) {
      Value* argument = call.getArgOperand(a);
      arguments.push_back(llvm::isVectorIntrinsicWithScalarOpAtArg(id, a) ? Scalar(argument) : Vector(argument));
      if (llvm::isVectorIntrinsicWithOverloadTypeAtArg(id, static_cast<int>(a))) {
        types.push_back(arguments.back()->getType());
      }
    }
    return b_.CreateCall(llvm::Intrinsic::getDeclaration(wide_.getParent(), id, types), arguments);
  }

  // --- memory ---
  // Calls `access(true)` where the lanes' addresses follow each other and `access(false)` where they need not.
  template <typename Access>
  void EmitAccess(Value* address, llvm::Type* type, const Access& access) {
    const Shape shape = shapes_.Of(address);
    const auto size = static_cast<int64_t>(type->getScalarSizeInBits() / 8);
    if (!shape.Strided() || shape.stride != size) return access(false);
    Value* exact = Exact(address);
    if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(exact); constant != nullptr && constant->isOne()) {
      return access(true);
    }
    // Fetched here, so that both branches may use them.
    Get(address);
    auto* consecutive = NewBlock("consecutive");
    auto* scattered = NewBlock("scattered");
    auto* done = NewBlock("accessed");
    b_.CreateCondBr(exact, consecutive, scattered);
    b_.SetInsertPoint(consecutive);
    access(true);
    b_.CreateBr(done);
    b_.SetInsertPoint(scattered);
    access(false);
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
  }

  void EmitLoad(llvm::LoadInst& load) {
    llvm::Type* type = WideType(load.getType());
    Value* address = load.getPointerOperand();
    llvm::AllocaInst* slot = SlotsOf(&load).vector;
    EmitAccess(address, load.getType(), [&](bool consecutive) {
      Value* zero = llvm::Constant::getNullValue(type);
      Value* value = consecutive ? b_.CreateMaskedLoad(type, Scalar(address), load.getAlign(), mask_, zero)
                                 : b_.CreateMaskedGather(type, Vector(address), load.getAlign(), mask_, zero);
      b_.CreateStore(value, slot);
    });
  }

  void EmitStore(llvm::StoreInst& store) {
    Value* address = store.getPointerOperand();
    Value* value = store.getValueOperand();
    if (shapes_.Of(address).Uniform() && shapes_.Of(value).Uniform()) {
      b_.CreateAlignedStore(Scalar(value), Scalar(address), store.getAlign());
      return;
    }
    Value* vector = Vector(value);
    EmitAccess(address, value->getType(), [&](bool consecutive) {
      if (consecutive) {
        b_.CreateMaskedStore(vector, Scalar(address), store.getAlign(), mask_);
      } else {
        b_.CreateMaskedScatter(vector, Vector(address), store.getAlign(), mask_);
      }
    });
  }

  llvm::Function& thread_;
  llvm::Function& wide_;
  const unsigned lanes_;
  const Interior* const interior_;
  llvm::LoopInfo& loops_;
  const ShapeAnalysis& shapes_;
  llvm::IRBuilder<> b_;
  llvm::IRBuilder<> slots_;
  llvm::Type* mask_type_ = nullptr;
  Value* mask_ = nullptr;  // of the block being emitted
  std::vector<llvm::BasicBlock*> order_;
  std::map<const llvm::BasicBlock*, llvm::AllocaInst*> masks_;
  std::map<const llvm::Loop*, llvm::AllocaInst*> next_;  // threads that go another round
  std::map<const llvm::Argument*, Wide> arguments_;
  std::map<const llvm::Instruction*, Slots> slot_map_;
  std::map<const llvm::Instruction*, Wide> local_;  // what is at hand in the block being emitted
};

// What the entry calls for `lanes` threads; `inside` and `passes` (see Interior) may be null.
struct WideCode {
  llvm::Function *any = nullptr, *inside = nullptr, *passes = nullptr;
  unsigned lanes = 0;
};

// for index = 0; index < extent; index += step: body(index). REQUIRES: extent is not 0.
template <typename Body>
void EmitLoop(llvm::IRBuilder<>& b, Value* extent, unsigned step, const Body& body) {
  llvm::BasicBlock* from = b.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(b.getContext(), "loop", from->getParent());
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* index = b.CreatePHI(b.getInt32Ty(), 2);
  index->addIncoming(b.getInt32(0), from);
  body(index);
  Value* next = b.CreateAdd(index, b.getInt32(step), "next", true, true);
  index->addIncoming(next, b.GetInsertBlock());
  auto* done = llvm::BasicBlock::Create(b.getContext(), "done", from->getParent());
  b.CreateCondBr(b.CreateICmpUGE(next, extent), done, loop);
  b.SetInsertPoint(done);
}

// The threads that differ from `arguments` in their tid.x.
void EmitRow(llvm::IRBuilder<>& b, const WideCode& code, const std::vector<Value*>& arguments) {
  Value* extent = arguments.back();
  auto emit_loop = [&](llvm::Function* wide) {
    EmitLoop(b, extent, code.lanes, [&](Value* x) {
      std::vector<Value*> group = arguments;
      group[kTidX] = x;
      b.CreateCall(wide, group);
    });
  };
  if (code.inside == nullptr) return emit_loop(code.any);
  llvm::Function* entry = b.GetInsertBlock()->getParent();
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, entry); };
  auto *inside = block("inside"), *edge = block("edge"), *done = block("done");
  std::vector<Value*> first(arguments.begin(), arguments.end() - 1), last = first;
  first[kTidX] = b.getInt32(0);
  last[kTidX] = b.CreateSub(extent, b.getInt32(1));
  Value* pass = b.CreateAnd(b.CreateCall(code.passes, first), b.CreateCall(code.passes, last));
  Value* whole = b.CreateICmpEQ(b.CreateURem(extent, b.getInt32(code.lanes)), b.getInt32(0));
  b.CreateCondBr(b.CreateAnd(whole, pass), inside, edge);
  b.SetInsertPoint(inside);
  emit_loop(code.inside);
  b.CreateBr(done);
  b.SetInsertPoint(edge);
  emit_loop(code.any);
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

// entry(block): the narrow entry for blocks that would leave most lanes empty, else the wide code for all their rows.
void BuildWideEntry(llvm::Function* narrow, const WideCode& code) {
  constexpr uint32_t kLeastExtent = 4;
  llvm::LLVMContext& context = narrow->getContext();
  llvm::IRBuilder<> b(context);
  auto* entry =
      llvm::Function::Create(narrow->getFunctionType(), llvm::GlobalValue::ExternalLinkage, "", narrow->getParent());
  entry->copyAttributesFrom(narrow);
  entry->takeName(narrow);
  narrow->setName("narrow");
  narrow->setLinkage(llvm::GlobalValue::LinkOnceODRLinkage);
  narrow->setVisibility(llvm::GlobalValue::HiddenVisibility);
  narrow->setDSOLocal(true);
  narrow->addFnAttr(llvm::Attribute::NoInline);
  narrow->addFnAttr(llvm::Attribute::OptimizeForSize);  // rarely used
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(context, name, entry); };
  auto *start = block("entry"), *small = block("small"), *large = block("large");
  b.SetInsertPoint(start);
  Value* extent[3];
  for (size_t d = 0; d < 3; ++d) {
    Value* address = b.CreateConstGEP1_64(b.getInt8Ty(), entry->getArg(0), offsetof(BlockContext, block) + 4 * d);
    extent[d] = b.CreateLoad(b.getInt32Ty(), address);
  }
  b.CreateCondBr(b.CreateICmpULT(extent[0], b.getInt32(kLeastExtent)), small, large);
  b.SetInsertPoint(small);
  b.CreateCall(narrow, {entry->getArg(0)});
  b.CreateRetVoid();
  b.SetInsertPoint(large);
  Value* none = llvm::ConstantPointerNull::get(b.getPtrTy());
  EmitLoop(b, extent[2], 1, [&](Value* z) {
    EmitLoop(b, extent[1], 1, [&](Value* y) { EmitRow(b, code, {entry->getArg(0), nullptr, y, z, none, extent[0]}); });
  });
  b.CreateRetVoid();
}

// REQUIRES: CanWiden.
llvm::Function* MakeWide(llvm::Function& thread, unsigned lanes, const Interior* interior, llvm::LoopInfo& loops,
                         const ShapeAnalysis& shapes) {
  llvm::LLVMContext& context = thread.getContext();
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  llvm::Type* i32 = llvm::Type::getInt32Ty(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, i32, i32, i32, pointer, i32}, false);
  auto* wide = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "wide", thread.getParent());
  wide->addFnAttr(llvm::Attribute::NoUnwind);
  wide->addFnAttr(llvm::Attribute::AlwaysInline);
  wide->addDereferenceableParamAttr(kBlockArgument, sizeof(BlockContext));
  wide->addParamAttr(kBlockArgument, llvm::Attribute::getWithAlignment(context, llvm::Align(8)));
  wide->addParamAttr(kBlockArgument, llvm::Attribute::get(context, kBlockAttribute));
  AddConfinedAttributes(wide);
  Widener(thread, *wide, lanes, interior, loops, shapes).Run();
  return wide;
}

llvm::Function* MakeWideInside(const Interior& interior, unsigned lanes) {
  llvm::DominatorTree tree(*interior.thread);
  llvm::LoopInfo loops(tree);
  if (!CanWiden(*interior.thread, loops)) return nullptr;
  return MakeWide(*interior.thread, lanes, &interior, loops, ShapeAnalysis(*interior.thread, kTidX, loops, tree));
}

}  // namespace

bool Widen(llvm::Function* thread, llvm::Function* entry, unsigned lanes) {
  llvm::DominatorTree tree(*thread);
  llvm::LoopInfo loops(tree);
  if (!CanWiden(*thread, loops)) return false;
  const ShapeAnalysis shapes(*thread, kTidX, loops, tree);
  WideCode code;
  code.lanes = lanes;
  if (const std::optional<Interior> interior = FindInterior(*thread, shapes, loops)) {
    code.passes = interior->passes;
    code.inside = MakeWideInside(*interior, lanes);
    interior->thread->eraseFromParent();
  }
  code.any = MakeWide(*thread, lanes, nullptr, loops, shapes);
  BuildWideEntry(entry, code);
  return true;
}

}  // namespace wharf::device::soft
