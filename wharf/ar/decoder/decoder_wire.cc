#include "wharf/ar/decoder/decoder_wire.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace wharf::ar {
namespace {

absl::Status WhyCutShort(ssize_t done) {
  if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return absl::DeadlineExceededError("it takes too long");
  return Unavailable("the other end is gone");
}

}  // namespace

absl::Status ReadAll(int socket, std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t done = read(socket, into.data(), into.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return WhyCutShort(done);
    into = into.subspan(static_cast<size_t>(done));
  }
  return absl::OkStatus();
}

absl::Status WriteAll(int socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return WhyCutShort(done);
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
  return absl::OkStatus();
}

absl::Status AskForDecoder(int starter) {
  const char one = 1;
  return send(starter, &one, 1, MSG_NOSIGNAL) == 1 ? absl::OkStatus()
                                                   : Unavailable("the process that starts decoders is gone");
}

absl::StatusOr<StartedDecoder> ReceiveDecoder(int starter) {
  int error = 0;
  iovec piece{&error, sizeof(error)};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  ssize_t got = 0;
  while ((got = recvmsg(starter, &header, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  if (got != sizeof(error)) return Unavailable("the process that starts decoders is gone");
  if (error != 0) return ErrnoStatus(error, "starting a decoder");
  const cmsghdr* const part = CMSG_FIRSTHDR(&header);
  if (part == nullptr || part->cmsg_len != CMSG_LEN(2 * sizeof(int))) return Internal("a decoder without descriptors");
  int descriptors[2];
  std::memcpy(descriptors, CMSG_DATA(part), sizeof(descriptors));
  return StartedDecoder{descriptors[0], descriptors[1]};
}

absl::Status SendDecoder(int server, int error, const StartedDecoder& started) {
  iovec piece{&error, sizeof(error)};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  if (error == 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    cmsghdr* const part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(2 * sizeof(int));
    const int descriptors[2] = {started.socket, started.line};
    std::memcpy(CMSG_DATA(part), descriptors, sizeof(descriptors));
  }
  while (sendmsg(server, &header, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return ErrnoStatus(errno, "answering the server");
  }
  return absl::OkStatus();
}

}  // namespace wharf::ar
