#include "wharf/device/soft/jit/prefetch.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

namespace wharf::device::soft {
namespace {

constexpr uint64_t kBytesAhead = 1024;
// Operands of llvm.prefetch.
constexpr uint32_t kRead = 0, kKeepInAllCaches = 3, kDataCache = 1;

}  // namespace

void PrefetchMaskedLoads(llvm::Module* module) {
  llvm::SmallVector<llvm::IntrinsicInst*> loads;
  for (llvm::Function& function : *module) {
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : block) {
        auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        if (call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::masked_load) loads.push_back(call);
      }
    }
  }
  for (llvm::IntrinsicInst* load : loads) {
    llvm::IRBuilder<> builder(load);
    llvm::Value* ahead = builder.CreateConstGEP1_64(builder.getInt8Ty(), load->getArgOperand(0), kBytesAhead);
    builder.CreateIntrinsic(
        llvm::Intrinsic::prefetch, {ahead->getType()},
        {ahead, builder.getInt32(kRead), builder.getInt32(kKeepInAllCaches), builder.getInt32(kDataCache)});
  }
}

}  // namespace wharf::device::soft
