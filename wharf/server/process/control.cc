#include "wharf/server/process/control.h"

#include <sys/socket.h>

#include <cstring>
#include <span>

#include "wharf/base/passed_descriptors.h"

namespace wharf::server {
absl::Status SendControlBytes(int socket, ControlKind kind, const std::vector<std::byte>& body, int fd) {
  if (body.size() > kMaxControlBytes) return InvalidArgument("a control message of {} bytes", body.size());
  std::vector<std::byte> message = {static_cast<std::byte>(kind)};
  message.insert(message.end(), body.begin(), body.end());
  const absl::Status sent = SendWithDescriptors(socket, message, {&fd, fd >= 0 ? size_t{1} : size_t{0}}, MSG_DONTWAIT);
  explicit_bzero(message.data(), message.size());  // keys and secrets go this way, too
  return sent;
}

absl::StatusOr<ControlMessage> ReceiveControl(int socket) {
  std::vector<std::byte> buffer(kMaxControlBytes + 1);
  WHARF_ASSIGN_OR_RETURN(const ReceivedMessage received, ReceiveWithDescriptors(socket, buffer));
  if (received.bytes == 0 || !received.whole) {
    CloseAll(received.descriptors);  // an empty packet may bring some, too
    return received.bytes == 0 ? Unavailable("the other process is gone") : DataLoss("a control message is too long");
  }
  ControlMessage message;
  if (!received.descriptors.empty()) {  // a message may carry one
    message.fd = received.descriptors.front();
    CloseAll(std::span(received.descriptors).subspan(1));
  }
  message.kind = static_cast<ControlKind>(buffer[0]);
  message.body.assign(buffer.begin() + 1, buffer.begin() + static_cast<ptrdiff_t>(received.bytes));
  explicit_bzero(buffer.data(), received.bytes);
  return message;
}

}  // namespace wharf::server
