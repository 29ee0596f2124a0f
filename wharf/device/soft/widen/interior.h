// Most kernels begin with a check of bounds, `if (i < n)`. A row of threads (consecutive tid.x) that all pass it needs
// no masks: Interior is the thread function for such rows, and how to tell them.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>

#include <optional>
#include <set>
#include <utility>

#include "wharf/device/soft/widen/shape.h"

namespace wharf::device::soft {

// i1: `first`, the value of a group's first thread, is so far from the end of its type, as signed or unsigned integers
// have it, that `span` more, of its last thread, does not wrap.
llvm::Value* StaysInType(llvm::IRBuilder<>& b, llvm::Value* first, int64_t span, bool is_signed);

struct Interior {
  // The thread function without its check. The caller removes it from the module when it is done with it.
  llvm::Function* thread;
  // i1(arguments of the thread function): the thread passes the check. If the first and the last of a row do, all
  // between them do.
  llvm::Function* passes;
  // Values of `thread` that do not wrap within such a row, as signed (true) or unsigned integers.
  std::set<std::pair<const llvm::Value*, bool>> steady;
};

// None if `thread` does not begin with a check that is true for a range of threads, or if the threads of a group may go
// different numbers of times through a loop, or if it is long. `in_group` are the shapes of `thread`, which stays as it
// is.
std::optional<Interior> FindInterior(llvm::Function& thread, const ShapeAnalysis& in_group, const llvm::LoopInfo& loops,
                                     const llvm::DominatorTree& tree);

}  // namespace wharf::device::soft
