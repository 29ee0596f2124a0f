#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/cord.h"

#include "wharf/link/byte_stream.h"
#include "wharf/link/connect_again.h"
#include "wharf/link/socket.h"
#include "wharf/link/tls.h"

namespace wharf::link {
namespace {

constexpr const char* kRefused = "wharf/refused";

absl::Status NoAnswer(const std::string& address, int error_number) {
  absl::Status failure =
      Unavailable("no server answers at {}: {}; is a server of Wharf running there?", address, strerror(error_number));
  if (error_number == ECONNREFUSED || error_number == ENOENT) failure.SetPayload(kRefused, absl::Cord());
  return failure;
}

absl::StatusOr<UniqueFd> ConnectOne(const SocketAddress& where, const std::string& name, TimePoint deadline) {
  UniqueFd fd(socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) return ErrnoStatus(errno, "creating a socket");
  if (connect(fd.get(), where.get(), where.length) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) return NoAnswer(name, errno);
    if (!WaitFor(fd.get(), POLLOUT, &deadline)) return DeadlineExceeded("{} did not answer in time", name);
    int error = 0;
    socklen_t length = sizeof(error);
    getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error == ETIMEDOUT) return DeadlineExceeded("{} did not answer in time", name);
    if (error != 0) return NoAnswer(name, error);
  }
  fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
  return fd;
}

}  // namespace

bool IsRefused(const absl::Status& failure) { return failure.GetPayload(kRefused).has_value(); }

bool MayPass(const absl::Status& failure) {
  return (absl::IsUnavailable(failure) || absl::IsDeadlineExceeded(failure)) && !IsRefused(failure);
}

absl::StatusOr<UniqueFd> ConnectSocket(const ParsedAddress& address, const std::string& name, TimePoint deadline) {
  if (!address.is_unix && address.port == "0") return InvalidArgument("{}: port 0 cannot be connected to", name);
  WHARF_ASSIGN_OR_RETURN(const auto candidates, Resolve(address, /*passive=*/false));
  absl::Status last;
  for (const SocketAddress& candidate : candidates) {
    auto fd = ConnectOne(candidate, name, deadline);
    if (fd.ok()) return fd;
    last = fd.status();
  }
  return last;
}

namespace {

absl::StatusOr<std::unique_ptr<ByteStream>> ConnectAs(const std::string& address, const ConnectOptions& options,
                                                      bool again) {
  const TimePoint deadline = Clock::Real().Now() + options.timeout;
  if (options.by_number) WHARF_RETURN_IF_ERROR(CheckNumber(address));
  WHARF_ASSIGN_OR_RETURN(const ParsedAddress parsed, ParseAddress(address));
  WHARF_ASSIGN_OR_RETURN(UniqueFd fd, ConnectSocket(parsed, address, deadline));
  if (options.tls_client != nullptr) {
    return ConnectTls(fd.Release(), *options.tls_client, parsed.host, deadline, again);
  }
  if (!options.tls.has_value()) return FromSocket(fd.Release());
  return ConnectTls(fd.Release(), *options.tls, parsed.host, deadline, again);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ByteStream>> Connect(const std::string& address, const ConnectOptions& options) {
  return ConnectAs(address, options, /*again=*/false);
}

absl::StatusOr<std::unique_ptr<ByteStream>> ConnectAgain(const std::string& address, const ConnectOptions& options) {
  return ConnectAs(address, options, /*again=*/true);
}

}  // namespace wharf::link
