#include "wharf/device/soft/widen/thread_calls.h"

#include <llvm/ADT/StringSwitch.h>

namespace wharf::device::soft {

ThreadCall ThreadCallOf(const llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  if (call == nullptr || call->getCalledFunction() == nullptr) return ThreadCall::kNone;
  const llvm::StringRef name = call->getCalledFunction()->getName();
  return llvm::StringSwitch<ThreadCall>(name)
      .Case("wharf_barrier_sync", ThreadCall::kBarrier)
      .Case("wharf_barrier_reduce", ThreadCall::kReduction)
      .Case("wharf_warp_sync", ThreadCall::kWarpSync)
      .Case("wharf_shuffle", ThreadCall::kShuffle)
      .Case("wharf_vote", ThreadCall::kVote)
      .Case("wharf_match_any", ThreadCall::kMatchAny)
      .Case("wharf_match_all", ThreadCall::kMatchAll)
      .Case("wharf_redux", ThreadCall::kRedux)
      .Case("wharf.tensor.put", ThreadCall::kTensorPut)
      .Case("wharf_tensor", ThreadCall::kTensor)
      .Case("wharf.rows.load", ThreadCall::kRowsLoad)
      .Case("wharf.rows.store", ThreadCall::kRowsStore)
      .Case("wharf.tile.load", ThreadCall::kTileLoad)
      .Case("wharf.tile.store", ThreadCall::kTileStore)
      .Case("wharf.tensor.get", ThreadCall::kTensorGet)
      .Case("wharf_active_mask", ThreadCall::kActiveMask)
      .Cases("wharf_barrier_arrive", "wharf_yield", ThreadCall::kOther)
      .Case("wharf.reduced", ThreadCall::kReduced)
      .StartsWith("wharf.keep.", ThreadCall::kKeep)
      .StartsWith("wharf.reload.", ThreadCall::kReload)
      .Default(ThreadCall::kNone);
}

std::optional<unsigned> MembersOperand(ThreadCall call) {
  switch (call) {
    case ThreadCall::kWarpSync:
      return 1;
    case ThreadCall::kMatchAny:
    case ThreadCall::kMatchAll:
      return 2;
    case ThreadCall::kVote:
      return 3;
    case ThreadCall::kRedux:
      return 4;
    case ThreadCall::kShuffle:
      return 5;
    default:
      return std::nullopt;
  }
}

}  // namespace wharf::device::soft
