// Calls in the code of one thread that stand for what several threads do together, in code for whole blocks: barriers,
// warp operations, and values that are kept from one part of the code to another. Widening and regions replace them.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/IR/Instructions.h>

#include <optional>

namespace wharf::device::soft {

enum class ThreadCall : uint8_t {
  kNone,
  kBarrier,     // wharf_barrier_sync(thread, id, threads)
  kReduction,   // wharf_barrier_reduce(thread, id, threads, op, predicate)
  kWarpSync,    // wharf_warp_sync(thread, members)
  kShuffle,     // wharf_shuffle(thread, mode, value, lane, clamp, members, null)
  kVote,        // wharf_vote(thread, mode, predicate, members)
  kMatchAny,    // wharf_match_any(thread, value, members)
  kMatchAll,    // wharf_match_all(thread, value, members, null)
  kRedux,       // wharf_redux(thread, op, signed, value, members)
  kTensorPut,   // wharf.tensor.put(thread, register, value)
  kTensor,      // wharf_tensor(thread, function, operation, null): of what was put
  kRowsLoad,    // wharf.rows.load(thread, row, matrices, transposed): ldmatrix, into the first registers
  kRowsStore,   // wharf.rows.store(thread, row, matrices, transposed): stmatrix, of what was put
  kTileLoad,    // wharf.tile.load(thread, first, stride, bits, columns, contiguous): see widener_tensor.cc
  kTileStore,   // wharf.tile.store(thread, first, stride, bits, columns, contiguous)
  kTensorGet,   // i32 wharf.tensor.get(thread, register): of the results
  kActiveMask,  // wharf_active_mask(thread, site)
  kKeep,        // wharf.keep.T(value, values, firsts, exacts, tid.x, stride); see regions.cc
  kReduced,     // i32 wharf.reduced(): what the barrier before has found out
  kReload,      // T wharf.reload.T(values, firsts, exacts, tid.x, stride)
  kOther,       // anything else that may suspend the thread
};

ThreadCall ThreadCallOf(const llvm::Instruction& instruction);

// Of a warp operation: the operand that names the lanes which take part; nothing if it has none.
std::optional<unsigned> MembersOperand(ThreadCall call);

// All lanes of the warp take part.
inline bool IsOfWholeWarp(ThreadCall call) { return call >= ThreadCall::kTensorPut && call <= ThreadCall::kTensorGet; }

inline bool IsWarpOperation(ThreadCall call) {
  return call >= ThreadCall::kWarpSync && call <= ThreadCall::kActiveMask;
}

inline constexpr unsigned kReloadStride = 4;

}  // namespace wharf::device::soft
