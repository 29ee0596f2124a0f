// Sockets: ownership, options, and reads and writes that never raise SIGPIPE. Internal to the room.
#pragma once

#include <unistd.h>

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"
#include "wharf/link/address.h"
#include "wharf/link/byte_stream.h"

namespace wharf::link {

class UniqueFd {
 public:
  explicit UniqueFd(int fd = -1) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) Reset(other.Release());
    return *this;
  }
  ~UniqueFd() { Reset(-1); }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

// An eventfd to wake a thread that polls: any number of rings are heard as one, until silenced.
absl::StatusOr<UniqueFd> MakeBell();
void Ring(int bell);
void Silence(int bell);

// No delay for small frames, keep-alive against middle boxes and vanished peers. Does nothing on Unix sockets.
void SetStreamOptions(int fd);
// Waits for `events` (poll); false when `deadline` passes first. No deadline: for ever.
bool WaitFor(int fd, short events, const TimePoint* deadline = nullptr);
// Bytes sent, at least one unless `wait` is false and none go (then 0).
absl::StatusOr<size_t> SendSome(int fd, std::span<const std::span<const std::byte>> pieces, size_t skip, bool wait);
// An error of reading from or writing to an established connection: what a user needs to know is that it is lost.
absl::Status ConnectionError(int error_number);
// A connected, blocking socket. `name` is the address as the user wrote it, for messages.
absl::StatusOr<UniqueFd> ConnectSocket(const ParsedAddress& address, const std::string& name, TimePoint deadline);
SocketAddress PeerAddress(int fd);
SocketAddress LocalAddress(int fd);
// TCP_INFO; nothing on other sockets.
std::optional<TransportInfo> SocketInfo(int fd);

}  // namespace wharf::link
