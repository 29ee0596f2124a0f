// StreamServer: the shell of a server that serves all its clients in its own process: what is accepted becomes streams.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "wharf/link/byte_stream.h"
#include "wharf/link/socket.h"
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
  // one that loses its place to another is shut down. `open` is called on as many threads as handshakes may be under
  // way, so that nobody waits for who is slow, and no crowd of strangers makes more of them; who has lost its place by
  // its turn is closed instead. Null: sockets are the streams. `on_stream` is called until the server is destroyed;
  // with an `open` on several threads at a time.
  StreamServer(std::unique_ptr<link::Listener> listener, OpenStream open, OnStream on_stream,
               const AcceptorLimits& limits = {});
  // Accepts nothing more; what is being opened comes to its end, what waits for that is closed.
  ~StreamServer();
  const std::string& Address() const { return acceptor_.Address(); }

 private:
  struct Connection {
    link::UniqueFd socket;
    Handshake handshake;
  };
  // Opens what waits for it, and ends when nothing does.
  struct Opener {
    bool over = false;
    std::thread thread;
  };
  void OnConnection(int socket, Handshake handshake);
  void BeginToOpen(Connection connection);
  void OpenWaiting(Opener& self);
  void Open(Connection connection);

  const OpenStream open_;
  const OnStream on_stream_;
  const size_t most_openers_;
  absl::Mutex mutex_;
  std::deque<Connection> waiting_ ABSL_GUARDED_BY(mutex_);  // as many as have a place at most, the first first
  std::list<Opener> openers_ ABSL_GUARDED_BY(mutex_);
  Acceptor acceptor_;
};

// Until a signal asks for the end (signals.h). Opens no file. `limits` are made before the process is shut in: making
// them raises its limit of descriptors. REQUIRES: BlockEndingSignals was called.
void ServeUntilSignal(std::unique_ptr<link::Listener> listener, OpenStream open,
                      const StreamServer::OnStream& on_stream, const AcceptorLimits& limits);

}  // namespace wharf::server
