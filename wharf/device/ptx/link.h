// Links PTX texts that were compiled separately (nvcc -rdc=true; cuLinkAddData).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "wharf/base/status.h"

namespace wharf::device::ptx {

// One text of several: what one declares .extern another may define; names that are private to a text, and another uses
// too, are changed. Of debug information only the first's stays. Whether anything is defined twice, and whether bodies
// make sense, shows when the result is parsed. kInvalidArgument with CudaError::kInvalidPtx and "text N: line M: …".
absl::StatusOr<std::string> Link(std::span<const std::string> texts);

// Whether a linked text can be loaded: every body makes sense, nothing is defined twice, and all that is declared is
// defined, in it or by the system of every device. kInvalidArgument with CudaError::kInvalidPtx says what is not.
absl::Status CheckLinked(const std::string& text);

// Functions that no module defines: vprintf, __assertfail, malloc, free, cudaGraphSetConditional, and those by which
// kernels launch others.
bool IsSystemFunction(std::string_view name);
// Of the last: what nvcc makes of a kernel's <<<>>> and of the streams and events of kernels from CUDA 12 on, with
// "__cudaCDP2" before what CUDA calls it, and the two that launch by the names that the PTX ISA gives them, for code
// that is not nvcc's. NVIDIA's device runtime has more of them, which are not here.
bool LaunchesKernels(std::string_view name);
// Which of them it is, without what stands before it: "LaunchDeviceV2". Empty: none.
std::string_view DeviceRuntimeName(std::string_view name);

}  // namespace wharf::device::ptx
