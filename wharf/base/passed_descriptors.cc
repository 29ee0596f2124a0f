#include "wharf/base/passed_descriptors.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace wharf {

absl::Status SendWithDescriptors(int socket, std::span<const std::byte> bytes, std::span<const int> descriptors,
                                 int flags) {
  iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMostPassedDescriptors * sizeof(int))] = {};
  if (descriptors.size() > kMostPassedDescriptors) return InvalidArgument("{} descriptors", descriptors.size());
  if (!descriptors.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
  }
  while (sendmsg(socket, &header, MSG_NOSIGNAL | flags) < 0) {
    if (errno != EINTR) return ErrnoStatus(errno, "sending to another process");
  }
  return absl::OkStatus();
}

absl::StatusOr<ReceivedMessage> ReceiveWithDescriptors(int socket, std::span<std::byte> into, int flags) {
  iovec piece{into.data(), into.size()};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMostPassedDescriptors * sizeof(int))] = {};
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  ssize_t got = -1;
  while ((got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | flags)) < 0) {
    if (errno != EINTR) return ErrnoStatus(errno, "receiving from another process");
  }
  ReceivedMessage message;
  message.bytes = static_cast<size_t>(got);
  message.whole = (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;  // the kernel has closed what had no room
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t before = message.descriptors.size(), count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    message.descriptors.resize(before + count);
    std::memcpy(message.descriptors.data() + before, CMSG_DATA(part), count * sizeof(int));
  }
  return message;
}

void CloseAll(std::span<const int> descriptors) {
  for (const int one : descriptors) close(one);
}

absl::Status PassSocket(int door, int socket) {
  const std::byte one{};  // a packet without any would look like the end
  return SendWithDescriptors(door, {&one, 1}, {&socket, 1}, MSG_DONTWAIT);
}

int TakeSocket(int door) {
  std::byte one{};
  const absl::StatusOr<ReceivedMessage> message = ReceiveWithDescriptors(door, {&one, 1}, MSG_DONTWAIT);
  if (!message.ok() || message->descriptors.empty()) return -1;
  CloseAll(std::span(message->descriptors).subspan(1));
  return message->descriptors.front();
}

}  // namespace wharf
