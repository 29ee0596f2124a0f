// Whole files.
#pragma once

#include <string>

#include "wharf/base/status.h"

namespace wharf::cli {

// kNotFound and others by errno.
absl::StatusOr<std::string> ReadFile(const std::string& path);
// In place of what is there. kPermissionDenied: it cannot be written.
absl::Status WriteFile(const std::string& path, const std::string& text);
// Whether WriteFile would succeed, for commands that would otherwise find out when their work is done. What is there
// stays; by errno if not.
absl::Status CheckWritable(const std::string& path);

}  // namespace wharf::cli
