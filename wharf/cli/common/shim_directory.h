// Where the drop-in CUDA libraries are, and how a program is made to load them.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::cli {

// The directory of this executable.
std::string ExecutableDirectory();

// $WHARF_SHIM_DIR, else ../lib/wharf beside the executable. kNotFound, with what to do, if no drop-in library is there.
absl::StatusOr<std::string> ShimDirectory();

// The drop-in libraries in `directory`, by SONAME (libcudart.so.13, …), sorted.
std::vector<std::string> ShimLibraries(const std::string& directory);

// The path `program` would be executed from, as a shell finds it. kNotFound, kPermissionDenied.
absl::StatusOr<std::string> FindProgram(const std::string& program);

}  // namespace wharf::cli
