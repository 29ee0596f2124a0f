#include "wharf/wire/goodbye.h"

#include <algorithm>

namespace wharf::wire {

std::string LineOf(std::string_view said) {
  constexpr size_t kMost = 500;
  std::string line(said.substr(0, kMost));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return line;
}

absl::Status StatusOf(const Goodbye& goodbye) {
  const bool known = goodbye.code > 0 && goodbye.code <= static_cast<uint16_t>(absl::StatusCode::kUnauthenticated);
  const std::string message = LineOf(goodbye.message);
  return MakeStatus(known ? static_cast<absl::StatusCode>(goodbye.code) : absl::StatusCode::kUnavailable, "{}",
                    message.empty() ? "the peer ended the session" : message);
}

Goodbye GoodbyeOf(const absl::Status& status) {
  return {static_cast<uint16_t>(status.code()), std::string(Message(status))};
}

}  // namespace wharf::wire
