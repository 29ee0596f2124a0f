// Where a thread function is split, and what is known of its threads there. Internal to the room.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/device.h"
#include "wharf/device/soft/widen/shape.h"

namespace wharf::device::soft {

struct Barrier {
  llvm::BasicBlock* before = nullptr;      // ends with the barrier
  llvm::BasicBlock* after = nullptr;       // its only way on
  std::optional<uint32_t> reduction;       // a ReduceOp
  llvm::Instruction* predicate = nullptr;  // of a reduction; in `before`
  llvm::Instruction* result = nullptr;     // likewise; at the start of `after`
};

struct Region {
  llvm::BasicBlock* start = nullptr;
  std::set<llvm::BasicBlock*> blocks;  // reached without another barrier
  std::set<size_t> barriers;           // at which it may end
};

// How a value that is needed after a barrier is kept.
enum class Keeping : uint8_t {
  kUniform,  // once for the block
  kRow,      // strided, or the same in all threads of a row
  kThread,   // for each thread
};

struct Kept {
  llvm::Instruction* value = nullptr;
  Keeping keeping = Keeping::kThread;
  int64_t stride = 0;  // of kRow
};

struct RegionPlan {
  std::vector<Barrier> barriers;
  std::vector<Region> regions;  // 0 is the kernel's start, i + 1 begins after barriers[i]
  std::vector<Kept> kept;
  std::vector<llvm::Instruction*> repeated;  // computed again in each region that needs them
  // Of these two: the regions that may need the value without having computed it.
  std::map<const llvm::Instruction*, std::set<size_t>> needed;
  std::vector<llvm::AllocaInst*> variables;
  bool ends_apart = false;  // some threads may end where others go on to a barrier

  // A cheap computation from what is always there, done again rather than kept.
  static bool IsRepeated(const llvm::Value* value);
  bool IsNeeded(const llvm::Instruction* value, size_t region) const { return needed.at(value).contains(region); }
};

// Splits `thread` at its barriers and removes them. kUnimplemented, with the reason: the threads of a block cannot be
// proved to keep together, or something is not understood.
absl::StatusOr<RegionPlan> PlanRegions(llvm::Function& thread, const Dim3& block);

}  // namespace wharf::device::soft
