// PTX parser. Input is hostile: it never crashes, recurses without bound or takes memory out of proportion to the text.
#pragma once

#include <memory>
#include <string>

#include "wharf/base/status.h"
#include "wharf/device/device.h"
#include "wharf/device/ptx/ast.h"

namespace wharf::device::ptx {

// Module-level directives: variables, functions' headers; bodies are only delimited. O(text). kInvalidArgument with
// CudaError::kInvalidPtx and "line N: …" on a syntax error.
absl::StatusOr<std::shared_ptr<const Module>> Parse(std::string text);

// One function's body. Same errors.
absl::StatusOr<Body> ParseBody(const Module& module, const Function& function);

// Offset and size of each parameter in the kernel's parameter buffer: each at the next multiple of its alignment.
std::vector<ParameterLayout> LayoutParameters(const Function& function);

}  // namespace wharf::device::ptx
