// What the compiler makes of one kernel, and the runtime executes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "wharf/device/device.h"
#include "wharf/device/soft/check/findings.h"
#include "wharf/device/soft/runtime/kernel_abi.h"

namespace wharf::device::soft {

// Shapes of blocks that code is made for, besides a shape of one's own. Dim3{} is none of "any": it is one thread.
inline constexpr Dim3 kAnyBlock{0, 0, 0}, kNarrow{1, 1, 1};
// Whether such blocks leave most lanes of vectors empty.
inline bool IsNarrow(const Dim3& block) { return block.x != 0 && block.x < kLeastWideExtent; }

struct CompiledKernel {
  ExecutionMode mode = ExecutionMode::kLoop;
  LoopEntry loop_entry = nullptr;      // mode kLoop
  ThreadEntry thread_entry = nullptr;  // mode kSuspendable
  bool wide = false;  // its threads are in lanes: blocks less than kLeastWideExtent wide have better code of their own
  bool by_shape = false;             // code for blocks of one shape may be faster than for any
  bool waits = false;                // a loop of it may wait for another thread, of any block
  bool launches_kernels = false;     // KernelLaunch::children must be there
  uint32_t static_shared_bytes = 0;  // dynamic shared memory starts here (already aligned to 16)
  uint32_t local_bytes = 0;          // .local arrays of one thread, including callees
  uint64_t local_stack_bytes = 0;    // what the compiled functions keep in local memory, together; often nothing
  uint32_t parameter_bytes = 0;
  uint32_t required_block[3] = {0, 0, 0};  // .reqntid, 0 if none
  uint32_t max_threads = 0;                // .maxntid product, 0 if none
  std::vector<ParameterLayout> parameters;
  std::shared_ptr<const check::SiteTable> sites;  // of code that is checked; null: it is not
};

}  // namespace wharf::device::soft
