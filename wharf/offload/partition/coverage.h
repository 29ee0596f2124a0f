// Which bytes a launch writes, found out by running it twice.
//
// A kernel that is oblivious (Device::FootprintOf) writes the same addresses whenever it is launched with the same
// arguments. If it does not read the allocations it writes, what it writes there does not depend on what they held. So
// it is run once with these full of one pattern and once full of the pattern's complement: a byte that kept its pattern
// both times was not written, as no value equals both. Without this knowledge every output would have to be sent to the
// other side before a kernel that overwrites it can run there.
#pragma once

#include <vector>

#include "wharf/offload/replay/undo_log.h"
#include "wharf/offload/wire.h"

namespace wharf::offload {

// Runs the launch, twice, and waits. `targets`: what it writes and does not read; their contents are lost but for what
// it writes, which is as after one launch. Returns that, in order of address.
absl::StatusOr<std::vector<MemoryRange>> RunForCoverage(device::Device& device, const Launch& op,
                                                        const std::vector<MemoryRange>& targets);

}  // namespace wharf::offload
