#include "wharf/server/worker/connection_relay.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <utility>
#include <vector>

#include "wharf/base/log.h"
#include "wharf/server/process/control_codec.h"

namespace wharf::server {
namespace {

constexpr size_t kRelayBytes = 64 << 10;

void Carry(link::ByteStream& from, link::ByteStream& to) {
  std::vector<std::byte> buffer(kRelayBytes);
  while (true) {
    const absl::StatusOr<size_t> count = from.Read(buffer);
    if (!count.ok() || *count == 0) break;
    const std::span<const std::byte> pieces[] = {std::span(buffer).first(*count)};
    if (!to.Write(pieces).ok()) {
      from.Shutdown();
      break;
    }
  }
  // How a stream ends is said inside it (link/resume/resumable_stream.h): for what carries it, any end is the end.
  to.FinishWriting();
}

void Relay(link::ByteStream& client, link::ByteStream& worker) {
  std::thread back([&] {
    Carry(worker, client);
    client.Shutdown();
  });
  Carry(client, worker);
  back.join();
}

// True if the daemon passed `fd` on.
absl::StatusOr<bool> AskDaemon(int control, const link::Opening& opening, int fd) {
  const ResumeSession wish{opening.key.session, opening.key.secret, opening.received};
  WHARF_RETURN_IF_ERROR(SendControl(control, ControlKind::kResumeSession, wish, fd));
  while (true) {
    WHARF_ASSIGN_OR_RETURN(const ControlMessage message, ReceiveControl(control));
    const auto answer = DecodeControl<ResumeAnswer>(message, ControlKind::kResumeAnswer);
    if (answer.ok()) return answer->passed_on;  // anything else (Drain) is for the session's worker
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<ConnectionRelay>> ConnectionRelay::Make(int fd) {
  if (fd >= 0) return std::unique_ptr<ConnectionRelay>(new ConnectionRelay(fd, nullptr));
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return ErrnoStatus(errno, "socketpair");
  return std::unique_ptr<ConnectionRelay>(new ConnectionRelay(ends[1], link::FromSocket(ends[0])));
}

ConnectionRelay::~ConnectionRelay() {
  if (ours_ != nullptr && descriptor_ >= 0) close(descriptor_);
}

void ConnectionRelay::Carry(link::ByteStream& connection) {
  if (ours_ == nullptr) return;
  close(std::exchange(descriptor_, -1));  // or its other end would never be seen to hang up
  Relay(connection, *ours_);
}

int RelayToSession(int control, std::unique_ptr<link::ByteStream> connection, int fd, const link::Opening& opening) {
  const absl::StatusOr<std::unique_ptr<ConnectionRelay>> relay = ConnectionRelay::Make(fd);
  if (!relay.ok()) {
    Log(LogLevel::kError, "cannot carry a resumed connection", {{"why", Message(relay.status())}});
    return 0;
  }
  const absl::StatusOr<bool> passed_on = AskDaemon(control, opening, (*relay)->Descriptor());
  if (!passed_on.ok()) return 0;  // the daemon is gone
  if (!*passed_on) {
    link::WriteOpening(*connection, {link::OpeningKind::kRefused, {}, 0}).IgnoreError();
  } else {
    (*relay)->Carry(*connection);
  }
  return 0;
}

}  // namespace wharf::server
