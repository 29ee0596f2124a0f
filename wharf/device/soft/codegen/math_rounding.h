// Exactly rounded arithmetic in rounding modes other than to nearest, without changing the CPU's rounding mode, so that
// the code vectorises: the result to nearest is computed together with the sign of its error and moved by one unit if
// that error is on the wrong side. Single precision works in double; double precision calls RoundedDouble.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>

#include "wharf/device/soft/processor/rounded_double.h"

namespace wharf::device::soft {

// x * y + z, rounded once, to nearest.
llvm::Value* FusedMultiplyAdd(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y, llvm::Value* z);

// Subnormal f32 or f64 values become zeros of the same sign.
llvm::Value* FlushSubnormal(llvm::IRBuilder<>& b, llvm::Value* value);

// f32. kNearest is the plain operation.
llvm::Value* AddSingle(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y, Rounding rounding);
llvm::Value* MulSingle(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y, Rounding rounding);
llvm::Value* FmaSingle(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y, llvm::Value* z, Rounding rounding);
llvm::Value* DivSingle(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y, Rounding rounding);
llvm::Value* SqrtSingle(llvm::IRBuilder<>& b, llvm::Value* x, Rounding rounding);
// f64 -> f32.
llvm::Value* NarrowToSingle(llvm::IRBuilder<>& b, llvm::Value* x, Rounding rounding);
// Rounded to odd: the inexact results have an odd last bit, so that a second rounding to fewer bits is right.
llvm::Value* NarrowToSingleOdd(llvm::IRBuilder<>& b, llvm::Value* x);
llvm::Value* FmaSingleOdd(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y, llvm::Value* z);

// Moves `nearest` (f32), a value rounded to nearest whose error (exact - nearest) has the sign of `error` (f64, zero or
// NaN: none), to where `rounding` says.
llvm::Value* AdjustSingle(llvm::IRBuilder<>& b, llvm::Value* nearest, llvm::Value* error, Rounding rounding);

// Integer of 8 to 64 bits -> f32 or f64.
llvm::Value* IntegerToFloat(llvm::IRBuilder<>& b, llvm::Value* x, bool is_signed, llvm::Type* to, Rounding rounding);

// f16 or bf16 bits <-> f32; narrowing to nearest-even or toward zero. A NaN becomes 0x7fff.
llvm::Value* HalfToSingle(llvm::IRBuilder<>& b, llvm::Value* bits);
llvm::Value* SingleToHalf(llvm::IRBuilder<>& b, llvm::Value* x, Rounding rounding);
llvm::Value* BrainToSingle(llvm::IRBuilder<>& b, llvm::Value* bits);
llvm::Value* SingleToBrain(llvm::IRBuilder<>& b, llvm::Value* x, Rounding rounding);
// A float in the lowest byte of an i32 <-> f32. `mantissa`: its bits: 3 of e4m3, 2 of e5m2. Narrowing to nearest-even
// or, beyond all finite numbers, to the last of them. A NaN becomes 0x7f.
llvm::Value* ByteToSingle(llvm::IRBuilder<>& b, llvm::Value* bits, uint32_t mantissa);
llvm::Value* SingleToByte(llvm::IRBuilder<>& b, llvm::Value* x, uint32_t mantissa);

}  // namespace wharf::device::soft
