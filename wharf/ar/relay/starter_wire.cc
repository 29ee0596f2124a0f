#include "wharf/ar/relay/starter_wire.h"

#include <signal.h>

#include <optional>
#include <utility>

#include "wharf/base/passed_descriptors.h"

namespace wharf::ar {
namespace {

template <typename T>
std::span<std::byte> BytesOf(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

absl::Status Gone() { return Unavailable("the process that starts relays is gone"); }

}  // namespace

absl::Status AskForRelay(int starter, int connection) {
  char one = 1;
  const int descriptors[] = {connection};
  return SendWithDescriptors(starter, BytesOf(one), descriptors).ok() ? absl::OkStatus() : Gone();
}

absl::StatusOr<StartedRelay> ReceiveRelay(int starter) {
  int error = 0;
  const absl::StatusOr<ReceivedMessage> message = ReceiveWithDescriptors(starter, BytesOf(error));
  const bool answered = message.ok() && message->bytes == sizeof(error);
  if (answered && error == 0 && message->whole && message->descriptors.size() == 2) {
    return StartedRelay{link::UniqueFd(message->descriptors[0]), link::UniqueFd(message->descriptors[1])};
  }
  if (message.ok()) CloseAll(message->descriptors);
  if (!answered) return Gone();
  if (error != 0) return ErrnoStatus(error, "starting a relay");
  return Internal("a relay with other descriptors than its own");
}

std::optional<link::UniqueFd> NextRequest(int server) {
  char one = 0;
  const absl::StatusOr<ReceivedMessage> message = ReceiveWithDescriptors(server, BytesOf(one));
  if (!message.ok() || message->bytes == 0) return std::nullopt;
  if (message->whole && message->descriptors.size() == 1) return link::UniqueFd(message->descriptors[0]);
  CloseAll(message->descriptors);
  return link::UniqueFd();
}

absl::Status SendRelay(int server, int error, const StartedRelay& started) {
  const int descriptors[] = {started.socket.get(), started.line.get()};
  return SendWithDescriptors(server, BytesOf(error), std::span(descriptors).first(error == 0 ? 2 : 0));
}

absl::StatusOr<Subprocess> StartRelayProgram(const std::string& program, std::vector<std::string> arguments,
                                             Isolation isolation, int standard_error,
                                             std::span<const int> descriptors) {
  arguments.insert(arguments.begin(), "wharf-relay");
  std::vector<int> all = {kDevNull, kDevNull, standard_error};
  all.insert(all.end(), descriptors.begin(), descriptors.end());
  sigset_t none;
  sigemptyset(&none);
  return Subprocess::Start({.path = program,
                            .arguments = std::move(arguments),
                            .environment = std::vector<std::string>(),
                            .descriptors = std::move(all),
                            .isolation = isolation,
                            .own_group = true,
                            .blocked = none});
}

}  // namespace wharf::ar
