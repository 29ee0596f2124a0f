// A policy's calls as the program that the kernel runs before each system call.
#pragma once

#include <linux/filter.h>

#include <vector>

#include "wharf/base/sandbox/sandbox.h"

namespace wharf {

// Empty where nothing is to be filtered: on machines that we know no numbers of, or if everything is allowed.
std::vector<sock_filter> MakeFilter(const SandboxPolicy& policy);

}  // namespace wharf
