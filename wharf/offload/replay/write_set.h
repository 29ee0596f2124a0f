// The memory an operation may write, as far as it is known before it runs.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "wharf/device/device.h"
#include "wharf/offload/replay/step_op.h"
#include "wharf/offload/replay/undo_log.h"

namespace wharf::offload {

// The session's allocations: address -> size.
using Mappings = std::map<device::DeviceAddress, uint64_t>;

struct WriteSet {
  std::vector<MemoryRange> ranges;
  // Set for a kernel that keeps to the ranges only if it is launched with this guard, whose violation word and fuel are
  // the caller's to choose. What it does is then known only when it has ended: nothing, as far as others can see, if
  // the guard was violated and the ranges are restored.
  std::optional<device::Guard> guard;
};

// nullopt if running `op` before the program asks for it could do what cannot be taken back: write memory that is not
// known, fault, run for ever, or change something else than memory. The promise holds for an operation that has run
// before with these very arguments and without a fault, in a session whose memory, code and streams are the same as
// then. Empty for operations that write nothing on the device.
std::optional<WriteSet> WritesOf(const StepOp& op, device::Device& device, const Mappings& mappings);

}  // namespace wharf::offload
