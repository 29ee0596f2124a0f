// Text cut into parts. (absl::StrSplit's views are a type of their own in Debian's build.)
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace wharf {

// At every `separator`; one part if there is none. The parts point into `text`.
inline std::vector<std::string_view> SplitText(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

}  // namespace wharf
