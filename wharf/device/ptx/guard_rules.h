// Which instructions a guarded kernel (guard.h) must check, and which keep a kernel from being guarded: calls,
// variables of the module, addresses that come from no parameter or that may be shared or local without saying so,
// parameters chosen at run time, traps, and waiting for other threads if any branch may depend on loaded data (a thread
// that is ended for want of fuel, or goes another way on account of a zero, would leave them waiting).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/ptx/ast.h"
#include "wharf/device/ptx/footprint_flow.h"

namespace wharf::device::ptx {

// An access that must be checked.
struct GuardedAccess {
  Space space = Space::kGlobal;      // kGlobal (generic addresses too), kShared or kLocal
  uint32_t bytes = 0;                // all of a vector's; its address must be a multiple of it
  size_t address = 0;                // which operand is the address
  std::vector<uint32_t> parameters;  // kGlobal: whose ranges it may touch, ascending
};

struct GuardPlan {
  std::map<uint32_t, GuardedAccess> accesses;  // by the instruction's index
  std::set<uint32_t> burning;                  // branches back, if they burn fuel
  std::set<uint32_t> written, read;            // parameters
  std::vector<Variable> shared, local;         // the kernel's own, of the module too
};

// kUnimplemented with CudaError::kNotSupported. REQUIRES: `flow` is solved and has no obstacle.
absl::StatusOr<GuardPlan> PlanGuard(const Module& module, const Flow& flow);

}  // namespace wharf::device::ptx
