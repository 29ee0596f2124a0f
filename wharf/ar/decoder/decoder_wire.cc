#include "wharf/ar/decoder/decoder_wire.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace wharf::ar {
namespace {

absl::Status Failed(ssize_t done) {
  if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return absl::DeadlineExceededError("it takes too long");
  return Unavailable("the other end is gone");
}

}  // namespace

absl::Status ReadAll(int socket, std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t done = read(socket, into.data(), into.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return Failed(done);
    into = into.subspan(static_cast<size_t>(done));
  }
  return absl::OkStatus();
}

absl::Status WriteAll(int socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return Failed(done);
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
  return absl::OkStatus();
}

}  // namespace wharf::ar
