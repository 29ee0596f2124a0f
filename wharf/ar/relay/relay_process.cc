#include "wharf/ar/relay/relay_process.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <utility>

#include "wharf/ar/relay/starter_wire.h"
#include "wharf/base/passed_descriptors.h"
#include "wharf/link/forwarding_stream.h"
#include "wharf/link/socket.h"

namespace wharf::ar {
namespace {

// To a relay, of which `line` is the life.
class ProcessStream final : public link::ForwardingStream {
 public:
  ProcessStream(link::UniqueFd socket, link::UniqueFd line, std::string client)
      : ForwardingStream(link::FromSocket(socket.Release())), line_(std::move(line)), client_(std::move(client)) {}
  std::string Peer() const override { return client_; }

 private:
  const link::UniqueFd line_;
  const std::string client_;
};

class StarterProcess final : public RelayStarter {
 public:
  // -1: there is none, yet or ever.
  StarterProcess(int socket, int door) : socket_(socket), door_(door) {}

  absl::StatusOr<std::unique_ptr<link::ByteStream>> Start(int connection) override {
    const link::UniqueFd client(connection);
    WHARF_ASSIGN_OR_RETURN(StartedRelay started, StartByAny(connection));
    return std::make_unique<ProcessStream>(std::move(started.socket), std::move(started.line),
                                           link::PeerOf(connection));
  }

 private:
  // By the next process if the one before is gone.
  absl::StatusOr<StartedRelay> StartByAny(int connection) {
    const std::lock_guard lock(mutex_);
    for (;;) {
      if (socket_.get() < 0 && door_.get() >= 0) socket_.Reset(TakeSocket(door_.get()));
      if (socket_.get() < 0) return Unavailable("what starts relays has ended, and no other has begun yet");
      absl::Status asked = AskForRelay(socket_.get(), connection);
      if (asked.ok()) {
        absl::StatusOr<StartedRelay> started = ReceiveRelay(socket_.get());
        if (!absl::IsUnavailable(started.status())) return started;
      } else if (!absl::IsUnavailable(asked)) {
        return asked;
      }
      socket_.Reset(-1);
    }
  }

  std::mutex mutex_;
  link::UniqueFd socket_;  // closed: it notices, ends what it has started, and itself
  const link::UniqueFd door_;
};

}  // namespace

absl::StatusOr<RelayStarter::Process> RelayStarter::StartProcess(const std::string& program, Isolation isolation,
                                                                 const std::vector<std::string>& arguments) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return ErrnoStatus(errno, "socketpair");
  const link::UniqueFd theirs(ends[1]);
  link::UniqueFd ours(ends[0]);
  std::vector<std::string> all = {kStarterMode, std::to_string(static_cast<int>(isolation))};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const int descriptors[] = {theirs.get()};
  WHARF_ASSIGN_OR_RETURN(Subprocess process,
                         StartRelayProgram(program, std::move(all), Isolation::kNone, STDERR_FILENO, descriptors));
  return Process{std::move(process), ours.Release()};
}

std::unique_ptr<RelayStarter> RelayStarter::At(int socket) {
  return std::make_unique<StarterProcess>(socket, /*door=*/-1);
}

std::unique_ptr<RelayStarter> RelayStarter::Behind(int door) {
  return std::make_unique<StarterProcess>(/*socket=*/-1, door);
}

}  // namespace wharf::ar
