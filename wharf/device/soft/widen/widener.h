// Makes code that runs the threads of a group, of consecutive tid.x, in the lanes of vectors.
//
// Control flow becomes masks, a loop goes on while any of its threads does, values that are the same in all threads
// stay scalar, and accesses to consecutive addresses become masked vector accesses. Where threads cannot part (flow.h),
// branches stay branches. What has no vector form, such as an atomic operation, is done for one lane after the other.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Function.h>

#include "wharf/device/soft/widen/interior.h"
#include "wharf/device/soft/widen/shape.h"

namespace wharf::device::soft {

struct WideForm {
  unsigned lanes = 0;
  bool all_exist = false;              // no group has threads beyond the block's edge
  bool warp = false;                   // a group is a warp: its operations become vector operations
  const Interior* interior = nullptr;  // if the thread function is one's
};

// The threads of a group, as they are compared.
Neighbours GroupOf(const WideForm& form);

// `thread` must have been simplified: no switches, a single return, loops in simplified and closed form. The result has
// one parameter more, the block's extent in x; its tid.x is the first thread's. Null if `thread` has something that
// cannot be widened, such as a variable in memory, or warp operations that the group may not come to together.
llvm::Function* MakeWide(llvm::Function& thread, const WideForm& form, llvm::LoopInfo& loops,
                         const llvm::DominatorTree& tree, const ShapeAnalysis& shapes);

}  // namespace wharf::device::soft
