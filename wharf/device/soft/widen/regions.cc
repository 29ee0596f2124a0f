#include "wharf/device/soft/widen/regions.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Support/MathExtras.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/SSAUpdater.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <algorithm>
#include <string>
#include <vector>

#include "wharf/device/soft/codegen/module.h"
#include "wharf/device/soft/widen/lock_step.h"
#include "wharf/device/soft/widen/region_entry.h"
#include "wharf/device/soft/widen/region_plan.h"
#include "wharf/device/soft/widen/thread_calls.h"
#include "wharf/device/soft/widen/widener.h"

namespace wharf::device::soft {
namespace {

using Block = llvm::BasicBlock;
using llvm::Value;

// The parameters of a region's function after those of the thread's.
enum Extra : unsigned {
  kNext = kFixedArguments,  // where the barrier at which the region ended is put
  kReduced,                 // the result of the reduction at which it began
  kVotes,                   // of the row's threads
  kAlive,                   // likewise: not 0 of those that have not ended
  kFirstKept                // of each variable: the row's; of each kept value: see KeptArguments
};

// Of Keeping::kUniform: the value and where it is kept. kRow: the row's values, and by group of lanes the first ones
// and whether the others follow from them. kThread: the row's values.
size_t KeptArguments(Keeping keeping) { return keeping == Keeping::kUniform ? 2 : keeping == Keeping::kRow ? 3 : 1; }

// Makes the function of one region, for one thread.
class RegionMaker {
 public:
  RegionMaker(llvm::Function& thread, const RegionPlan& plan, llvm::FunctionType* type, unsigned lanes)
      : thread_(thread), plan_(plan), type_(type), lanes_(lanes), b_(thread.getContext()) {
    unsigned argument = kFirstKept;
    for (size_t i = 0; i < plan.variables.size(); ++i) variable_arguments_.push_back(argument++);
    for (const Kept& kept : plan.kept) {
      kept_arguments_.push_back(argument);
      argument += static_cast<unsigned>(KeptArguments(kept.keeping));
    }
  }

  llvm::Function* Make(size_t index) {
    region_ = &plan_.regions[index];
    function_ = llvm::Function::Create(type_, llvm::GlobalValue::InternalLinkage, "region", thread_.getParent());
    // Not the attributes of parameters: of these there are more.
    function_->setAttributes(
        llvm::AttributeList::get(thread_.getContext(), thread_.getAttributes().getFnAttrs(), llvm::AttributeSet(), {}));
    for (unsigned i = 0; i < kFixedArguments; ++i) {
      function_->addParamAttrs(i, llvm::AttrBuilder(thread_.getContext(), thread_.getAttributes().getParamAttrs(i)));
    }
    function_->removeFnAttr(llvm::Attribute::AlwaysInline);
    map_.clear();
    for (unsigned i = 0; i < kFixedArguments; ++i) map_[thread_.getArg(i)] = function_->getArg(i);
    entry_ = Block::Create(thread_.getContext(), "entry", function_);
    end_ = Block::Create(thread_.getContext(), "end", function_);
    b_.SetInsertPoint(end_);
    b_.CreateRetVoid();
    b_.SetInsertPoint(entry_);
    CloneBlocks();
    Begin(index);
    EmitVariables();
    EmitEnds();
    for (size_t i = 0; i < plan_.kept.size(); ++i) Connect(index, i);
    RepeatOthers(index);
    return function_;
  }

 private:
  void CloneBlocks() {
    std::vector<Block*> clones;
    for (Block& block : thread_) {
      if (!region_->blocks.contains(&block)) continue;
      Block* clone = llvm::CloneBasicBlock(&block, map_, "", function_);
      map_[&block] = clone;
      clones.push_back(clone);
    }
    for (Block* clone : clones) {
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(*clone)) {
        if (instruction.isLifetimeStartOrEnd()) {
          instruction.eraseFromParent();
          continue;
        }
        if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) RemoveOutside(*phi);
        if (instruction.isTerminator() && EndsAtBarrier(clone)) continue;
        llvm::RemapInstruction(&instruction, map_, llvm::RF_NoModuleLevelChanges | llvm::RF_IgnoreMissingLocals);
      }
    }
  }

  bool EndsAtBarrier(const Block* clone) const {
    return std::any_of(region_->barriers.begin(), region_->barriers.end(),
                       [&](size_t barrier) { return map_.lookup(plan_.barriers[barrier].before) == clone; });
  }

  // Ways into a block that this region does not go. Barriers' ways on are none of its.
  void RemoveOutside(llvm::PHINode& phi) const {
    for (unsigned i = phi.getNumIncomingValues(); i-- > 0;) {
      Block* from = phi.getIncomingBlock(i);
      if (!region_->blocks.contains(from)) phi.removeIncomingValue(i, /*DeletePHIIfEmpty=*/false);
    }
  }

  // Variables of a thread lie in the block's memory.
  void EmitVariables() {
    for (size_t i = 0; i < plan_.variables.size(); ++i) {
      llvm::AllocaInst* variable = plan_.variables[i];
      Value* address = b_.CreateGEP(VariableType(*variable), function_->getArg(variable_arguments_[i]), X());
      if (auto* clone = llvm::cast_or_null<llvm::Instruction>(map_.lookup(variable))) {
        clone->replaceAllUsesWith(address);
        clone->eraseFromParent();
      }
      variable->replaceUsesWithIf(address, [&](const llvm::Use& use) {
        return llvm::cast<llvm::Instruction>(use.getUser())->getFunction() == function_;
      });
      repeated_[variable] = address;
    }
  }

  Value* X() { return function_->getArg(kTidX); }

  void EmitEnds() {
    for (const size_t index : region_->barriers) {
      const Barrier& barrier = plan_.barriers[index];
      llvm::Instruction* last = llvm::cast<Block>(map_[barrier.before])->getTerminator();
      llvm::IRBuilder<> b(last);
      if (barrier.reduction) {
        Value* predicate = map_.lookup(barrier.predicate);
        Value* vote = b.CreateZExt(b.CreateICmpNE(predicate, b.getInt32(0)), b.getInt8Ty());
        b.CreateStore(vote, b.CreateGEP(b.getInt8Ty(), function_->getArg(kVotes), X()));
      }
      b.CreateStore(b.getInt32(static_cast<uint32_t>(index)), function_->getArg(kNext));
      b.CreateBr(end_);
      last->eraseFromParent();
    }
    for (Block& block : *function_) {
      auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
      if (end == nullptr || &block == end_) continue;
      llvm::IRBuilder<> b(end);
      if (plan_.ends_apart) b.CreateStore(b.getInt8(0), b.CreateGEP(b.getInt8Ty(), function_->getArg(kAlive), X()));
      b.CreateBr(end_);
      end->eraseFromParent();
    }
  }

  // The value as it was kept, at the region's start.
  Value* Reload(size_t index) {
    const Kept& kept = plan_.kept[index];
    llvm::Type* type = kept.value->getType();
    const unsigned argument = kept_arguments_[index];
    if (kept.keeping == Keeping::kUniform) return function_->getArg(argument);
    if (kept.keeping == Keeping::kThread) {
      llvm::Type* stored = StoredType(kept);
      Value* value = b_.CreateLoad(stored, b_.CreateGEP(stored, function_->getArg(argument), X()));
      return stored == type ? value : b_.CreateTrunc(value, type);
    }
    return b_.CreateCall(Marker("wharf.reload.", type, type, {}, b_.getInt64Ty()),
                         {function_->getArg(argument), function_->getArg(argument + 1), function_->getArg(argument + 2),
                          X(), b_.getInt64(static_cast<uint64_t>(kept.stride))});
  }

  void Keep(size_t index, llvm::Instruction* value) {
    const Kept& kept = plan_.kept[index];
    llvm::Type* type = kept.value->getType();
    const unsigned argument = kept_arguments_[index];
    Block* block = value->getParent();
    llvm::IRBuilder<> b(
        block, llvm::isa<llvm::PHINode>(value) ? block->getFirstInsertionPt() : std::next(value->getIterator()));
    if (kept.keeping == Keeping::kUniform) {
      b.CreateStore(value, function_->getArg(argument + 1));
    } else if (kept.keeping == Keeping::kThread) {
      llvm::Type* stored = StoredType(kept);
      b.CreateStore(stored == type ? static_cast<Value*>(value) : b.CreateZExt(value, stored),
                    b.CreateGEP(stored, function_->getArg(argument), X()));
    } else {
      b.CreateCall(Marker("wharf.keep.", type, b.getVoidTy(), type, b.getInt64Ty()),
                   {value, function_->getArg(argument), function_->getArg(argument + 1),
                    function_->getArg(argument + 2), X(), b.getInt64(static_cast<uint64_t>(kept.stride))});
    }
  }

  llvm::FunctionCallee Marker(const std::string& prefix, llvm::Type* type, llvm::Type* result, llvm::Type* first,
                              llvm::Type* stride) {
    std::string name = prefix;
    llvm::raw_string_ostream stream(name);
    type->print(stream);
    std::vector<llvm::Type*> arguments;
    if (first != nullptr) arguments.push_back(first);
    arguments.insert(arguments.end(), {b_.getPtrTy(), b_.getPtrTy(), b_.getPtrTy(), b_.getInt32Ty(), stride});
    return thread_.getParent()->getOrInsertFunction(stream.str(), llvm::FunctionType::get(result, arguments, false));
  }

  void Connect(size_t region, size_t index) {
    llvm::Instruction* value = plan_.kept[index].value;
    auto* clone = llvm::cast_or_null<llvm::Instruction>(map_.lookup(value));
    if (plan_.IsNeeded(value, region)) Join(value, clone, Reload(index));
    if (clone != nullptr) Keep(index, clone);
  }

  // Uses of `value` in the region see `at_start` or, where it is computed anew, `clone`.
  void Join(llvm::Instruction* value, llvm::Instruction* clone, Value* at_start) {
    std::vector<llvm::Use*> uses;
    for (llvm::Use& use : (clone != nullptr ? clone : value)->uses()) {
      auto* user = llvm::cast<llvm::Instruction>(use.getUser());
      if (user->getFunction() == function_) uses.push_back(&use);
    }
    llvm::SSAUpdater updater;
    updater.Initialize(value->getType(), "kept");
    updater.AddAvailableValue(entry_, at_start);
    if (clone != nullptr) updater.AddAvailableValue(clone->getParent(), clone);
    for (llvm::Use* use : uses) {
      auto* user = llvm::cast<llvm::Instruction>(use->getUser());
      if (clone == nullptr) {
        use->set(at_start);
      } else if (llvm::isa<llvm::PHINode>(user) || user->getParent() != clone->getParent()) {
        updater.RewriteUse(*use);
      }
    }
  }

  // Values that are computed anew in each region.
  void RepeatOthers(size_t region) {
    for (llvm::Instruction* value : plan_.repeated) {
      if (llvm::isa<llvm::AllocaInst>(value) || !plan_.IsNeeded(value, region)) continue;
      auto* clone = llvm::cast_or_null<llvm::Instruction>(map_.lookup(value));
      Join(value, clone, Repeat(value));
    }
    repeated_.clear();
  }

  Value* Repeat(Value* value) {
    if (auto* argument = llvm::dyn_cast<llvm::Argument>(value)) return function_->getArg(argument->getArgNo());
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (instruction == nullptr) return value;
    if (auto found = repeated_.find(value); found != repeated_.end()) return found->second;
    llvm::Instruction* copy = instruction->clone();
    for (llvm::Use& use : copy->operands()) use.set(Repeat(use.get()));
    b_.Insert(copy);
    return repeated_[value] = copy;
  }

  void Begin(size_t index) {
    Value* start = map_[region_->start];
    if (index > 0 && plan_.barriers[index - 1].reduction) {
      Value* reduced = map_[plan_.barriers[index - 1].result];
      llvm::IRBuilder<> b(llvm::cast<llvm::Instruction>(reduced)->getNextNode());
      auto* load = b.CreateLoad(b_.getInt32Ty(), function_->getArg(kReduced));
      reduced->replaceAllUsesWith(load);
      llvm::cast<llvm::Instruction>(reduced)->eraseFromParent();
      map_[plan_.barriers[index - 1].result] = load;
    }
    llvm::Instruction* last = nullptr;
    if (index == 0 || !plan_.ends_apart) {
      last = b_.CreateBr(llvm::cast<Block>(start));
    } else {
      Value* alive = b_.CreateLoad(b_.getInt8Ty(), b_.CreateGEP(b_.getInt8Ty(), function_->getArg(kAlive), X()));
      last = b_.CreateCondBr(b_.CreateICmpNE(alive, b_.getInt8(0)), llvm::cast<Block>(start), end_);
    }
    b_.SetInsertPoint(last);
  }

  llvm::Function& thread_;
  const RegionPlan& plan_;
  llvm::FunctionType* const type_;
  const unsigned lanes_;
  llvm::IRBuilder<> b_;
  std::vector<unsigned> variable_arguments_, kept_arguments_;
  const Region* region_ = nullptr;
  llvm::Function* function_ = nullptr;
  Block *entry_ = nullptr, *end_ = nullptr;
  llvm::ValueToValueMapTy map_;
  std::map<Value*, Value*> repeated_;
};

// A region for one thread after the other: what is kept is where wide code finds it.
bool LowerMarkers(llvm::Function* function, unsigned lanes) {
  std::vector<llvm::CallInst*> calls;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    const ThreadCall call = ThreadCallOf(instruction);
    if (IsWarpOperation(call)) return false;
    if (call != ThreadCall::kNone) calls.push_back(llvm::cast<llvm::CallInst>(&instruction));
  }
  for (llvm::CallInst* call : calls) {
    llvm::IRBuilder<> b(call);
    const bool keep = ThreadCallOf(*call) == ThreadCall::kKeep;
    llvm::Type* type = keep ? call->getArgOperand(0)->getType() : call->getType();
    const unsigned arrays = keep ? 1 : 0;
    Value* x = call->getArgOperand(arrays + 3);
    Value* values = b.CreateGEP(type, call->getArgOperand(arrays), x);
    if (keep) {
      Value* group = b.CreateLShr(x, llvm::Log2_32(lanes));
      b.CreateStore(call->getArgOperand(0), values);
      b.CreateStore(call->getArgOperand(0), b.CreateGEP(type, call->getArgOperand(arrays + 1), group));
      b.CreateStore(b.getInt8(0), b.CreateGEP(b.getInt8Ty(), call->getArgOperand(arrays + 2), group));
    } else {
      call->replaceAllUsesWith(b.CreateLoad(type, values));
    }
    call->eraseFromParent();
  }
  return true;
}

llvm::FunctionType* RegionType(const llvm::Function& thread, const RegionPlan& plan) {
  llvm::LLVMContext& context = thread.getContext();
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  std::vector<llvm::Type*> types(thread.getFunctionType()->params().take_front(kFixedArguments));
  types.resize(kFirstKept + plan.variables.size(), pointer);
  for (const Kept& kept : plan.kept) {
    if (kept.keeping == Keeping::kUniform) types.push_back(kept.value->getType());
    types.resize(types.size() + KeptArguments(kept.keeping) - (kept.keeping == Keeping::kUniform ? 1 : 0), pointer);
  }
  return llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false);
}

// Groups that must be warps are; others are as wide as a row gives work for.
unsigned LanesFor(bool warps, const RegionOptions& options) {
  const Dim3& block = options.block;
  if (warps) return kWarpSize;
  unsigned lanes = options.lanes;
  while (lanes > 4 && lanes / 2 >= block.x) lanes /= 2;
  return lanes;
}

// In the lanes of vectors or, where that cannot be, for one thread; null if neither is right.
RegionCode MakeCode(llvm::Function* region, bool warps, const RegionOptions& options, unsigned lanes) {
  constexpr uint32_t kLeastExtent = 4;
  options.tidy(region);
  llvm::DominatorTree tree(*region);
  llvm::LoopInfo loops(tree);
  const WideForm form{.lanes = lanes, .all_exist = options.block.x % lanes == 0, .warp = warps};
  if (options.block.x >= kLeastExtent || warps) {
    const ShapeAnalysis shapes(*region, GroupOf(form), loops, tree);
    if (llvm::Function* wide = MakeWide(*region, form, loops, tree, shapes)) return {wide, lanes};
  }
  if (!LowerMarkers(region, lanes)) return {};
  region->addFnAttr(llvm::Attribute::AlwaysInline);
  return {region, 1};
}

bool OthersSynchronize(const llvm::Function* thread) {
  for (const llvm::Function& function : *thread->getParent()) {
    if (&function == thread) continue;
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      if (ThreadCallOf(instruction) != ThreadCall::kNone) return true;
    }
  }
  return false;
}

// Groups of threads must be warps.
bool NeedsWarps(llvm::Function& thread, const Dim3& block) {
  for (const llvm::Instruction& instruction : llvm::instructions(thread)) {
    if (IsWarpOperation(ThreadCallOf(instruction))) return true;
  }
  llvm::DominatorTree tree(thread);
  const llvm::LoopInfo loops(tree);
  return CountsOnLockStep(thread, block, loops, tree);
}

// Makes the thread's function one for a block that has all threads in one row: where a thread is in a block of this
// shape is computed of its number.
void PutInOneRow(llvm::Function* thread, const Dim3& block) {
  llvm::IRBuilder<> b(&*thread->getEntryBlock().getFirstInsertionPt());
  Value* number = b.CreateFreeze(thread->getArg(kTidX));
  Value* row = b.CreateUDiv(number, b.getInt32(block.x));
  Value* at[] = {b.CreateURem(number, b.getInt32(block.x)), b.CreateURem(row, b.getInt32(block.y)),
                 b.CreateUDiv(row, b.getInt32(block.y))};
  for (unsigned i = 0; i < 3; ++i) {
    thread->getArg(kTidX + i)->replaceUsesWithIf(at[i], [&](llvm::Use& use) { return use.getUser() != number; });
  }
}

}  // namespace

absl::Status SplitIntoRegions(llvm::Function* thread, llvm::Function* entry, const RegionOptions& of_shape) {
  if (OthersSynchronize(thread)) return Unimplemented("a function that it calls has barriers or warp operations");
  RegionOptions options = of_shape;
  const bool warps = NeedsWarps(*thread, options.block);
  if (warps && !WarpsAreInRows(options.block)) {
    PutInOneRow(thread, options.block);
    options.block = {static_cast<uint32_t>(options.block.Count()), 1, 1};
  }
  WHARF_ASSIGN_OR_RETURN(const RegionPlan plan, PlanRegions(*thread, options.block));
  const unsigned lanes = LanesFor(warps, options);
  RegionMaker maker(*thread, plan, RegionType(*thread, plan), lanes);
  std::vector<RegionCode> codes;
  for (size_t i = 0; i < plan.regions.size(); ++i) {
    llvm::Function* region = maker.Make(i);
    const RegionCode code = MakeCode(region, warps, options, lanes);
    if (code.function == nullptr) {
      return Unimplemented(
          "lanes of a warp may have parted before a warp operation, or there is code near one that they cannot share");
    }
    if (code.function != region) region->eraseFromParent();
    codes.push_back(code);
  }
  MakeRegionEntry(entry, plan, options.block, std::move(codes), lanes);
  thread->eraseFromParent();
  return absl::OkStatus();
}

}  // namespace wharf::device::soft
