#include "wharf/wire/goodbye.h"

#include <algorithm>

namespace wharf::wire {

absl::Status StatusOf(const Goodbye& goodbye) {
  constexpr size_t kMaxMessage = 500;
  const bool known = goodbye.code > 0 && goodbye.code <= static_cast<uint16_t>(absl::StatusCode::kUnauthenticated);
  std::string message = goodbye.message.substr(0, kMaxMessage);
  std::replace_if(
      message.begin(), message.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return MakeStatus(known ? static_cast<absl::StatusCode>(goodbye.code) : absl::StatusCode::kUnavailable, "{}",
                    message.empty() ? "the peer ended the session" : message);
}

Goodbye GoodbyeOf(const absl::Status& status) {
  return {static_cast<uint16_t>(status.code()), std::string(Message(status))};
}

}  // namespace wharf::wire
