// The client's counters (WHARF_STATS) for people.
#pragma once

#include <string>

#include "wharf/base/status.h"

namespace wharf::cli {

// A table of the JSON file the drop-in libraries write at a program's end. kNotFound if the program made no CUDA call,
// kDataLoss if the file is not what they write.
absl::StatusOr<std::string> StatsTable(const std::string& json_path);
// Only what replay found and predicted, in a few lines. Fails in the same ways.
absl::StatusOr<std::string> ReplaySummary(const std::string& json_path);

}  // namespace wharf::cli
