// Acceptor: takes the connections that come to a listening address, on a thread of its own. All servers use it: those
// that serve in their own process (stream_server.h) and the daemon of worker processes.
//
// It goes on until it is stopped. Where the system has no descriptors or memory for another connection it says so once,
// waits and tries again. What is more than the limits in all waits in the kernel's backlog; what is more than those of
// an address is closed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "wharf/link/byte_stream.h"
#include "wharf/server/front/handshakes.h"

namespace wharf::server {

class Acceptor {
 public:
  // Owns `socket`, which is connected. The handshake is over when `handshake` is destroyed.
  using OnConnection = std::function<void(int socket, Handshake handshake)>;

  // `on_connection` is called on the acceptor's thread, until Stop returns.
  Acceptor(std::unique_ptr<link::Listener> listener, OnConnection on_connection, const HandshakeLimits& limits = {});
  ~Acceptor();
  // Accepts nothing more, and frees the address. Idempotent.
  void Stop();
  // Where it listens, with the real port.
  const std::string& Address() const { return address_; }

 private:
  void Run();

  std::unique_ptr<link::Listener> listener_;
  const std::string address_;
  const OnConnection on_connection_;
  Handshakes handshakes_;
  std::thread thread_;
};

}  // namespace wharf::server
