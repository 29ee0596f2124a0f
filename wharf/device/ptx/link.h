// Links PTX texts that were compiled separately (nvcc -rdc=true; cuLinkAddData).
#pragma once

#include <span>
#include <string>

#include "wharf/base/status.h"

namespace wharf::device::ptx {

// One text of several: what one declares .extern another may define; names that are private to a text, and another uses
// too, are changed. Of debug information only the first's stays. Whether anything is defined twice, and whether bodies
// make sense, shows when the result is parsed. kInvalidArgument with CudaError::kInvalidPtx and "text N: line M: …".
absl::StatusOr<std::string> Link(std::span<const std::string> texts);

}  // namespace wharf::device::ptx
