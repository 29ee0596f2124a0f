#include "wharf/server/front/acceptor.h"

#include <sys/socket.h>

#include <array>
#include <span>
#include <utility>

#include "absl/time/time.h"
#include "wharf/base/log.h"
#include "wharf/link/connect_again.h"
#include "wharf/link/resume/resume_opening.h"

namespace wharf::server {
namespace {

constexpr absl::Duration kRetryPause = absl::Milliseconds(200);

// By the first bytes, which stay unread.
HandshakeKind KindOf(int socket) {
  std::array<std::byte, link::kBeginningBytes> first{};
  const ssize_t count = recv(socket, first.data(), first.size(), MSG_PEEK | MSG_DONTWAIT);
  if (count < static_cast<ssize_t>(link::kOpeningKindBytes)) return HandshakeKind::kNew;
  const bool resumes = link::NamesSession(std::span(first).first<link::kOpeningKindBytes>()) ||
                       link::GoesOn(std::span(first).first(static_cast<size_t>(count)));
  return resumes ? HandshakeKind::kResume : HandshakeKind::kNew;
}

std::string MachineAtTheOtherEndOf(int socket) {
  sockaddr_storage peer{};
  socklen_t length = sizeof(peer);
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &length) != 0) return "";  // it is gone already
  return MachineOf(peer);
}

}  // namespace

Acceptor::Acceptor(std::unique_ptr<link::Listener> listener, OnConnection on_connection, const AcceptorLimits& limits)
    : listener_(std::move(listener)),
      address_(listener_->Address()),
      on_connection_(std::move(on_connection)),
      handshakes_(limits.handshakes),
      room_(limits.waiting, [this](int socket, const std::string& address) { OnSpeech(socket, address); }),
      thread_([this] { Run(); }) {}

Acceptor::~Acceptor() { Stop(); }

void Acceptor::Stop() {
  if (!thread_.joinable()) return;
  stopping_.Notify();
  listener_->Shutdown();
  thread_.join();
  room_.Stop();
  listener_.reset();
}

void Acceptor::Run() {
  bool failing = false;
  while (!stopping_.HasBeenNotified()) {
    const absl::StatusOr<int> socket = listener_->Accept();
    if (socket.status().code() == absl::StatusCode::kAborted) return;
    if (!socket.ok()) {
      // Out of descriptors, most likely: some are freed as sessions end.
      if (!std::exchange(failing, true)) Log(LogLevel::kError, "cannot accept", {{"why", Message(socket.status())}});
      stopping_.WaitForNotificationWithTimeout(kRetryPause);
      continue;
    }
    failing = false;
    room_.Enter(*socket, MachineAtTheOtherEndOf(*socket));
  }
}

void Acceptor::OnSpeech(int socket, const std::string& address) {
  on_connection_(socket, handshakes_.Begin(address, KindOf(socket)));
}

}  // namespace wharf::server
