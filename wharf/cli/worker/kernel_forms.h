// What `wharf doctor --kernels` looks at: how the software device executes the kernels of a program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/device.h"
#include "wharf/device/soft/jit/compiler.h"

namespace wharf::cli {

struct ExaminedKernel {
  std::string name;    // as in the source, if that can be told
  device::Dim3 block;  // of the shape it was examined for
  absl::StatusOr<device::soft::KernelForm> form;
};

// Of a program or library with PTX in it, a fat binary, or PTX. Kernels that say what blocks they need are examined for
// those, others for `block`. Compiles each: seconds for many. kInvalidArgument: the file has no kernels that could run;
// the message says why.
absl::StatusOr<std::vector<ExaminedKernel>> ExamineKernels(const std::string& path, const device::Dim3& block);

// "in vector lanes" and so on.
const char* WordsFor(device::soft::KernelForm::Way way);

}  // namespace wharf::cli
