// Whole files.
#pragma once

#include <string>

#include "wharf/base/read_file.h"

namespace wharf::cli {

// In place of what is there. kPermissionDenied: it cannot be written.
absl::Status WriteFile(const std::string& path, const std::string& text);
// Whether WriteFile would succeed, for commands that would otherwise find out when their work is done. What is there
// stays; by errno if not.
absl::Status CheckWritable(const std::string& path);

}  // namespace wharf::cli
