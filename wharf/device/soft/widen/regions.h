// Executes kernels with barriers as loops over the threads of a block: the thread's code is split at its barriers into
// regions, and each region runs for all threads, in the lanes of vectors where possible, before the next one begins.
//
// Only where it can be proved that all threads which have not ended come to the same barrier; what lives across it is
// kept in arrays by thread, or once for the block. Warp operations need groups that are warps, in which all lanes that
// take part meet (widener.h). Anything else is left to suspendable threads.
// As MCUDA, pocl and whole-function vectorisation do it (docs/references.md).
#pragma once

#include <llvm/IR/Function.h>

#include <functional>

#include "wharf/base/status.h"
#include "wharf/device/device.h"

namespace wharf::device::soft {

struct RegionOptions {
  Dim3 block;          // the kernel will be launched with blocks of this shape only
  unsigned lanes = 8;  // of a vector
  // Brings a function into the form MakeWide needs.
  std::function<void(llvm::Function*)> tidy;
};

// `thread` is called by `entry` (codegen/module.h) and must have the form MakeWide needs; it goes, and `entry` is a
// LoopEntry. kUnimplemented, with the reason for people: it cannot be done, and the module is of no use any more.
absl::Status SplitIntoRegions(llvm::Function* thread, llvm::Function* entry, const RegionOptions& of_shape);

}  // namespace wharf::device::soft
