// ConnectionRelay: takes a connection from the worker that accepted it to the one that serves it.
#pragma once

#include <memory>

#include "wharf/link/resume/resumable_stream.h"

namespace wharf::server {

// A plain connection goes there as its descriptor. The state of TLS cannot move: then the other worker gets a Unix
// socket, and this one carries the bytes for as long as the connection lives.
class ConnectionRelay {
 public:
  // `fd`: of a plain connection, stays the caller's; -1 for an encrypted one. Fails by errno.
  static absl::StatusOr<std::unique_ptr<ConnectionRelay>> Make(int fd);
  ~ConnectionRelay();
  ConnectionRelay(const ConnectionRelay&) = delete;
  ConnectionRelay& operator=(const ConnectionRelay&) = delete;

  // Of which the other worker is to get a copy.
  int Descriptor() const { return descriptor_; }
  // It has got it: carries the bytes, if there are any to carry, until either side ends.
  void Carry(link::ByteStream& connection);

 private:
  ConnectionRelay(int descriptor, std::unique_ptr<link::ByteStream> ours)
      : descriptor_(descriptor), ours_(std::move(ours)) {}
  int descriptor_;
  const std::unique_ptr<link::ByteStream> ours_;  // null if the connection itself goes
};

// Serves a connection that resumes another worker's session: asks the daemon, over `control`, to pass it on, and relays
// it if need be; refuses the client if there is no such session. `fd` as ConnectionRelay::Make has it. Returns the
// process's exit code.
int RelayToSession(int control, std::unique_ptr<link::ByteStream> connection, int fd, const link::Opening& opening);

}  // namespace wharf::server
