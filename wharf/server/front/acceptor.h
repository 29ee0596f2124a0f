// Acceptor: takes the connections that come to a listening address, and hands on those that say something. All servers
// use it: those that serve in their own process (stream_server.h) and the daemon of worker processes.
//
// It goes on until it is stopped. Where the system has no descriptors or memory for another connection it says so once,
// waits and tries again. Who says nothing waits in a room of its own (waiting_room.h); of those that have begun to
// speak there are so many at a time (handshakes.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "wharf/link/byte_stream.h"
#include "wharf/server/front/handshakes.h"
#include "wharf/server/front/waiting_room.h"

namespace wharf::server {

struct AcceptorLimits {
  HandshakeLimits handshakes;
  WaitingLimits waiting = WaitingLimitsOfProcess(std::chrono::seconds(10));
};

class Acceptor {
 public:
  // Owns `socket`, which is connected and has bytes to be read. The handshake is over when `handshake` is destroyed.
  using OnConnection = std::function<void(int socket, Handshake handshake)>;

  // `on_connection` is called on one thread of the acceptor's, until Stop returns.
  Acceptor(std::unique_ptr<link::Listener> listener, OnConnection on_connection, const AcceptorLimits& limits = {});
  ~Acceptor();
  // Accepts nothing more, closes those that have said nothing, and frees the address. Idempotent.
  void Stop();
  // Where it listens, with the real port.
  const std::string& Address() const { return address_; }

 private:
  void Run();
  void OnSpeech(int socket, const std::string& address);

  std::unique_ptr<link::Listener> listener_;
  const std::string address_;
  const OnConnection on_connection_;
  Handshakes handshakes_;
  WaitingRoom room_;
  absl::Notification stopping_;
  std::thread thread_;
};

}  // namespace wharf::server
