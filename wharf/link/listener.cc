#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "wharf/link/byte_stream.h"
#include "wharf/link/inherited_listener.h"
#include "wharf/link/socket.h"

namespace wharf::link {
namespace {

class SocketListener final : public Listener {
 public:
  SocketListener(UniqueFd socket, UniqueFd wake, std::string address, std::string unlink_path)
      : socket_(std::move(socket)),
        wake_(std::move(wake)),
        address_(std::move(address)),
        unlink_path_(std::move(unlink_path)) {}

  ~SocketListener() override {
    if (!unlink_path_.empty()) unlink(unlink_path_.c_str());
  }

  std::string Address() const override { return address_; }

  absl::StatusOr<int> Accept() override {
    while (true) {
      pollfd entries[2] = {{socket_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
      if (poll(entries, 2, -1) < 0 && errno != EINTR) return ErrnoStatus(errno, "waiting for a connection");
      if (entries[1].revents != 0) return Aborted("listener on {} was shut down", address_);
      // The listening socket does not block, so a client that is gone again cannot hold us up here.
      const int fd = accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0) return fd;
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        return ErrnoStatus(errno, "accepting a connection");
      }
      // Everything else concerns the one connection that did not come about.
    }
  }

  // Never silenced, so every later Accept hears it too.
  void Shutdown() override { Ring(wake_.get()); }

 private:
  const UniqueFd socket_;
  const UniqueFd wake_;
  const std::string address_;
  const std::string unlink_path_;
};

// A Unix socket's file outlives a server that was killed: if nobody answers there, it is removed. Nor does anybody at a
// file of another kind, which is somebody's.
void RemoveStaleSocket(const SocketAddress& address) {
  struct stat facts {};
  const char* const path = reinterpret_cast<const sockaddr_un*>(address.get())->sun_path;
  if (lstat(path, &facts) != 0 || !S_ISSOCK(facts.st_mode)) return;
  UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (probe.get() < 0 || connect(probe.get(), address.get(), address.length) == 0 || errno != ECONNREFUSED) return;
  unlink(path);
}

absl::StatusOr<UniqueFd> Bind(const SocketAddress& where, const ParsedAddress& parsed) {
  UniqueFd fd(socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) return ErrnoStatus(errno, "creating a socket");
  const int on = 1;
  if (parsed.is_unix) {
    RemoveStaleSocket(where);
  } else {
    setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  }
  if (bind(fd.get(), where.get(), where.length) != 0 || listen(fd.get(), SOMAXCONN) != 0) {
    const int error = errno;
    if (error == EADDRINUSE && !parsed.is_unix) {
      return AlreadyExists("port {} is in use: stop the program that has it or choose another port", parsed.port);
    }
    if (error == EADDRINUSE) return AlreadyExists("another server listens on {}", FormatAddress(where));
    return ErrnoStatus(error, fmt::format("listening on {}", FormatAddress(where)));
  }
  return fd;
}

// A variable of the environment that is a number; -1: it is not.
int NumberIn(const char* variable) {
  const char* const text = getenv(variable);
  int number = -1;
  if (text == nullptr) return -1;
  const char* const end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, number);
  return error == std::errc() && rest == end ? number : -1;
}

int SocketOption(int fd, int option) {
  int value = -1;
  socklen_t length = sizeof(value);
  return getsockopt(fd, SOL_SOCKET, option, &value, &length) == 0 ? value : -1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Create(const std::string& address) {
  WHARF_ASSIGN_OR_RETURN(const ParsedAddress parsed, ParseAddress(address));
  WHARF_ASSIGN_OR_RETURN(const auto candidates, Resolve(parsed, /*passive=*/true));
  WHARF_ASSIGN_OR_RETURN(UniqueFd fd, Bind(candidates.front(), parsed));
  WHARF_ASSIGN_OR_RETURN(UniqueFd wake, MakeBell());
  std::string bound = parsed.is_unix ? address : FormatAddress(LocalAddress(fd.get()));
  return std::make_unique<SocketListener>(std::move(fd), std::move(wake), std::move(bound),
                                          parsed.is_unix ? parsed.host : "");
}

absl::StatusOr<std::unique_ptr<Listener>> InheritListener() {
  constexpr int kFirst = 3;  // SD_LISTEN_FDS_START
  const int count = NumberIn("LISTEN_PID") == getpid() ? NumberIn("LISTEN_FDS") : 0;
  if (count <= 0) return nullptr;
  if (count > 1) return InvalidArgument("{} sockets were passed: a server listens on one", count);
  if (SocketOption(kFirst, SO_TYPE) != SOCK_STREAM || SocketOption(kFirst, SO_ACCEPTCONN) != 1) {
    return InvalidArgument("what was passed as LISTEN_FDS is no socket that listens for streams (ListenStream=)");
  }
  UniqueFd fd(kFirst);
  if (fcntl(kFirst, F_SETFD, FD_CLOEXEC) != 0 || fcntl(kFirst, F_SETFL, fcntl(kFirst, F_GETFL) | O_NONBLOCK) != 0) {
    return ErrnoStatus(errno, "taking over the socket that was passed");
  }
  WHARF_ASSIGN_OR_RETURN(UniqueFd wake, MakeBell());
  // The file of a Unix socket is of whoever made it.
  return std::make_unique<SocketListener>(std::move(fd), std::move(wake), FormatAddress(LocalAddress(kFirst)), "");
}

}  // namespace wharf::link
