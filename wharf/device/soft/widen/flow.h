// How the threads of a group come to each block of a thread function that is executed for all of them in lockstep:
// which blocks have the same threads, and which cannot be without any.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>

#include "wharf/device/soft/widen/shape.h"

namespace wharf::device::soft {

// For reducible code whose loops are in simplified form.
class Flow {
 public:
  Flow(llvm::Function& function, const llvm::LoopInfo& loops, const llvm::DominatorTree& tree,
       const ShapeAnalysis& shapes);

  enum class Way : uint8_t {
    kOwn,   // by several edges or a divergent branch: which threads is computed
    kSame,  // exactly the threads of `from`, a block before it in the same round of the same loop
    kOnly,  // the threads of `from`, its only predecessor, or none, as a uniform branch says
  };
  struct Coming {
    Way way = Way::kOwn;
    const llvm::BasicBlock* from = nullptr;
  };
  const Coming& To(const llvm::BasicBlock* block) const { return coming_.find(block)->second; }

  // The threads that enter go round together and leave together. Its header comes kSame from the preheader.
  bool Steady(const llvm::Loop* loop) const { return steady_.lookup(loop); }
  // The block whose threads, if there are any here, are those of this one.
  const llvm::BasicBlock* Root(const llvm::BasicBlock* block) const;
  // Whenever the round of the loop around it is executed, or the function, some thread is here.
  bool Always(const llvm::BasicBlock* block) const;
  // All threads that have not ended are here, or none.
  bool Converged(const llvm::BasicBlock* block) const;

 private:
  bool AllCome(const llvm::BasicBlock* from, const llvm::BasicBlock* to) const;
  Coming Find(const llvm::BasicBlock* block) const;
  bool OnlyEnds(const llvm::BasicBlock* block, const llvm::BasicBlock* not_to) const;

  const llvm::LoopInfo& loops_;
  const llvm::DominatorTree& tree_;
  const ShapeAnalysis& shapes_;
  llvm::DenseMap<const llvm::BasicBlock*, Coming> coming_;
  llvm::DenseMap<const llvm::Loop*, bool> steady_;
};

}  // namespace wharf::device::soft
