// Control characters in words of strangers, which terminals obey: those of ASCII, and of C1 as UTF-8 has them.
#pragma once

#include <cstddef>
#include <string_view>

namespace wharf {

// How long the control character is that the text begins with, in bytes: 0 if it begins with none. REQUIRES: the text
// is not empty.
inline size_t ControlCharacter(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (at(0) < ' ' || at(0) == 0x7f) return 1;
  return text.size() > 1 && at(0) == 0xc2 && at(1) >= 0x80 && at(1) < 0xa0 ? 2 : 0;
}

inline bool HasControlCharacter(std::string_view text) {
  for (; !text.empty(); text.remove_prefix(1)) {
    if (ControlCharacter(text) > 0) return true;
  }
  return false;
}

}  // namespace wharf
