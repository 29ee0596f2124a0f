// A whole file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "wharf/base/status.h"

namespace wharf {

// kNotFound and others by errno.
absl::StatusOr<std::string> ReadFile(const std::string& path);
absl::StatusOr<std::vector<std::byte>> ReadBytes(const std::string& path);

// The same of a file that nobody but this process's user, and root, can have put there or changed: a regular one, no
// link, the user's, which gives others none of `no_permissions`. kFailedPrecondition if it is another. Waits for
// nobody.
absl::StatusOr<std::string> ReadOwnFile(const std::string& path, mode_t no_permissions);

}  // namespace wharf
