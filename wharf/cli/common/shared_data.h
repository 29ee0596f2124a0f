// Data files that Wharf brings: measured profiles, traces.
#pragma once

#include <string>

#include "wharf/base/status.h"

namespace wharf::cli {

// The folder of that name in share/wharf where Wharf is installed, else in data/ of the source that this program was
// built in, else of the current folder. kNotFound, one line: nowhere; `option` is what the user can say instead.
absl::StatusOr<std::string> FindSharedData(const std::string& name, const std::string& option);

}  // namespace wharf::cli
