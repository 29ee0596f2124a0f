// A policy's rules as the program that the kernel runs before each system call.
#pragma once

#include <linux/filter.h>

#include <vector>

#include "wharf/base/sandbox/sandbox.h"

namespace wharf {

// For the calling process. Empty if everything is allowed; kUnimplemented on machines that we know no numbers of.
absl::StatusOr<std::vector<sock_filter>> MakeFilter(const SandboxPolicy& policy);

}  // namespace wharf
