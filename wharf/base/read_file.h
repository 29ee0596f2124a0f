// A whole file.
#pragma once

#include <string>

#include "wharf/base/status.h"

namespace wharf {

// kNotFound and others by errno.
absl::StatusOr<std::string> ReadFile(const std::string& path);

}  // namespace wharf
