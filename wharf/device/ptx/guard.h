// Guarded kernels: a kernel rewritten, PTX to PTX, so that whatever memory holds it touches nothing but what its launch
// allows it, does not fault and ends. The rewriting knows nothing of the device, so the same works on every one.
//
// - Every load, store and atomic operation on global memory is predicated by a check of its address: aligned, and all
//   of its bytes in the range of one of the parameters the address may be computed from (footprint_flow.h). Accesses to
//   shared and local memory are checked against the kernel's own variables. What fails the check is left out, results
//   are zero, and the violation word is set.
// - If any branch may depend on loaded data, every jump back burns fuel; a thread that has none left sets the violation
//   word and ends.
//
// Nothing else changes: a launch that keeps within its ranges and its fuel computes what the kernel computes, bit for
// bit where the device's assembler leaves floating-point instructions as they are (a GPU's may fuse a multiplication
// and an addition that name no rounding).
//
// What cannot be guarded, and why, is said by the status (guard_rules.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/device.h"
#include "wharf/device/ptx/ast.h"
#include "wharf/device/ptx/footprint_flow.h"

namespace wharf::device::ptx {

struct GuardedKernel {
  // A module that defines this one kernel, under its own name.
  std::string ptx;
  // As KernelFootprint's, ascending.
  std::vector<uint32_t> written_parameters, read_parameters;
  // Bytes of the kernel's own parameters, and where in the buffer the guard's begin: 64 bits each, the begin and size
  // of the range of every written or read parameter, ascending; the fuel; the violation word's address.
  uint32_t own_bytes = 0, guard_offset = 0;

  // The parameter buffer of a launch, made from the kernel's own. kInvalidArgument if that is too short or a parameter
  // has two ranges.
  absl::StatusOr<std::vector<std::byte>> Parameters(std::vector<std::byte> own, const device::Guard& guard) const;
};

// O(text of the kernel). kNotFound: the module defines no such kernel; kInvalidArgument: malformed PTX; kUnimplemented
// with CudaError::kNotSupported: it cannot be guarded, "line N: `instruction`: why".
absl::StatusOr<GuardedKernel> GuardKernel(const Module& module, std::string_view kernel);
// The same of the kernel that `flow` has solved, which belongs to `module` and has no obstacle.
absl::StatusOr<GuardedKernel> GuardKernel(const Module& module, const Flow& flow);

}  // namespace wharf::device::ptx
