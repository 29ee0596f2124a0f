#include "wharf/device/soft/widen/flow.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>

#include "wharf/device/soft/widen/thread_calls.h"

namespace wharf::device::soft {
namespace {

using Block = llvm::BasicBlock;

bool IsHeader(const llvm::LoopInfo& loops, const Block* block) {
  const llvm::Loop* loop = loops.getLoopFor(block);
  return loop != nullptr && loop->getHeader() == block;
}

}  // namespace

Flow::Flow(llvm::Function& function, const llvm::LoopInfo& loops, const llvm::DominatorTree& tree,
           const ShapeAnalysis& shapes)
    : loops_(loops), tree_(tree), shapes_(shapes) {
  const llvm::ReversePostOrderTraversal<llvm::Function*> order(&function);
  for (const Block* block : order) {
    if (!IsHeader(loops, block)) coming_[block] = Find(block);
  }
  // Headers: a loop is steady if its latch has the threads of its header and they decide together.
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
    const Block *header = loop->getHeader(), *latch = loop->getLoopLatch(), *before = loop->getLoopPreheader();
    coming_[header] = {};
    const bool steady = !shapes.Diverges(latch) && Root(latch) == header;
    steady_[loop] = steady;
    if (steady) coming_[header] = {Way::kSame, before};
  }
}

// No way from `from` goes on to another round, out of the loop or to the end, but through `to`. Loops end.
bool Flow::AllCome(const Block* from, const Block* to) const {
  const llvm::Loop* loop = loops_.getLoopFor(to);
  llvm::SmallPtrSet<const Block*, 16> seen;
  llvm::SmallVector<const Block*, 16> open = {from};
  while (!open.empty()) {
    const Block* block = open.pop_back_val();
    if (llvm::isa<llvm::ReturnInst>(block->getTerminator())) return false;
    for (const Block* next : llvm::successors(block)) {
      if (next == to) continue;
      if (loop != nullptr && (!loop->contains(next) || next == loop->getHeader())) return false;
      if (seen.insert(next).second) open.push_back(next);
    }
  }
  return true;
}

Flow::Coming Flow::Find(const Block* block) const {
  const auto* node = tree_.getNode(block);
  if (node == nullptr || node->getIDom() == nullptr) return {};
  const llvm::Loop* loop = loops_.getLoopFor(block);
  node = node->getIDom();
  while (node != nullptr && loops_.getLoopFor(node->getBlock()) != loop) node = node->getIDom();
  if (node != nullptr && AllCome(node->getBlock(), block)) return {Way::kSame, node->getBlock()};
  const Block* before = block->getSinglePredecessor();
  if (before != nullptr && loops_.getLoopFor(before) == loop && !shapes_.Diverges(before)) return {Way::kOnly, before};
  return {};
}

const Block* Flow::Root(const Block* block) const {
  for (auto found = coming_.find(block); found != coming_.end() && found->second.from != nullptr;
       found = coming_.find(block)) {
    block = found->second.from;
  }
  return block;
}

bool Flow::Always(const Block* block) const {
  if (block->isEntryBlock() || IsHeader(loops_, block)) return true;
  const Coming& coming = To(block);
  return coming.way == Way::kSame && Always(coming.from);
}

// What comes after `block` is the end, with nothing on the way that concerns other threads.
bool Flow::OnlyEnds(const Block* block, const Block* not_to) const {
  llvm::SmallPtrSet<const Block*, 16> seen;
  llvm::SmallVector<const Block*, 16> open = {block};
  while (!open.empty()) {
    block = open.pop_back_val();
    if (block == not_to) return false;
    if (!seen.insert(block).second) continue;
    for (const llvm::Instruction& instruction : *block) {
      if (IsWarpOperation(ThreadCallOf(instruction))) return false;
    }
    open.append(llvm::succ_begin(block), llvm::succ_end(block));
  }
  return true;
}

bool Flow::Converged(const Block* block) const {
  if (block->isEntryBlock()) return true;
  const Coming& coming = To(block);
  if (coming.way != Way::kOwn) return Converged(coming.from);
  const Block* before = block->getSinglePredecessor();
  if (before == nullptr || IsHeader(loops_, block) || !Converged(before)) return false;
  for (const Block* other : llvm::successors(before)) {
    if (other != block && !OnlyEnds(other, block)) return false;
  }
  return true;
}

}  // namespace wharf::device::soft
