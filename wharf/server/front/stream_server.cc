#include "wharf/server/front/stream_server.h"

#include <utility>

#include "wharf/base/log.h"
#include "wharf/server/front/signals.h"

namespace wharf::server {
namespace {

constexpr Nanoseconds kTlsTimeout = std::chrono::seconds(10);

}  // namespace

StreamServer::StreamServer(std::unique_ptr<link::Listener> listener, std::optional<link::TlsServerOptions> tls,
                           OnStream on_stream, const HandshakeLimits& limits)
    : tls_(std::move(tls)),
      on_stream_(std::move(on_stream)),
      acceptor_(
          std::move(listener), [this](int socket, Handshake handshake) { OnConnection(socket, std::move(handshake)); },
          limits) {}

StreamServer::~StreamServer() {
  acceptor_.Stop();
  for (TlsHandshake& one : tls_handshakes_) one.thread.join();
}

void StreamServer::OnConnection(int socket, Handshake handshake) {
  if (tls_) return BeginTls(socket, std::move(handshake));
  on_stream_(link::FromSocket(socket));
}

void StreamServer::BeginTls(int socket, Handshake handshake) {
  tls_handshakes_.remove_if([](TlsHandshake& one) {
    if (!one.over) return false;
    one.thread.join();
    return true;
  });
  TlsHandshake& one = tls_handshakes_.emplace_back();
  one.thread = std::thread([this, socket, &one, handshake = std::move(handshake)]() mutable {
    auto stream = link::AcceptTls(socket, *tls_, kTlsTimeout);
    if (stream.ok()) {
      on_stream_(*std::move(stream));
    } else {
      Log(LogLevel::kWarning, "a connection was refused", {{"why", Message(stream.status())}});
    }
    handshake.End();
    one.over = true;
  });
}

void ServeUntilSignal(std::unique_ptr<link::Listener> listener, const std::optional<link::TlsServerOptions>& tls,
                      const StreamServer::OnStream& on_stream) {
  const StreamServer server(std::move(listener), tls, on_stream);
  AwaitEndingSignal();
}

}  // namespace wharf::server
