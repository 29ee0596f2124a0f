// Moves variables from the stack to the thread's local memory.
#pragma once

#include <cstdint>

#include "wharf/base/status.h"
#include "wharf/device/soft/jit/walls.h"

namespace wharf::device::soft {

// All variables of the function but slots: those that are handed to the runtime and otherwise only read and written as
// a whole. Returns how many bytes one activation keeps in local memory.
absl::StatusOr<uint64_t> MoveVariables(Walls& walls);

}  // namespace wharf::device::soft
