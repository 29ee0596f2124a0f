// Arbitrary packets as what a worker that was taken over says to the daemon, with descriptors or without: receiving
// them leaves no descriptor behind, and what was decoded is, sent again, the same.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>

#include "wharf/server/process/control_codec.h"

namespace wharf::server {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

// Which descriptor the next one would be.
int NextDescriptor() {
  const int next = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  Require(next >= 0);
  close(next);
  return next;
}

// Whether it was sent.
bool Send(int socket, std::span<const uint8_t> packet, int descriptors) {
  constexpr int kMost = 8;
  iovec piece{const_cast<uint8_t*>(packet.data()), packet.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMost * sizeof(int))] = {};
  if (descriptors > 0) {
    int copies[kMost];
    std::ranges::fill(copies, socket);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(static_cast<size_t>(descriptors) * sizeof(int));
    cmsghdr* const part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(static_cast<size_t>(descriptors) * sizeof(int));
    std::memcpy(CMSG_DATA(part), copies, static_cast<size_t>(descriptors) * sizeof(int));
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

template <typename T>
void DecodeAs(const ControlMessage& message, ControlKind kind) {
  const absl::StatusOr<T> decoded = DecodeControl<T>(message, kind);
  if (!decoded.ok()) return Require(absl::IsDataLoss(decoded.status()));
  Require(message.kind == kind);
  const std::vector<std::byte> again = wire::Encode(*decoded);
  Require(again.size() == message.body.size());
  const absl::StatusOr<T> same = wire::Decode<T>(again);
  Require(same.ok() && wire::Encode(*same) == again);
}

void Hear(std::span<const uint8_t> packet, int descriptors) {
  static const auto& ends = *[] {
    auto* const pair = new int[2];
    Require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    return reinterpret_cast<int(*)[2]>(pair);
  }();
  const int before = NextDescriptor();
  if (!Send(ends[1], packet, descriptors)) return;  // larger than a packet may be
  const absl::StatusOr<ControlMessage> message = ReceiveControl(ends[0]);
  if (message.ok()) {
    Require(!packet.empty() && packet.size() <= kMaxControlBytes + 1 && (message->fd >= 0) == (descriptors > 0));
    if (message->fd >= 0) close(message->fd);
    DecodeAs<AskAdmission>(*message, ControlKind::kAskAdmission);
    DecodeAs<SessionReport>(*message, ControlKind::kSessionReport);
    DecodeAs<ProbeResult>(*message, ControlKind::kProbeResult);
    DecodeAs<ResumeSession>(*message, ControlKind::kResumeSession);
    DecodeAs<Waiting>(*message, ControlKind::kWaiting);
    DecodeAs<ServeModels>(*message, ControlKind::kServeModels);
    DecodeAs<ClientRefused>(*message, ControlKind::kClientRefused);
  } else {
    Require(packet.empty() ? absl::IsUnavailable(message.status()) : absl::IsDataLoss(message.status()));
  }
  Require(NextDescriptor() == before);
}

}  // namespace
}  // namespace wharf::server

// The first byte says how many descriptors come along and how many zeros follow, the rest is the packet.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::vector<uint8_t> packet(data + 1, data + size);
  if (data[0] >= 128) packet.resize(packet.size() + (size_t{data[0]} - 128) * 1024);
  wharf::server::Hear(packet, data[0] % 8);
  return 0;
}
