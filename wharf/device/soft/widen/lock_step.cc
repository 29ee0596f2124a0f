#include "wharf/device/soft/widen/lock_step.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "wharf/device/soft/codegen/module.h"
#include "wharf/device/soft/widen/shape.h"
#include "wharf/device/soft/widen/thread_calls.h"

namespace wharf::device::soft {
namespace {

using Block = llvm::BasicBlock;
using llvm::Value;

constexpr unsigned kMostWays = 4;      // on which an address is looked for
constexpr size_t kMostTerms = 12;      // of a sum
constexpr size_t kMostPairs = 20'000;  // of accesses that are compared

bool IsShared(const Value* base) {
  auto* load = llvm::dyn_cast<llvm::LoadInst>(base);
  if (load == nullptr) return false;
  llvm::APInt offset(64, 0);
  const Value* field =
      load->getPointerOperand()->stripAndAccumulateConstantOffsets(load->getModule()->getDataLayout(), offset, true);
  auto* block = llvm::dyn_cast<llvm::Argument>(field);
  return block != nullptr && block->getArgNo() == kBlockArgument && offset == offsetof(BlockContext, shared);
}

// Shared memory, as far as can be seen. `ways`: how often there were several to go on.
bool IsInShared(const Value* address, unsigned ways = 0) {
  while (!IsShared(address)) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(address);
    if (instruction == nullptr) return false;
    const bool first =
        llvm::isa<llvm::GetElementPtrInst, llvm::PtrToIntInst, llvm::IntToPtrInst, llvm::FreezeInst>(instruction);
    if (first) {
      address = instruction->getOperand(0);
      continue;
    }
    const bool several =
        llvm::isa<llvm::SelectInst, llvm::PHINode>(instruction) ||
        (instruction->getOpcode() == llvm::Instruction::Add && instruction->getType()->isIntegerTy(64));
    if (!several || ways == kMostWays) return false;
    return llvm::any_of(instruction->operands(), [&](const llvm::Use& use) { return IsInShared(use.get(), ways + 1); });
  }
  return true;
}

struct Access {
  llvm::Instruction* instruction = nullptr;
  Value* address = nullptr;
  int64_t bytes = 0;
  bool loads = false, stores = false;
  bool ordered = false;  // volatile, or atomic
  bool shared = false;
};

std::optional<Access> AccessOf(llvm::Instruction& i) {
  const llvm::DataLayout& layout = i.getModule()->getDataLayout();
  Access access{.instruction = &i};
  llvm::Type* type = nullptr;
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&i)) {
    if (load->hasMetadata(llvm::LLVMContext::MD_invariant_load)) return std::nullopt;
    access.loads = true;
    access.ordered = !load->isSimple();
    type = load->getType();
  } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&i)) {
    access.stores = true;
    access.ordered = !store->isSimple();
    type = store->getValueOperand()->getType();
  } else if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&i)) {
    access.loads = access.stores = true;
    type = update->getType();
  } else if (auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&i)) {
    access.loads = access.stores = true;
    type = swap->getCompareOperand()->getType();
  } else {
    return std::nullopt;
  }
  access.address = const_cast<Value*>(llvm::getLoadStorePointerOperand(&i));
  if (access.address == nullptr) access.address = i.getOperand(0);
  access.bytes = static_cast<int64_t>(layout.getTypeStoreSize(type).getFixedValue());
  if (llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(access.address))) return std::nullopt;  // the thread's own
  access.shared = IsInShared(access.address);
  return access;
}

// What `store` leaves matters to `load` if that comes later, or, of two volatile ones, earlier.
bool Concerns(const Access& store, const Access& load) {
  if (!store.stores || !load.loads || (store.loads && load.stores)) return false;  // updates may come in any order
  return (store.shared && load.shared) || (load.ordered && load.shared == store.shared);
}

// A sum of products of values, whose numbers do not wrap: by the factors, in order, what they are multiplied with.
using Factors = std::vector<const Value*>;
using Sum = std::map<Factors, int64_t>;

void Add(Sum* to, const Sum& sum, int64_t times) {
  for (const auto& [factors, number] : sum) {
    const auto found = to->emplace(factors, 0).first;
    found->second += times * number;
    if (found->second == 0) to->erase(found);
  }
}

class Sums {
 public:
  const Sum& Of(const Value* value) {
    const auto [found, fresh] = known_.try_emplace(value);
    if (!fresh) return found->second;
    found->second = Single(value);  // until it is known
    if (std::optional<Sum> sum = Compute(value); sum && sum->size() <= kMostTerms) found->second = *std::move(sum);
    return found->second;
  }

 private:
  static Sum Single(const Value* value) {
    if (IsShared(value)) value = llvm::cast<llvm::Instruction>(value)->getFunction()->getArg(kBlockArgument);
    return {{{value}, 1}};
  }

  std::optional<Sum> Compute(const Value* value) {
    if (auto* number = llvm::dyn_cast<llvm::ConstantInt>(value); number != nullptr && number->getBitWidth() <= 64) {
      return number->isZero() ? Sum{} : Sum{{{}, number->getSExtValue()}};
    }
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (instruction == nullptr) return std::nullopt;
    const auto operand = [&](unsigned i) -> const Sum& { return Of(instruction->getOperand(i)); };
    const llvm::DataLayout& layout = instruction->getModule()->getDataLayout();
    switch (instruction->getOpcode()) {
      case llvm::Instruction::SExt:
      case llvm::Instruction::ZExt:
      case llvm::Instruction::Trunc:
      case llvm::Instruction::Freeze:
      case llvm::Instruction::PtrToInt:
      case llvm::Instruction::IntToPtr:
        return operand(0);
      case llvm::Instruction::Or:
        if (!llvm::haveNoCommonBitsSet(instruction->getOperand(0), instruction->getOperand(1), layout)) break;
        return Added(operand(0), operand(1), 1);
      case llvm::Instruction::Add:
        return Added(operand(0), operand(1), 1);
      case llvm::Instruction::Sub:
        return Added(operand(0), operand(1), -1);
      case llvm::Instruction::Mul:
        return Product(operand(0), operand(1));
      case llvm::Instruction::Shl: {
        auto* by = llvm::dyn_cast<llvm::ConstantInt>(instruction->getOperand(1));
        if (by == nullptr || by->getValue().uge(32)) break;
        return Added({}, operand(0), int64_t{1} << by->getZExtValue());
      }
      case llvm::Instruction::GetElementPtr: {
        auto* address = llvm::cast<llvm::GetElementPtrInst>(instruction);
        if (address->getNumIndices() != 1) break;
        const auto size = layout.getTypeAllocSize(address->getSourceElementType()).getFixedValue();
        return Added(operand(0), operand(1), static_cast<int64_t>(size));
      }
      default:
        break;
    }
    return std::nullopt;
  }

  static Sum Added(Sum to, const Sum& sum, int64_t times) {
    Add(&to, sum, times);
    return to;
  }

  static Sum Product(const Sum& a, const Sum& b) {
    Sum product;
    for (const auto& [factors, number] : a) {
      for (const auto& [others, times] : b) {
        Factors all = factors;
        all.insert(all.end(), others.begin(), others.end());
        std::sort(all.begin(), all.end());
        Add(&product, {{all, number}}, times);
      }
    }
    return product;
  }

  std::map<const Value*, Sum> known_;
};

class LockStep {
 public:
  LockStep(llvm::Function& thread, const Dim3& block, const llvm::LoopInfo& loops, const llvm::DominatorTree& tree)
      : block_(block), loops_(loops), tree_(tree), shapes_(thread, Warp(block), loops, tree) {
    unsigned number = 0;
    for (const Block* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&thread)) order_[block] = number++;
  }

  bool Matters(const std::vector<Access>& accesses) {
    for (const Access& access : accesses) by_block_[access.instruction->getParent()].push_back(&access);
    size_t pairs = 0;
    for (const Access& first : accesses) {
      if (!first.stores && !first.ordered) continue;
      const std::vector<std::pair<const Access*, bool>> later = Later(first);
      pairs += later.size();
      if (pairs > kMostPairs) return true;
      for (const auto& [second, around] : later) {
        const bool stored = Concerns(first, *second);
        const bool loaded = first.ordered && second->ordered && Concerns(*second, first);
        if ((stored || loaded) && MayMeet(first, *second, around)) return true;
      }
    }
    return false;
  }

 private:
  static Neighbours Warp(const Dim3& block) {
    Neighbours warp{.lane = kTidX, .varying = {}, .lanes = kWarpSize, .warp = false};
    if (!WarpsAreInRows(block)) warp.varying = {kTidY, kTidZ};
    return warp;
  }

  static bool IsBarrier(const llvm::Instruction& instruction) {
    const ThreadCall call = ThreadCallOf(instruction);
    return call == ThreadCall::kBarrier || call == ThreadCall::kReduction;
  }

  // The accesses to which a thread may come from this one with no barrier between, and whether, on some way, in another
  // round of a loop.
  std::vector<std::pair<const Access*, bool>> Later(const Access& first) const {
    std::vector<std::pair<const Access*, bool>> later;
    // False where a barrier is.
    const auto visit = [&](const llvm::Instruction* from, bool around) {
      const auto found = by_block_.find(from->getParent());
      for (const llvm::Instruction* i = from; i != nullptr; i = i->getNextNode()) {
        if (IsBarrier(*i)) return false;
        if (found == by_block_.end()) continue;
        for (const Access* access : found->second) {
          if (access->instruction == i) later.emplace_back(access, around);
        }
      }
      return true;
    };
    std::set<std::pair<const Block*, bool>> seen;
    std::vector<std::pair<const Block*, bool>> open;
    const auto go_on = [&](const Block* block, bool around) {
      for (const Block* next : llvm::successors(block)) {
        open.emplace_back(next, around || order_.lookup(next) <= order_.lookup(block));
      }
    };
    const Block* start = first.instruction->getParent();
    if (visit(first.instruction->getNextNode(), false)) go_on(start, false);
    while (!open.empty()) {
      const auto [block, around] = open.back();
      open.pop_back();
      if (seen.insert({block, around}).second && visit(&block->front(), around)) go_on(block, around);
    }
    return later;
  }

  // What one lane does at `first` and another one at `second` may be at one place.
  bool MayMeet(const Access& first, const Access& second, bool around) {
    const Sum &here = sums_.Of(first.address), &there = sums_.Of(second.address);
    Sum apart = there;
    Add(&apart, here, -1);
    const auto changes = [&](const Factors& factors) {
      return around && llvm::any_of(factors, [&](const Value* v) { return IsOfLoop(v); });
    };
    // What a loop computes may be another number in its next round.
    for (const Sum* sum : {&here, &there}) {
      for (const auto& [factors, number] : *sum) {
        if (changes(factors)) apart[factors] = std::gcd(apart[factors], number);
      }
    }
    if (LieApart(here, there, apart, first.bytes, second.bytes)) return false;
    if (!around && IsOfOneThread(first, second)) return false;
    if (apart.empty()) return !AreLanesOwn(here, std::max(first.bytes, second.bytes));
    Sum stride_here, stride_there;
    if (!WarpsAreInRows(block_) || !Stride(here, &stride_here) || !Stride(there, &stride_there)) return true;
    if (stride_here != stride_there || stride_here.size() != 1 || changes(stride_here.begin()->first)) return true;
    for (const auto& [factors, number] : apart) {
      if (!llvm::all_of(factors, [&](const Value* v) { return shapes_.Of(v).Uniform(); })) return true;
    }
    const auto& [unit, number] = *stride_here.begin();
    return !Misses(apart, unit, std::abs(number), first.bytes, second.bytes);
  }

  int64_t ExtentOf(unsigned dimension) const {
    if (block_.x == 0) return dimension == 2 ? kMaxBlockZ : kMaxBlockX;
    return dimension == 0 ? block_.x : dimension == 1 ? block_.y : block_.z;
  }

  // Of a sum's term that is a thread's place in the block and nothing else.
  static std::optional<unsigned> DimensionOf(const Factors& factors) {
    auto* argument = factors.size() == 1 ? llvm::dyn_cast<llvm::Argument>(factors[0]) : nullptr;
    if (argument == nullptr || argument->getArgNo() < kTidX || argument->getArgNo() > kTidZ) return std::nullopt;
    return argument->getArgNo() - kTidX;
  }

  // Whichever threads they are of: two arrays, for example.
  bool LieApart(const Sum& here, const Sum& there, const Sum& apart, int64_t bytes_here, int64_t bytes_there) const {
    for (const auto& [factors, number] : apart) {
      if (!factors.empty() && !DimensionOf(factors)) return false;
    }
    // From the lowest to the highest of the distances that all of their threads have.
    int64_t low = 0, high = 0;
    if (const auto constant = apart.find({}); constant != apart.end()) low = high = constant->second;
    for (const auto& [sum, sign] : {std::pair(&here, -1), std::pair(&there, 1)}) {
      for (const auto& [factors, number] : *sum) {
        const std::optional<unsigned> dimension = DimensionOf(factors);
        if (!dimension) continue;
        const int64_t most = sign * number * (ExtentOf(*dimension) - 1);
        (most < 0 ? low : high) += most;
      }
    }
    return low >= bytes_here || high <= -bytes_there;
  }

  // Each thread of a warp has a place of its own there, of so many bytes at least.
  bool AreLanesOwn(const Sum& places, int64_t bytes) const {
    if (WarpsAreInRows(block_)) {
      Sum stride;
      return Stride(places, &stride) && stride.size() == 1 && bytes <= std::abs(stride.begin()->second);
    }
    std::array<int64_t, 3> strides = {};
    for (const auto& [factors, number] : places) {
      if (const std::optional<unsigned> dimension = DimensionOf(factors)) {
        strides[*dimension] = number;
      } else if (!llvm::all_of(factors, [&](const Value* v) { return shapes_.Of(v).Uniform(); })) {
        return false;
      }
    }
    int64_t row = bytes;
    for (unsigned d = 0; d < 3; ++d) {
      if (ExtentOf(d) > 1 && std::abs(strides[d]) < row) return false;
      row = std::max(row, std::abs(strides[d]) * ExtentOf(d));
    }
    return true;
  }

  // Only the thread comes to `second` whose place there is its own at `first`: `if (tid.x == 0)`, as sums end with.
  bool IsOfOneThread(const Access& first, const Access& second) {
    const Sum &here = sums_.Of(first.address), &there = sums_.Of(second.address);
    if (second.bytes > first.bytes || !AreLanesOwn(here, first.bytes)) return false;
    const Block* at = second.instruction->getParent();
    for (auto* node = tree_.getNode(at)->getIDom(); node != nullptr; node = node->getIDom()) {
      auto* branch = llvm::dyn_cast<llvm::BranchInst>(node->getBlock()->getTerminator());
      if (branch == nullptr || !branch->isConditional()) continue;
      auto* compare = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
      if (compare == nullptr || !compare->isEquality()) continue;
      const Block* equal = branch->getSuccessor(compare->getPredicate() == llvm::CmpInst::ICMP_EQ ? 0 : 1);
      if (!tree_.dominates(llvm::BasicBlockEdge(node->getBlock(), equal), at)) continue;
      Sum zero = sums_.Of(compare->getOperand(0)), apart = here;
      Add(&zero, sums_.Of(compare->getOperand(1)), -1);
      Add(&apart, there, -1);
      // Any multiple of what is 0 there makes no difference.
      const auto shared =
          llvm::find_if(zero, [&](const auto& term) { return !term.first.empty() && apart.contains(term.first); });
      if (shared == zero.end() || apart.at(shared->first) % shared->second != 0) continue;
      Add(&apart, zero, -(apart.at(shared->first) / shared->second));
      if (apart.empty()) return true;
    }
    return false;
  }

  // How much a sum grows from lane to lane; false if that is not known.
  bool Stride(const Sum& sum, Sum* stride) const {
    for (const auto& [factors, number] : sum) {
      Factors same;
      int64_t grows = 0;
      for (const Value* factor : factors) {
        const Shape shape = shapes_.Of(factor);
        if (shape.kind != Shape::kAffine || (grows != 0 && !shape.Uniform())) return false;
        if (shape.Uniform()) {
          same.push_back(factor);
        } else {
          grows = shape.stride;
        }
      }
      if (grows != 0) Add(stride, {{same, number}}, grows);
    }
    return true;
  }

  bool IsOfLoop(const Value* value) const {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    return instruction != nullptr && loops_.getLoopFor(instruction->getParent()) != nullptr;
  }

  // Lanes of a warp whose places are `stride` units apart do not reach each other's at a distance of `apart`.
  static bool Misses(const Sum& apart, const Factors& unit, int64_t stride, int64_t bytes_here, int64_t bytes_there) {
    int64_t distance = 0, steps = 0;  // and any multiple of `steps`
    for (const auto& [factors, number] : apart) {
      if (factors == unit) {
        distance = number;
      } else {
        steps = std::gcd(steps, number);
      }
    }
    const int64_t warp = stride * kWarpSize;
    if (steps % warp == 0) {
      // Each at its own place, or out of reach of all others.
      const int64_t beside = steps == 0 ? distance : distance % steps;
      if (beside == 0) return bytes_here <= stride && bytes_there <= stride;
      if (steps == 0 && std::abs(beside) >= warp) return true;
    }
    if (steps % stride != 0) return false;
    // Between the others' places.
    const int64_t between = (distance % stride + stride) % stride;
    return between >= bytes_here && between + bytes_there <= stride;
  }

  const Dim3 block_;
  const llvm::LoopInfo& loops_;
  const llvm::DominatorTree& tree_;
  const ShapeAnalysis shapes_;
  Sums sums_;
  llvm::DenseMap<const Block*, unsigned> order_;
  std::map<const Block*, std::vector<const Access*>> by_block_;
};

}  // namespace

bool WarpsAreInRows(const Dim3& block) { return block.x % kWarpSize == 0 || block.y * block.z == 1; }

bool CountsOnLockStep(llvm::Function& thread, const Dim3& block, const llvm::LoopInfo& loops,
                      const llvm::DominatorTree& tree) {
  std::vector<Access> accesses;
  bool ordered = false;
  for (llvm::Instruction& instruction : llvm::instructions(thread)) {
    const std::optional<Access> access = AccessOf(instruction);
    if (!access) continue;
    accesses.push_back(*access);
    ordered |= access->loads && access->ordered;
  }
  std::erase_if(accesses, [&](const Access& access) { return !access.shared && !ordered; });
  const bool can = std::any_of(accesses.begin(), accesses.end(), [&](const Access& store) {
    return std::any_of(accesses.begin(), accesses.end(), [&](const Access& load) { return Concerns(store, load); });
  });
  if (!can) return false;
  using Order = llvm::ReversePostOrderTraversal<const llvm::Function*>;
  const Order all(&thread);
  // Is not put in lanes at all.
  if (llvm::containsIrreducibleCFG<const Block*, const Order, const llvm::LoopInfo>(all, loops)) return false;
  return LockStep(thread, block, loops, tree).Matters(accesses);
}

}  // namespace wharf::device::soft
