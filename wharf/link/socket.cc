#include "wharf/link/socket.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace wharf::link {
namespace {

void SetOption(int fd, int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof(value)); }

}  // namespace

absl::StatusOr<UniqueFd> MakeBell() {
  UniqueFd bell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (bell.get() < 0) return ErrnoStatus(errno, "creating an eventfd");
  return bell;
}

void Ring(int bell) {
  const uint64_t one = 1;
  if (write(bell, &one, sizeof(one)) < 0) return;  // the counter is full: it rings already
}

void Silence(int bell) {
  uint64_t count = 0;
  if (read(bell, &count, sizeof(count)) < 0) return;  // it did not ring
}

void SetStreamOptions(int fd) {
  const int family = LocalAddress(fd).family();
  if (family != AF_INET && family != AF_INET6) return;
  SetOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
  // Unacknowledged data: by default the kernel goes on for a quarter of an hour.
  SetOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
}

bool WaitFor(int fd, short events, const TimePoint* deadline) {
  while (true) {
    timespec timeout{}, *wait = nullptr;
    if (deadline != nullptr) {
      const Nanoseconds left = std::max(*deadline - Clock::Real().Now(), Nanoseconds{0});
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
      timeout = {seconds.count(), (left - seconds).count()};
      wait = &timeout;
    }
    pollfd entry{fd, events, 0};
    const int ready = ppoll(&entry, 1, wait, nullptr);
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return true;  // the read or write that follows reports what is wrong
  }
}

absl::StatusOr<size_t> SendSome(int fd, std::span<const std::span<const std::byte>> pieces, size_t skip, bool wait) {
  std::array<iovec, 64> vectors;
  size_t count = 0;
  for (const auto& piece : pieces) {
    if (skip >= piece.size()) {
      skip -= piece.size();
      continue;
    }
    if (count == vectors.size()) break;
    vectors[count++] = {const_cast<std::byte*>(piece.data()) + skip, piece.size() - skip};
    skip = 0;
  }
  if (count == 0) return 0;
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = count;
  while (true) {
    const ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT));
    if (sent >= 0) return static_cast<size_t>(sent);
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait) return 0;
      WaitFor(fd, POLLOUT);  // somebody made the socket non-blocking
      continue;
    }
    return ConnectionError(errno);
  }
}

absl::Status ConnectionError(int error_number) { return Unavailable("connection lost: {}", strerror(error_number)); }

SocketAddress PeerAddress(int fd) {
  SocketAddress address;
  address.length = sizeof(address.storage);
  if (getpeername(fd, address.get(), &address.length) != 0) return SocketAddress{};
  return address;
}

SocketAddress LocalAddress(int fd) {
  SocketAddress address;
  address.length = sizeof(address.storage);
  if (getsockname(fd, address.get(), &address.length) != 0) return SocketAddress{};
  return address;
}

}  // namespace wharf::link
