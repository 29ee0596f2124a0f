// The entry of a kernel that is made of regions. Internal to the room.
#pragma once

#include <llvm/IR/Function.h>

#include <vector>

#include "wharf/device/device.h"
#include "wharf/device/soft/widen/region_plan.h"

namespace wharf::device::soft {

// Of one value in memory: vectors of bits would be packed there.
llvm::Type* StoredType(const Kept& kept);

// A thread's variable in an array of all threads'.
llvm::Type* VariableType(const llvm::AllocaInst& variable);

struct RegionCode {
  llvm::Function* function = nullptr;
  unsigned lanes = 1;  // 1: for one thread
};

// Runs the regions one after the other, each for all threads of the block. `lanes`: of the groups by which kept values
// of rows are stored.
void MakeRegionEntry(llvm::Function* entry, const RegionPlan& plan, const Dim3& block, std::vector<RegionCode> regions,
                     unsigned lanes);

}  // namespace wharf::device::soft
