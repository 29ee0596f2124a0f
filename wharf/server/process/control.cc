#include "wharf/server/process/control.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace wharf::server {
namespace {

// Takes the one descriptor a message may carry; closes any more.
int TakeDescriptor(msghdr& header) {
  int taken = -1;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      if (taken < 0) {
        taken = fd;
      } else {
        close(fd);
      }
    }
  }
  return taken;
}

}  // namespace

absl::Status SendControlBytes(int socket, ControlKind kind, const std::vector<std::byte>& body, int fd) {
  if (body.size() > kMaxControlBytes) return InvalidArgument("a control message of {} bytes", body.size());
  auto kind_byte = static_cast<uint8_t>(kind);
  iovec pieces[2] = {{&kind_byte, 1}, {const_cast<std::byte*>(body.data()), body.size()}};
  msghdr header{};
  header.msg_iov = pieces;
  header.msg_iovlen = 2;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (fd >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(part), &fd, sizeof(int));
  }
  while (sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno != EINTR) return ErrnoStatus(errno, "control socket");
  }
  return absl::OkStatus();
}

absl::StatusOr<ControlMessage> ReceiveControl(int socket) {
  std::vector<std::byte> buffer(kMaxControlBytes + 1);
  iovec piece{buffer.data(), buffer.size()};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {};
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  ssize_t got = -1;
  while ((got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC)) < 0) {
    if (errno != EINTR) return ErrnoStatus(errno, "control socket");
  }
  ControlMessage message;
  message.fd = TakeDescriptor(header);
  const bool whole = (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  if (got == 0 || !whole) {
    if (message.fd >= 0) close(message.fd);  // an empty packet may bring one, too
    return got == 0 ? Unavailable("the other process is gone") : DataLoss("a control message is too long");
  }
  message.kind = static_cast<ControlKind>(buffer[0]);
  message.body.assign(buffer.begin() + 1, buffer.begin() + got);
  explicit_bzero(buffer.data(), static_cast<size_t>(got));  // keys and secrets come this way, too
  return message;
}

}  // namespace wharf::server
