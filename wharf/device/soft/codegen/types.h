// PTX's fundamental types as LLVM types. Half-precision values are carried as their bits.
#pragma once

#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/LLVMContext.h>

#include "wharf/device/ptx/ast.h"

namespace wharf::device::soft {

inline bool IsSigned(ptx::Type type) {
  return type == ptx::Type::kS8 || type == ptx::Type::kS16 || type == ptx::Type::kS32 || type == ptx::Type::kS64;
}

inline bool IsInteger(ptx::Type type) {
  return IsSigned(type) || type == ptx::Type::kU8 || type == ptx::Type::kU16 || type == ptx::Type::kU32 ||
         type == ptx::Type::kU64;
}

inline bool IsUntyped(ptx::Type type) {
  return type == ptx::Type::kB8 || type == ptx::Type::kB16 || type == ptx::Type::kB32 || type == ptx::Type::kB64 ||
         type == ptx::Type::kB128;
}

inline bool IsHalf(ptx::Type type) { return type == ptx::Type::kF16 || type == ptx::Type::kBF16; }
inline bool IsPackedHalf(ptx::Type type) { return type == ptx::Type::kF16x2 || type == ptx::Type::kBF16x2; }
inline bool IsPairOfBytes(ptx::Type type) { return type == ptx::Type::kE4M3x2 || type == ptx::Type::kE5M2x2; }
inline bool IsFloat(ptx::Type type) { return type == ptx::Type::kF32 || type == ptx::Type::kF64; }

// kF16x2 -> kF16, kBF16x2 -> kBF16, others as they are.
inline ptx::Type ElementOf(ptx::Type type) {
  if (type == ptx::Type::kF16x2) return ptx::Type::kF16;
  if (type == ptx::Type::kBF16x2) return ptx::Type::kBF16;
  return type;
}

inline uint32_t BitsOf(ptx::Type type) { return type == ptx::Type::kPred ? 1 : ptx::SizeOf(type) * 8; }

inline llvm::Type* LlvmType(llvm::LLVMContext& context, ptx::Type type) {
  if (type == ptx::Type::kF32) return llvm::Type::getFloatTy(context);
  if (type == ptx::Type::kF64) return llvm::Type::getDoubleTy(context);
  return llvm::IntegerType::get(context, BitsOf(type));
}

}  // namespace wharf::device::soft
