#include "wharf/device/soft/widen/interior.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <cstdlib>
#include <vector>

#include "wharf/device/soft/codegen/module.h"

namespace wharf::device::soft {
namespace {

using llvm::Value;

// Longer functions gain little from a second copy and cost as much to compile again.
constexpr unsigned kMostInstructions = 256;

// The check at the end of a function's first block.
struct BoundsCheck {
  llvm::BranchInst* branch;
  bool pass;  // the condition's value in threads that go on; the others return
};

bool OnlyReturns(const llvm::BasicBlock* block) { return llvm::isa<llvm::ReturnInst>(block->getFirstNonPHI()); }

std::optional<BoundsCheck> FindCheck(llvm::Function& thread) {
  auto* branch = llvm::dyn_cast<llvm::BranchInst>(thread.getEntryBlock().getTerminator());
  if (branch == nullptr || !branch->isConditional()) return std::nullopt;
  if (OnlyReturns(branch->getSuccessor(1))) return BoundsCheck{branch, true};
  if (OnlyReturns(branch->getSuccessor(0))) return BoundsCheck{branch, false};
  return std::nullopt;
}

// May be computed once more, ahead, and for a thread that does not exist.
bool CanRepeat(const llvm::Instruction& instruction) {
  if (instruction.isTerminator()) return true;
  if (llvm::isa<llvm::LoadInst>(instruction)) return instruction.hasMetadata(llvm::LLVMContext::MD_invariant_load);
  return !instruction.mayReadOrWriteMemory() && llvm::isSafeToSpeculativelyExecute(&instruction);
}

// Collects what has to hold so that a condition which is true in the first and the last thread of a row is true in all
// of them.
class Monotony {
 public:
  struct NoWrap {
    Value* value;  // must not wrap within the row
    bool is_signed;
  };

  Monotony(const ShapeAnalysis& shapes, bool pass) : shapes_(shapes), pass_(pass) {}

  // False if nothing would make it so.
  bool Add(Value* condition) {
    namespace match = llvm::PatternMatch;
    if (shapes_.Of(condition).Uniform()) return true;
    Value *a, *b;
    const auto left = match::m_Value(a), right = match::m_Value(b);
    const bool both = pass_ ? match::match(condition, match::m_LogicalAnd(left, right))
                            : match::match(condition, match::m_LogicalOr(left, right));
    if (both) return Add(a) && Add(b);
    auto* compare = llvm::dyn_cast<llvm::ICmpInst>(condition);
    return compare != nullptr && compare->isRelational() && AddCompare(*compare);
  }

  const std::vector<NoWrap>& Conditions() const { return conditions_; }

 private:
  bool AddCompare(llvm::ICmpInst& compare) {
    Value *a = compare.getOperand(0), *b = compare.getOperand(1);
    if (shapes_.Of(a).Uniform()) std::swap(a, b);
    if (!shapes_.Of(a).Strided() || !shapes_.Of(b).Uniform() || !a->getType()->isIntegerTy()) return false;
    conditions_.push_back({a, compare.isSigned()});
    return AddOperands(a);
  }

  // Arithmetic modulo a power of two keeps the stride; an extension keeps it only if what it extends does not wrap.
  bool AddOperands(Value* value) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (instruction == nullptr || shapes_.Of(value).Uniform()) return true;
    if (llvm::isa<llvm::SExtInst, llvm::ZExtInst>(instruction)) {
      conditions_.push_back({instruction->getOperand(0), llvm::isa<llvm::SExtInst>(instruction)});
    } else if (!llvm::isa<llvm::BinaryOperator, llvm::TruncInst, llvm::FreezeInst>(instruction)) {
      return false;
    }
    for (Value* operand : instruction->operands()) {
      if (!AddOperands(operand)) return false;
    }
    return true;
  }

  const ShapeAnalysis& shapes_;
  const bool pass_;
  std::vector<NoWrap> conditions_;
};

llvm::Function* MakePasses(llvm::Function& thread, const BoundsCheck& check, const Monotony& monotony,
                           const ShapeAnalysis& shapes) {
  llvm::IRBuilder<> b(thread.getContext());
  auto* type = llvm::FunctionType::get(b.getInt1Ty(), thread.getFunctionType()->params(), false);
  auto* passes = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "passes", thread.getParent());
  passes->copyAttributesFrom(&thread);
  passes->removeFnAttr(llvm::Attribute::NoInline);
  passes->addFnAttr(llvm::Attribute::AlwaysInline);
  llvm::ValueToValueMapTy map;
  for (llvm::Argument& argument : thread.args()) map[&argument] = passes->getArg(argument.getArgNo());
  llvm::BasicBlock* block = llvm::CloneBasicBlock(&thread.getEntryBlock(), map, "", passes);
  block->getTerminator()->eraseFromParent();
  for (llvm::Instruction& instruction : *block) {
    llvm::RemapInstruction(&instruction, map, llvm::RF_NoModuleLevelChanges | llvm::RF_IgnoreMissingLocals);
    instruction.dropPoisonGeneratingFlags();  // the thread need not exist
  }
  b.SetInsertPoint(block);
  auto mapped = [&map](Value* value) {
    const auto found = map.find(value);
    return found == map.end() ? value : static_cast<Value*>(found->second);
  };
  Value* all = mapped(check.branch->getCondition());
  if (!check.pass) all = b.CreateNot(all);
  for (const Monotony::NoWrap& condition : monotony.Conditions()) {
    const int64_t span = shapes.Of(condition.value).stride * int64_t{kMaxBlockX - 1};
    if (span != 0) all = b.CreateAnd(all, StaysInType(b, mapped(condition.value), span, condition.is_signed));
  }
  b.CreateRet(all);
  return passes;
}

// Without the check: every thread goes on.
llvm::Function* MakeInside(llvm::Function& thread, bool pass, llvm::ValueToValueMapTy& map) {
  llvm::Function* inside = llvm::CloneFunction(&thread, map);
  inside->setName("inside");
  inside->setLinkage(llvm::GlobalValue::InternalLinkage);
  llvm::BasicBlock& entry = inside->getEntryBlock();
  auto* branch = llvm::cast<llvm::BranchInst>(entry.getTerminator());
  branch->getSuccessor(pass ? 1 : 0)->removePredecessor(&entry);
  llvm::IRBuilder<>(branch).CreateBr(branch->getSuccessor(pass ? 0 : 1));
  branch->eraseFromParent();
  llvm::removeUnreachableBlocks(*inside);
  return inside;
}

}  // namespace

llvm::Value* StaysInType(llvm::IRBuilder<>& b, llvm::Value* first, int64_t span, bool is_signed) {
  const unsigned bits = first->getType()->getIntegerBitWidth();
  // So much goes around wherever it begins, and would be taken for less: APInt cuts it off.
  if (bits < 64 && std::abs(span) >> bits != 0) return b.getFalse();
  const llvm::APInt distance(bits, static_cast<uint64_t>(span), true);
  if (span > 0) {
    const llvm::APInt end = is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
    Value* limit = b.getInt(end - distance);
    return is_signed ? b.CreateICmpSLE(first, limit) : b.CreateICmpULE(first, limit);
  }
  const llvm::APInt end = is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits);
  Value* limit = b.getInt(end - distance);
  return is_signed ? b.CreateICmpSGE(first, limit) : b.CreateICmpUGE(first, limit);
}

std::optional<Interior> FindInterior(llvm::Function& thread, const ShapeAnalysis& in_group, const llvm::LoopInfo& loops,
                                     const llvm::DominatorTree& tree) {
  if (thread.getInstructionCount() > kMostInstructions) return std::nullopt;
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (in_group.Diverges(loop)) return std::nullopt;
  }
  const std::optional<BoundsCheck> check = FindCheck(thread);
  if (!check || in_group.Of(check->branch->getCondition()).Uniform()) return std::nullopt;
  // A row is many groups: what is the same in each of them, or grows, need not do so from one to the next.
  const ShapeAnalysis shapes(thread, {.lane = kTidX, .varying = {}, .lanes = 1, .warp = false}, loops, tree);
  if (!llvm::all_of(thread.getEntryBlock(), CanRepeat)) return std::nullopt;
  Monotony monotony(shapes, check->pass);
  if (!monotony.Add(check->branch->getCondition())) return std::nullopt;
  Interior interior;
  llvm::ValueToValueMapTy map;
  interior.thread = MakeInside(thread, check->pass, map);
  interior.passes = MakePasses(thread, *check, monotony, shapes);
  for (const Monotony::NoWrap& condition : monotony.Conditions()) {
    interior.steady.emplace(map[condition.value], condition.is_signed);
  }
  return interior;
}

}  // namespace wharf::device::soft
