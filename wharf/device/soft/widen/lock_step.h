// Whether a kernel may count on warps that go in lockstep. On hardware the threads of a warp that have not parted go on
// together, and programs rely on it: one lane loads what another one has stored, with no barrier between. Threads in
// the lanes of vectors do the same if all lanes of a warp are in one group.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>

#include "wharf/device/device.h"

namespace wharf::device::soft {

// Warps are parts of the rows of a block of this shape.
bool WarpsAreInRows(const Dim3& block);

// Some lane of a warp may load from shared memory what another one has stored, with no barrier between; or, where the
// load is volatile, from any memory. True unless it is plain that lanes have places of their own: groups of a whole
// warp are right for every kernel, but where lanes' addresses are scattered they are slower. `thread` is simplified and
// still has its calls of barriers. `block`: zeros if any shape may come.
bool CountsOnLockStep(llvm::Function& thread, const Dim3& block, const llvm::LoopInfo& loops,
                      const llvm::DominatorTree& tree);

}  // namespace wharf::device::soft
