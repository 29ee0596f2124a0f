#include "wharf/device/soft/widen/region_plan.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>

#include "wharf/device/soft/codegen/module.h"
#include "wharf/device/soft/widen/thread_calls.h"

namespace wharf::device::soft {
namespace {

using Block = llvm::BasicBlock;
using llvm::Value;

constexpr size_t kMostBarriers = 400, kMostBlocks = 3000;
// Instructions of all regions, which LLVM takes a second or two for. Long kernels may have twice their own.
constexpr size_t kMostShared = 8000;
constexpr unsigned kMostRepeated = 12;  // instructions

// Instructions to compute `value` anew, from arguments and constants; more than kMostRepeated if that cannot be.
unsigned CostOf(const Value* value, unsigned depth) {
  constexpr unsigned kNever = kMostRepeated + 1;
  if (llvm::isa<llvm::Constant, llvm::Argument>(value)) return 0;
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || depth > kMostRepeated) return kNever;
  if (llvm::isa<llvm::AllocaInst>(instruction)) return 1;
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
    if (!load->hasMetadata(llvm::LLVMContext::MD_invariant_load)) return kNever;
  } else if (!llvm::isa<llvm::BinaryOperator, llvm::CastInst, llvm::GetElementPtrInst, llvm::ICmpInst, llvm::SelectInst,
                        llvm::FreezeInst>(instruction) ||
             instruction->isIntDivRem()) {
    return kNever;
  }
  unsigned cost = 1;
  for (const Value* operand : instruction->operands()) {
    cost += CostOf(operand, depth + 1);
    if (cost > kMostRepeated) return kNever;
  }
  return cost;
}

class Planner {
 public:
  Planner(llvm::Function& thread, const Dim3& block) : thread_(thread), block_(block) {}

  absl::StatusOr<RegionPlan> Run() {
    WHARF_RETURN_IF_ERROR(FindBarriers());
    WHARF_RETURN_IF_ERROR(FindVariables());
    Split();
    if (thread_.size() > kMostBlocks) return Unimplemented("it has more than {} basic blocks", kMostBlocks);
    FindRegions();
    WHARF_RETURN_IF_ERROR(ShareLittle());
    llvm::DominatorTree tree(thread_);
    llvm::LoopInfo loops(tree);
    using Order = llvm::ReversePostOrderTraversal<llvm::Function*>;
    Order order(&thread_);
    if (llvm::containsIrreducibleCFG<Block*>(order, loops)) return Unimplemented("it has a loop with several ways in");
    Neighbours all{.lane = kTidX, .varying = {}, .lanes = 1, .warp = false};
    if (block_.y > 1) all.varying.push_back(kTidY);
    if (block_.z > 1) all.varying.push_back(kTidZ);
    const ShapeAnalysis in_block(thread_, all, loops, tree);
    if (!KeepTogether(in_block)) {
      return Unimplemented("threads may part at a branch and come to different barriers, as far as can be proved");
    }
    const ShapeAnalysis in_row(thread_, {.lane = kTidX, .varying = {}, .lanes = 1, .warp = false}, loops, tree);
    FindKept(in_block, in_row);
    return std::move(plan_);
  }

 private:
  absl::Status FindBarriers() {
    for (Block& block : thread_) {
      if (!llvm::isa<llvm::BranchInst, llvm::ReturnInst, llvm::UnreachableInst>(block.getTerminator())) {
        return Unimplemented("it has jumps by number");
      }
      for (llvm::Instruction& instruction : block) {
        const ThreadCall call = ThreadCallOf(instruction);
        if (call == ThreadCall::kOther)
          return Unimplemented("threads arrive at a barrier without waiting, or wait in a loop");
        if (call == ThreadCall::kBarrier || call == ThreadCall::kReduction) {
          WHARF_RETURN_IF_ERROR(IsOfTheBlock(instruction));
          calls_.push_back(llvm::cast<llvm::CallInst>(&instruction));
        }
      }
    }
    return calls_.size() <= kMostBarriers ? absl::OkStatus()
                                          : Unimplemented("it has more than {} barriers", kMostBarriers);
  }

  absl::Status IsOfTheBlock(const llvm::Instruction& barrier) const {
    auto* id = llvm::dyn_cast<llvm::ConstantInt>(barrier.getOperand(1));
    auto* threads = llvm::dyn_cast<llvm::ConstantInt>(barrier.getOperand(2));
    if (id == nullptr || threads == nullptr) {
      return Unimplemented("a barrier's number or count of threads is not constant");
    }
    if (threads->isZero() || threads->getZExtValue() == block_.Count()) return absl::OkStatus();
    return Unimplemented("a barrier is for {} of {} threads", threads->getZExtValue(), block_.Count());
  }

  absl::Status FindVariables() {
    for (Block& block : thread_) {
      for (llvm::Instruction& instruction : block) {
        auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
        if (variable == nullptr) continue;
        if (!variable->isStaticAlloca()) return Unimplemented("it has a local array of no fixed size");
        if (!StaysInside(variable)) return Unimplemented("it hands a local array to a function");
        plan_.variables.push_back(variable);
      }
    }
    return absl::OkStatus();
  }

  // Its address is not handed to a function.
  static bool StaysInside(const Value* address) {
    for (const llvm::User* user : address->users()) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(user);
      if (call != nullptr && !llvm::isa<llvm::IntrinsicInst>(call)) return false;
      if (llvm::isa<llvm::GetElementPtrInst>(user) && !StaysInside(user)) return false;
    }
    return true;
  }

  void Split() {
    for (llvm::CallInst* call : calls_) {
      Barrier barrier;
      if (ThreadCallOf(*call) == ThreadCall::kReduction) {
        barrier.reduction =
            static_cast<uint32_t>(llvm::cast<llvm::ConstantInt>(call->getArgOperand(3))->getZExtValue());
        barrier.predicate = new llvm::FreezeInst(call->getArgOperand(4), "vote", call);  // in the block that ends
      }
      barrier.before = call->getParent();
      barrier.after = llvm::SplitBlock(barrier.before, call->getNextNode());
      if (barrier.reduction) {
        auto reduced = thread_.getParent()->getOrInsertFunction("wharf.reduced", call->getType());
        barrier.result = llvm::CallInst::Create(reduced, "reduced", &*barrier.after->getFirstInsertionPt());
        call->replaceAllUsesWith(barrier.result);
      }
      call->eraseFromParent();
      plan_.barriers.push_back(barrier);
      after_[barrier.before] = plan_.barriers.size() - 1;
    }
    // A block with several barriers has been split several times: the last part ends where the first did.
    after_.clear();
    for (size_t i = 0; i < plan_.barriers.size(); ++i) {
      Barrier& barrier = plan_.barriers[i];
      barrier.before = barrier.after->getSinglePredecessor();
      after_[barrier.before] = i;
    }
  }

  void FindRegions() {
    AddRegion(&thread_.getEntryBlock());
    for (const Barrier& barrier : plan_.barriers) AddRegion(barrier.after);
  }

  void AddRegion(Block* start) {
    Region region{.start = start, .blocks = {}, .barriers = {}};
    std::vector<Block*> open = {start};
    while (!open.empty()) {
      Block* block = open.back();
      open.pop_back();
      if (!region.blocks.insert(block).second) continue;
      if (const auto barrier = after_.find(block); barrier != after_.end()) {
        region.barriers.insert(barrier->second);
      } else {
        open.insert(open.end(), llvm::succ_begin(block), llvm::succ_end(block));
      }
    }
    starts_[start] = plan_.regions.size();
    plan_.regions.push_back(std::move(region));
  }

  // Where branches go around barriers regions have blocks in common: an unrolled loop's grow with the square of its
  // length.
  absl::Status ShareLittle() const {
    size_t instructions = 0;
    for (const Region& region : plan_.regions) {
      for (const Block* block : region.blocks) instructions += block->size();
    }
    if (instructions <= std::max<size_t>(kMostShared, 2 * thread_.getInstructionCount())) return absl::OkStatus();
    return Unimplemented("what is between its barriers is {} instructions, most of them several times", instructions);
  }

  // From a branch at which threads may part they come to one barrier at most, or end, or they meet before.
  bool KeepTogether(const ShapeAnalysis& shapes) {
    for (const Block& block : thread_) {
      if (!shapes.Diverges(&block) || Ahead(block, shapes.Meeting(&block)).barriers.empty()) continue;
      const WaysOn all = Ahead(block, nullptr);
      if (all.barriers.size() > 1) return false;
      plan_.ends_apart |= all.end;
    }
    return true;
  }

  // What comes next after a block, on all ways but those through `meeting`.
  struct WaysOn {
    std::set<size_t> barriers;
    bool end = false;
  };
  WaysOn Ahead(const Block& from, const Block* meeting) const {
    WaysOn ways;
    std::set<const Block*> seen;
    std::vector<const Block*> open(llvm::succ_begin(&from), llvm::succ_end(&from));
    while (!open.empty()) {
      const Block* block = open.back();
      open.pop_back();
      if (block == meeting || !seen.insert(block).second) continue;
      if (const auto barrier = after_.find(block); barrier != after_.end()) {
        ways.barriers.insert(barrier->second);
        continue;
      }
      ways.end |= llvm::isa<llvm::ReturnInst>(block->getTerminator());
      open.insert(open.end(), llvm::succ_begin(block), llvm::succ_end(block));
    }
    return ways;
  }

  void FindKept(const ShapeAnalysis& in_block, const ShapeAnalysis& in_row) {
    for (Block& block : thread_) {
      for (llvm::Instruction& value : block) {
        if (value.use_empty() || value.getType()->isVoidTy()) continue;
        std::set<size_t> needed = NeededIn(value);
        if (needed.empty()) continue;
        plan_.needed.emplace(&value, std::move(needed));
        if (RegionPlan::IsRepeated(&value)) {
          plan_.repeated.push_back(&value);
          continue;
        }
        Kept kept{.value = &value};
        const Shape row = in_row.Of(&value);
        if (in_block.Of(&value).Uniform()) {
          kept.keeping = Keeping::kUniform;
        } else if (row.kind == Shape::kAffine && !value.getType()->isIntegerTy(1)) {
          kept.keeping = Keeping::kRow;
          kept.stride = row.stride;
        }
        plan_.kept.push_back(kept);
      }
    }
  }

  // Regions in which there is a way from the start to a use, but not through the value's block.
  std::set<size_t> NeededIn(const llvm::Instruction& value) const {
    std::set<size_t> needed;
    std::set<const Block*> seen = {value.getParent()};
    std::vector<const Block*> open;
    for (const llvm::Use& use : value.uses()) {
      auto* user = llvm::cast<llvm::Instruction>(use.getUser());
      auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
      open.push_back(phi == nullptr ? user->getParent() : phi->getIncomingBlock(use));
    }
    while (!open.empty()) {
      const Block* block = open.back();
      open.pop_back();
      if (!seen.insert(block).second) continue;
      if (const auto start = starts_.find(block); start != starts_.end()) {
        needed.insert(start->second);  // nothing else comes before it but a barrier
      } else {
        open.insert(open.end(), llvm::pred_begin(block), llvm::pred_end(block));
      }
    }
    return needed;
  }

  llvm::Function& thread_;
  const Dim3 block_;
  RegionPlan plan_;
  std::vector<llvm::CallInst*> calls_;
  std::map<const Block*, size_t> after_;   // the barrier at a block's end
  std::map<const Block*, size_t> starts_;  // the region that begins with a block
};

}  // namespace

bool RegionPlan::IsRepeated(const llvm::Value* value) { return CostOf(value, 0) <= kMostRepeated; }

absl::StatusOr<RegionPlan> PlanRegions(llvm::Function& thread, const Dim3& block) {
  return Planner(thread, block).Run();
}

}  // namespace wharf::device::soft
