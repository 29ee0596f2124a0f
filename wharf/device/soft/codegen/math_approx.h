// PTX's approximate functions of f32 as straight-line code that vectorises. Errors are about 1 ulp (sin, cos: 1e-7
// absolute), well inside the bounds the PTX ISA documents; special values are as documented. Polynomials are
// interpolations at Chebyshev nodes.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace wharf::device::soft {

llvm::Value* ApproximateExp2(llvm::IRBuilder<>& b, llvm::Value* x);
llvm::Value* ApproximateLog2(llvm::IRBuilder<>& b, llvm::Value* x);
llvm::Value* ApproximateSine(llvm::IRBuilder<>& b, llvm::Value* x, bool cosine);
llvm::Value* ApproximateTanh(llvm::IRBuilder<>& b, llvm::Value* x);

}  // namespace wharf::device::soft
