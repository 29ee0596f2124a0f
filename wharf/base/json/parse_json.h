// Reads JSON that a peer or a file brings: what is too large or too deep is refused before it takes memory.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include "wharf/base/status.h"

namespace wharf {

struct JsonLimits {
  size_t bytes;  // of the text
  int depth;     // arrays and objects in each other: {"a": [1]} is 2 deep
};

// `what` stands for the text in messages: "a plan". kInvalidArgument: longer, deeper or no JSON.
absl::StatusOr<nlohmann::json> ParseJson(std::string_view text, std::string_view what, const JsonLimits& limits);

}  // namespace wharf
