// libonnx throws; here is where that ends.
#pragma once

#include <algorithm>
#include <exception>
#include <string>
#include <string_view>

#include "wharf/base/status.h"

namespace wharf::graph {

// kInvalidArgument if `function` throws: `where` and its message, on one line.
template <typename Function>
absl::Status Caught(std::string_view where, Function&& function) {
  try {
    function();
    return absl::OkStatus();
  } catch (const std::exception& error) {
    std::string text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return InvalidArgument("{}: {}", where, text);
  }
}

}  // namespace wharf::graph
