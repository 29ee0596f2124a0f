#include "wharf/server/front/stream_server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "wharf/base/log.h"
#include "wharf/link/forwarding_stream.h"
#include "wharf/server/front/signals.h"

namespace wharf::server {
namespace {

constexpr Nanoseconds kTlsTimeout = std::chrono::seconds(10);

// A connection whose client has not been let in.
class StrangersStream final : public link::ForwardingStream {
 public:
  StrangersStream(std::unique_ptr<link::ByteStream> stream, Handshake handshake)
      : ForwardingStream(std::move(stream)), handshake_(std::move(handshake)) {}
  void SetAdmitted() override { handshake_.End(); }

 private:
  Handshake handshake_;
};

// Another descriptor of the connection, so that it can be shut down whoever has it and whatever they do.
void ShutDownWhenEvicted(int socket, Handshake& handshake) {
  const int copy = fcntl(socket, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return;  // it goes when it is late
  const std::shared_ptr<const int> hold(new int(copy), [](const int* fd) {
    close(*fd);
    delete fd;
  });
  handshake.OnEviction([hold] { shutdown(*hold, SHUT_RDWR); });
}

}  // namespace

OpenStream OpenTls(std::unique_ptr<const link::TlsServer> tls) {
  if (tls == nullptr) return nullptr;
  return [shared = std::shared_ptr(std::move(tls))](int socket) { return shared->Accept(socket, kTlsTimeout); };
}

StreamServer::StreamServer(std::unique_ptr<link::Listener> listener, OpenStream open, OnStream on_stream,
                           const AcceptorLimits& limits)
    : open_(std::move(open)),
      on_stream_(std::move(on_stream)),
      most_openers_(limits.handshakes.new_ones + limits.handshakes.resumes),
      acceptor_(
          std::move(listener), [this](int socket, Handshake handshake) { OnConnection(socket, std::move(handshake)); },
          limits) {}

StreamServer::~StreamServer() {
  acceptor_.Stop();
  std::list<Opener> openers;
  {
    absl::MutexLock lock(&mutex_);
    waiting_.clear();
    openers.swap(openers_);
  }
  for (Opener& one : openers) one.thread.join();
}

void StreamServer::OnConnection(int socket, Handshake handshake) {
  ShutDownWhenEvicted(socket, handshake);
  if (open_ != nullptr) return BeginToOpen({link::UniqueFd(socket), std::move(handshake)});
  on_stream_(std::make_unique<StrangersStream>(link::FromSocket(socket), std::move(handshake)));
}

void StreamServer::BeginToOpen(Connection connection) {
  absl::MutexLock lock(&mutex_);
  std::erase_if(waiting_, [](const Connection& one) { return one.handshake.Evicted(); });
  waiting_.push_back(std::move(connection));
  // An opener that is over has nothing left to do but to end.
  openers_.remove_if([](Opener& one) {
    if (one.over) one.thread.join();
    return one.over;
  });
  if (openers_.size() >= most_openers_) return;
  Opener& one = openers_.emplace_back();
  one.thread = std::thread([this, &one] { OpenWaiting(one); });
}

void StreamServer::OpenWaiting(Opener& self) {
  for (;;) {
    Connection next;
    {
      absl::MutexLock lock(&mutex_);
      self.over = waiting_.empty();
      if (self.over) return;
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    if (!next.handshake.Evicted()) Open(std::move(next));
  }
}

void StreamServer::Open(Connection connection) {
  auto stream = open_(connection.socket.Release());
  if (stream.ok()) {
    on_stream_(std::make_unique<StrangersStream>(*std::move(stream), std::move(connection.handshake)));
  } else {
    Log(LogLevel::kWarning, "a connection was refused", {{"why", Message(stream.status())}});
  }
}

void ServeUntilSignal(std::unique_ptr<link::Listener> listener, OpenStream open,
                      const StreamServer::OnStream& on_stream, const AcceptorLimits& limits) {
  const StreamServer server(std::move(listener), std::move(open), on_stream, limits);
  AwaitEndingSignal();
}

}  // namespace wharf::server
