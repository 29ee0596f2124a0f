#include "wharf/server/front/acceptor.h"

#include <unistd.h>

#include <utility>

#include "wharf/base/log.h"

namespace wharf::server {
namespace {

constexpr Nanoseconds kRetryPause = std::chrono::milliseconds(200);

}  // namespace

Acceptor::Acceptor(std::unique_ptr<link::Listener> listener, OnConnection on_connection, const HandshakeLimits& limits)
    : listener_(std::move(listener)),
      address_(listener_->Address()),
      on_connection_(std::move(on_connection)),
      handshakes_(limits),
      thread_([this] { Run(); }) {}

Acceptor::~Acceptor() { Stop(); }

void Acceptor::Stop() {
  if (!thread_.joinable()) return;
  handshakes_.Stop();
  listener_->Shutdown();
  thread_.join();
  listener_.reset();
}

void Acceptor::Run() {
  bool failing = false;
  while (handshakes_.AwaitRoom()) {
    const absl::StatusOr<int> socket = listener_->Accept();
    if (socket.status().code() == absl::StatusCode::kAborted) return;
    if (!socket.ok()) {
      // Out of descriptors, most likely: some are freed as sessions end.
      if (!std::exchange(failing, true)) Log(LogLevel::kError, "cannot accept", {{"why", Message(socket.status())}});
      handshakes_.Pause(kRetryPause);
      continue;
    }
    failing = false;
    const std::string machine = MachineOf(*socket);
    std::optional<Handshake> handshake = handshakes_.Begin(machine);
    if (!handshake) {
      Log(LogLevel::kWarning, "too many handshakes at a time", {{"peer", machine}});
      close(*socket);
      continue;
    }
    on_connection_(*socket, *std::move(handshake));
  }
}

}  // namespace wharf::server
