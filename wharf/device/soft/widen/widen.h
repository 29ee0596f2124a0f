// Executes neighbouring threads of a kernel in the lanes of vectors.
//
// LLVM's own vectoriser turns a loop over threads into vector code only if the thread's code has no loops itself, as
// grid-stride loops and matrix products have. Widen makes a function that runs `lanes` threads of consecutive tid.x in
// lockstep: control flow becomes masks, a loop goes on while any of its threads does, values that are the same in all
// threads stay scalar, and accesses to consecutive addresses become masked vector accesses.
#pragma once

#include <llvm/IR/Module.h>

namespace wharf::device::soft {

// `thread` is called by `entry` (see codegen_module.h) and must have been simplified: no switches, a single return,
// loops in simplified and closed form. If it has nothing that cannot be widened (calls of functions, arrays on the
// stack), `entry` is replaced by code that uses the wide form and the result is true.
bool Widen(llvm::Function* thread, llvm::Function* entry, unsigned lanes);

}  // namespace wharf::device::soft
