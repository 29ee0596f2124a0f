// The process that starts relays.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "wharf/ar/relay/relay_process.h"
#include "wharf/ar/relay/starter_wire.h"
#include "wharf/base/clock.h"
#include "wharf/base/sandbox/policies.h"

namespace wharf::ar {
namespace {

// Of a relay whose line was closed: so long it may still have something to say to its client.
constexpr Nanoseconds kGrace = std::chrono::seconds(1);
constexpr int kLookAgain_ms = 50;  // while one has its grace

// A relay says what it has to say to the server. Standard error would be the server's log, which a relay that was taken
// over could fill, or shut down where it is a socket. A sanitizer reports there.
constexpr int kRelayError = kSanitized ? STDERR_FILENO : kDevNull;

struct Child {
  Subprocess process;  // killed with this
  link::UniqueFd line;
  std::optional<TimePoint> ends_at{};  // the server has let it go
};

// An errno, or 0.
int MakePairs(link::UniqueFd (&socket)[2], link::UniqueFd (&line)[2]) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno;
  for (int i = 0; i < 2; ++i) socket[i].Reset(ends[i]);
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  for (int i = 0; i < 2; ++i) line[i].Reset(ends[i]);
  return 0;
}

class Starter {
 public:
  explicit Starter(std::span<char* const> own)
      : arguments_(own.begin() + 1, own.end()), isolation_(static_cast<Isolation>(std::atoi(own[2]))) {
    arguments_[0] = kRelayMode;
  }

  // Ends with the server.
  int Run() {
    for (;;) {
      const std::optional<bool> asked = Await();
      if (!asked.has_value()) return 1;
      LetGo();
      if (!*asked) continue;
      const std::optional<link::UniqueFd> connection = NextRequest(kRelayServerDescriptor);
      if (!connection || !Answer(connection->get())) return 0;
    }
  }

 private:
  // Whether the server asks for something, or has ended; nothing: waiting fails.
  std::optional<bool> Await() {
    std::vector<pollfd> events = {{kRelayServerDescriptor, POLLIN, 0}};
    for (const Child& child : children_) events.push_back({child.ends_at ? -1 : child.line.get(), POLLIN, 0});
    const bool someone_ends =
        std::ranges::any_of(children_, [](const Child& child) { return child.ends_at.has_value(); });
    if (poll(events.data(), events.size(), someone_ends ? kLookAgain_ms : -1) < 0 && errno != EINTR) return {};
    size_t at = 0;
    for (Child& child : children_) {
      if (events[++at].revents != 0) child.ends_at = Clock::Real().Now() + kGrace;
    }
    return events[0].revents != 0;
  }
  void LetGo() {
    const TimePoint now = Clock::Real().Now();
    children_.remove_if(
        [&](Child& child) { return child.ends_at && (*child.ends_at <= now || child.process.TryWait().has_value()); });
  }
  // False: the server is gone.
  bool Answer(int connection) {
    StartedRelay server_has;
    const int error = connection < 0 ? EPROTO : StartOne(connection, server_has);
    return SendRelay(kRelayServerDescriptor, error, server_has).ok();
  }
  // An errno, or 0.
  int StartOne(int connection, StartedRelay& server_has) {
    link::UniqueFd socket[2], line[2];
    if (const int error = MakePairs(socket, line); error != 0) return error;
    const int descriptors[] = {socket[1].get(), connection};
    auto process = StartRelayProgram("/proc/self/exe", arguments_, isolation_, kRelayError, descriptors);
    if (!process.ok()) return ECHILD;
    server_has = {std::move(socket[0]), std::move(line[1])};
    children_.push_back({*std::move(process), std::move(line[0])});
    return 0;
  }

  std::vector<std::string> arguments_;  // of a relay
  const Isolation isolation_;
  std::list<Child> children_;
};

}  // namespace

int StartRelays(std::span<char* const> own) { return Starter(own).Run(); }

}  // namespace wharf::ar
