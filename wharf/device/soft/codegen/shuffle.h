// shfl's rule of which lane is read.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "wharf/device/soft/runtime/kernel_abi.h"

namespace wharf::device::soft {

struct ShuffledFrom {
  llvm::Value* lane;
  llvm::Value* in_range;  // if not, the lane reads its own value
};

// As the PTX ISA defines it, on 32-bit numbers or vectors of them.
ShuffledFrom ShuffleSource(llvm::IRBuilder<>& b, ShuffleMode mode, llvm::Value* lane, llvm::Value* operand,
                           llvm::Value* clamp);

}  // namespace wharf::device::soft
