// StreamServer: the shell of a server that serves all its clients in its own process: what is accepted becomes streams.
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

// The stream of a connected socket, which it owns.
using OpenStream = std::function<absl::StatusOr<std::unique_ptr<link::ByteStream>>(int socket)>;
// After a handshake of TLS; null if `tls` is: connections are not encrypted.
OpenStream OpenTls(std::unique_ptr<const link::TlsServer> tls);

class StreamServer {
 public:
  using OnStream = std::function<void(std::unique_ptr<link::ByteStream>)>;

  // A stream's handshake is under way until the client is let in (ByteStream::SetAdmitted) or the stream is destroyed;
  // one that loses its place to another is shut down. `open` is called for each connection on a thread of its own, so
  // that nobody waits for who is slow; null: sockets are the streams. `on_stream` is called until the server is
  // destroyed; with an `open` on several threads at a time.
  StreamServer(std::unique_ptr<link::Listener> listener, OpenStream open, OnStream on_stream,
               const AcceptorLimits& limits = {});
  // Accepts nothing more; what is being opened comes to its end.
  ~StreamServer();
  const std::string& Address() const { return acceptor_.Address(); }

 private:
  struct Opening {
    std::atomic<bool> over = false;
    std::thread thread;
  };
  void OnConnection(int socket, Handshake handshake);
  void BeginToOpen(int socket, Handshake handshake);

  const OpenStream open_;
  const OnStream on_stream_;
  std::list<Opening> openings_;  // of the acceptor's calls
  Acceptor acceptor_;
};

// Until a signal asks for the end (signals.h). Opens no file. `limits` are made before the process is shut in: making
// them raises its limit of descriptors. REQUIRES: BlockEndingSignals was called.
void ServeUntilSignal(std::unique_ptr<link::Listener> listener, OpenStream open,
                      const StreamServer::OnStream& on_stream, const AcceptorLimits& limits);

}  // namespace wharf::server
