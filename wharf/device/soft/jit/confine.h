// Confines compiled code to the memory that a kernel owns ("Walls" in runtime/kernel_abi.h). It is the last pass before
// object code is made, so nothing the optimiser believes can take away what it adds.
//
// - The address of every access is brought into the confined range, but for accesses at constant offsets into the
//   contexts (read only) and into slots for results of the runtime. An address is a base plus summands whose types
//   bound them, such as a 32-bit index times the size of an element: only the base is confined, where it is defined,
//   so an access in a loop costs nothing more in most kernels. Gathers and scatters are confined lane by lane, if their
//   lanes have no base in common.
// - Variables that are still in memory move from the stack, where return addresses lie, to the thread's local memory.
// - Undefined values become zero, or they would be whatever is in a register.
//
// It trusts no one: code that has anything else in it than what is listed here, such as an indirect call or a pointer
// handed to the runtime, is refused.
#pragma once

#include <llvm/IR/Module.h>

#include "wharf/base/status.h"

namespace wharf::device::soft {

// Of a frame that does not touch every page: it stores where it returns to, so what two of them in a row leave
// untouched is less than StackPool::kGuardBytes.
inline constexpr uint64_t kMostFrameBytes = 24 << 10;

// A constant of the module, uint64_t: the bytes of local memory its functions keep their variables in, together.
inline constexpr char kLocalStackSymbol[] = "wharf_local_stack_bytes";

// Attributes that code must have from the beginning: null is an address like others, no tables of jumps, no library
// calls made of loops, large frames touch every page or, on AArch64, are reported to the module's diagnostic handler.
void AddConfinedAttributes(llvm::Function* function);

// Confine defines it; code that is not confined, which keeps nothing in local memory, needs it too.
void DefineLocalStackBytes(llvm::Module* module, uint64_t bytes);

// REQUIRES: a module as codegen/module.h makes it. kInternal, with the instruction, if it cannot be confined.
absl::Status Confine(llvm::Module* module);

}  // namespace wharf::device::soft
