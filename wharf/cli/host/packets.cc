#include "wharf/cli/host/packets.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace wharf::cli {

absl::Status SendPacket(int socket, std::string_view packet, int fd, IfFull if_full) {
  iovec piece{const_cast<char*>(packet.data()), packet.size()};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (fd >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    cmsghdr* const part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(part), &fd, sizeof(int));
  }
  const int flags = MSG_NOSIGNAL | (if_full == IfFull::kDrop ? MSG_DONTWAIT : 0);
  while (sendmsg(socket, &header, flags) < 0) {
    if (errno == EINTR) continue;
    if (if_full == IfFull::kDrop && (errno == EAGAIN || errno == EWOULDBLOCK)) return absl::OkStatus();
    return ErrnoStatus(errno, "an answer");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::string>> ReceivePacket(int socket, size_t most) {
  std::string packet(most, '\0');
  iovec piece{packet.data(), packet.size()};
  msghdr header{};  // without room for descriptors, which the system closes then
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  ssize_t got = -1;
  while ((got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC)) < 0) {
    if (errno == ECONNRESET) return std::nullopt;
    if (errno != EINTR) return ErrnoStatus(errno, "a request");
  }
  if ((header.msg_flags & MSG_TRUNC) != 0) return DataLoss("a request of more than {} bytes", most);
  if (got == 0) return std::nullopt;
  packet.resize(static_cast<size_t>(got));
  return packet;
}

}  // namespace wharf::cli
