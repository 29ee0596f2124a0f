// Goodbye: the last message of a session, which says why it ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "wharf/base/status.h"

namespace wharf::wire {

struct Goodbye {
  uint16_t code = 0;  // of absl::StatusCode
  std::string message;
  auto Fields() { return std::tie(code, message); }
};

// What a peer says, for people and their terminals: one line without control characters, and short.
std::string LineOf(std::string_view said);
// What it says, with the peer's code if it is one of a failure, else kUnavailable. Never OK, one line, and short.
absl::Status StatusOf(const Goodbye& goodbye);
Goodbye GoodbyeOf(const absl::Status& status);

}  // namespace wharf::wire
