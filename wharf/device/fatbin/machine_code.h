// What machine code (a cubin) says of itself: the kernels that it defines, how their parameters lie, its variables. The
// code itself is not looked at. Format: docs/fatbin.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/device.h"

namespace wharf::device::fatbin {

struct MachineKernel {
  std::string name;
  std::vector<ParameterLayout> parameters;  // in order
  friend bool operator==(const MachineKernel&, const MachineKernel&) = default;
};

struct MachineVariable {
  std::string name;
  uint64_t size = 0;
  bool is_constant = false;
  friend bool operator==(const MachineVariable&, const MachineVariable&) = default;
};

struct MachineCode {
  uint32_t sm = 0;                         // 75 for sm_75; 0 if the image does not say
  std::vector<MachineKernel> kernels;      // by name
  std::vector<MachineVariable> variables;  // likewise
};

// kInvalidArgument: not such an image, or one that is malformed; kDataLoss: what it says of a kernel's parameters
// contradicts itself.
absl::StatusOr<MachineCode> ReadMachineCode(std::span<const std::byte> image);

// The image without the code, of which ReadMachineCode reads the same: what a server needs that has the code of its
// kernels from elsewhere. kInvalidArgument as there.
absl::StatusOr<std::vector<std::byte>> WithoutCode(std::span<const std::byte> image);

}  // namespace wharf::device::fatbin
