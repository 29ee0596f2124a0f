// What a kernel may do to device memory, known before it runs: static analysis of its PTX.
//
// A kernel is *oblivious* if which addresses it touches, how often it loops and whether it ends depend only on its
// parameters, the launch's shape and where a thread stands in it, never on what memory holds. A launch of an oblivious
// kernel that ended well once touches the same addresses and ends well again whenever it is launched with the same
// parameters and shape while the same memory is mapped.
//
// Method: taint analysis over the virtual registers of the kernel and of all functions it calls, insensitive to order
// and to the caller (footprint_flow.h). It may say "not oblivious" of a kernel that is; it never says "oblivious" of
// one that is not, provided that the kernel reads no register before it is written and no lane of a warp that does not
// take part in the shuffle: what those hold is undefined.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/device.h"
#include "wharf/device/ptx/ast.h"

namespace wharf::device::ptx {

struct KernelFootprint {
  bool oblivious = false;
  // Why not, "line N: `instruction`: …", and why it cannot be guarded either if it cannot; "" if it is.
  std::string reason;
  bool guardable = false;  // only if not oblivious: GuardKernel (guard.h) can rewrite it
  // Only of an oblivious or guardable kernel, ascending. Offsets of 64-bit words in the parameter buffer that take part
  // in the addresses the kernel stores to (atomic operations included) and loads from (them included too). Words of
  // integers that are added to addresses are among them: what is no device address is no pointer.
  std::vector<uint32_t> written_parameters, read_parameters;
  // Module-scope .global and .const variables that are addressed directly; none of a guardable kernel.
  std::vector<std::string> written_variables, read_variables;
};

// O(instructions) in practice, bounded. kNotFound: the module defines no such kernel; kInvalidArgument: malformed PTX.
absl::StatusOr<KernelFootprint> FootprintOf(const Module& module, std::string_view kernel);

// The same in the device's terms: `find` tells where a variable is. Not oblivious if it fails.
Footprint Resolve(KernelFootprint footprint, const std::function<absl::StatusOr<Symbol>(const std::string&)>& find);

}  // namespace wharf::device::ptx
