#include "wharf/wire/session_kind.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace wharf::wire {
namespace {

// The numbers of a kind's Hello, Welcome and Goodbye (of programs: Refusal) follow each other.
struct SessionKind {
  uint16_t hello;
  std::string_view server;
};
constexpr SessionKind kSessionKinds[] = {{1, "`wharf serve`"},
                                         {128, "`wharf serve`"},
                                         {160, "`wharf pipeline serve`"},
                                         {192, "`wharf ar serve` or `wharf serve --ar`"}};

// Empty: a number that does not begin a session.
std::string_view ServerOf(uint16_t kind) {
  const auto* found = std::find_if(std::begin(kSessionKinds), std::end(kSessionKinds),
                                   [&](const SessionKind& one) { return kind >= one.hello && kind <= one.hello + 2; });
  return found == std::end(kSessionKinds) ? "" : found->server;
}

}  // namespace

absl::Status CheckServer(uint16_t kind, uint16_t ours) {
  const std::string_view there = ServerOf(kind), wanted = ServerOf(ours);
  if (there.empty() || there == wanted) return absl::OkStatus();
  return FailedPrecondition("what answers there is {}; this wants {}", there, wanted);
}

absl::Status WrongHello(uint16_t kind, uint16_t ours) {
  const std::string_view wanted = ServerOf(kind), here = ServerOf(ours);
  if (wanted.empty() || wanted == here) return InvalidArgument("the first frame must be a Hello");
  return InvalidArgument("its client wants {}, and this is {}", wanted, here);
}

}  // namespace wharf::wire
