#include "wharf/wire/goodbye.h"

#include "wharf/base/control_character.h"

namespace wharf::wire {

std::string LineOf(std::string_view said) {
  constexpr size_t kMost = 500;
  std::string line;
  for (std::string_view left = said.substr(0, kMost); !left.empty();) {
    const size_t control = ControlCharacter(left);
    line += control > 0 ? ' ' : left[0];
    left.remove_prefix(control > 0 ? control : 1);
  }
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
