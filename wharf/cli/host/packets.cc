#include "wharf/cli/host/packets.h"

#include <sys/socket.h>

#include <span>

#include "wharf/base/passed_descriptors.h"

namespace wharf::cli {

absl::Status SendPacket(int socket, std::string_view packet, int fd, IfFull if_full) {
  const bool drop = if_full == IfFull::kDrop;
  const absl::Status sent = SendWithDescriptors(socket, std::as_bytes(std::span(packet)),
                                                {&fd, fd >= 0 ? size_t{1} : size_t{0}}, drop ? MSG_DONTWAIT : 0);
  return drop && !absl::IsUnavailable(sent) ? absl::OkStatus() : sent;
}

absl::StatusOr<std::optional<std::string>> ReceivePacket(int socket, size_t most) {
  std::string packet(most, '\0');
  const auto message = ReceiveWithDescriptors(socket, std::as_writable_bytes(std::span(packet)));
  if (absl::IsUnavailable(message.status())) return std::nullopt;
  WHARF_RETURN_IF_ERROR(message.status());
  CloseAll(message->descriptors);
  if (!message->whole) return DataLoss("a request of more than {} bytes", most);
  if (message->bytes == 0) return std::nullopt;
  packet.resize(message->bytes);
  return packet;
}

}  // namespace wharf::cli
