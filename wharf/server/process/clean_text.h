// What strangers say, for logs and terminals.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace wharf::server {

// Printable ASCII, a question mark for anything else; the first `most` characters.
inline std::string CleanText(std::string_view text, size_t most) {
  std::string clean(text.substr(0, most));
  std::replace_if(
      clean.begin(), clean.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return clean;
}

}  // namespace wharf::server
