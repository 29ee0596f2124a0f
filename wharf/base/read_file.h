// A whole file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "wharf/base/status.h"

namespace wharf {

// kNotFound and others by errno.
absl::StatusOr<std::string> ReadFile(const std::string& path);
absl::StatusOr<std::vector<std::byte>> ReadBytes(const std::string& path);

}  // namespace wharf
