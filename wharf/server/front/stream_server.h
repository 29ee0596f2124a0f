// StreamServer: the shell of a server that serves all its clients in its own process: what is accepted becomes streams,
// encrypted if that is asked for.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "wharf/link/byte_stream.h"
#include "wharf/server/front/acceptor.h"

namespace wharf::server {

class StreamServer {
 public:
  using OnStream = std::function<void(std::unique_ptr<link::ByteStream>)>;

  // A stream's handshake is under way until the client is let in (ByteStream::SetAdmitted) or the stream is destroyed;
  // one that loses its place to another is shut down. `on_stream` is called until the server is destroyed; if
  // connections are encrypted, on several threads at a time: each has a TLS handshake on a thread of its own, so that
  // nobody waits for who is slow. `tls` may be null: then they are not encrypted.
  StreamServer(std::unique_ptr<link::Listener> listener, std::unique_ptr<const link::TlsServer> tls, OnStream on_stream,
               const AcceptorLimits& limits = {});
  // Accepts nothing more; TLS handshakes that have begun come to their end.
  ~StreamServer();
  const std::string& Address() const { return acceptor_.Address(); }

 private:
  struct TlsHandshake {
    std::atomic<bool> over = false;
    std::thread thread;
  };
  void OnConnection(int socket, Handshake handshake);
  void BeginTls(int socket, Handshake handshake);

  const std::unique_ptr<const link::TlsServer> tls_;
  const OnStream on_stream_;
  std::list<TlsHandshake> tls_handshakes_;  // of the acceptor's calls
  Acceptor acceptor_;
};

// Until a signal asks for the end (signals.h). Opens no file. `limits` are made before the process is shut in: making
// them raises its limit of descriptors. REQUIRES: BlockEndingSignals was called.
void ServeUntilSignal(std::unique_ptr<link::Listener> listener, std::unique_ptr<const link::TlsServer> tls,
                      const StreamServer::OnStream& on_stream, const AcceptorLimits& limits);

}  // namespace wharf::server
