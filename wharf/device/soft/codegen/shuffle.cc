#include "wharf/device/soft/codegen/shuffle.h"

namespace wharf::device::soft {

ShuffledFrom ShuffleSource(llvm::IRBuilder<>& b, ShuffleMode mode, llvm::Value* lane, llvm::Value* operand,
                           llvm::Value* clamp) {
  const auto number = [&](uint64_t n) { return llvm::ConstantInt::get(lane->getType(), n); };
  llvm::Value* segment = b.CreateAnd(b.CreateLShr(clamp, 8), number(31));
  llvm::Value* low = b.CreateAnd(operand, number(31));
  llvm::Value* outside = b.CreateNot(segment);
  llvm::Value* limit = b.CreateOr(b.CreateAnd(lane, segment), b.CreateAnd(b.CreateAnd(clamp, number(31)), outside));
  if (mode == ShuffleMode::kUp) {
    llvm::Value* source = b.CreateSub(lane, low);
    return {source, b.CreateICmpSGE(source, limit)};
  }
  llvm::Value* source = mode == ShuffleMode::kDown ? b.CreateAdd(lane, low)
                        : mode == ShuffleMode::kBfly
                            ? b.CreateXor(lane, low)
                            : b.CreateOr(b.CreateAnd(lane, segment), b.CreateAnd(low, outside));
  return {source, b.CreateICmpSLE(source, limit)};
}

}  // namespace wharf::device::soft
