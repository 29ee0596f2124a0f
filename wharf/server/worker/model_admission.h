// Admission of clients that want models served: a worker of `wharf` decrypts the connection, judges the Hello and its
// token, and has the daemon pass the client on to a process of wharf-model, which has LibTorch and never sees a token.
// docs/protocol.md, "Split sessions".
#pragma once

#include <memory>

#include "wharf/link/byte_stream.h"
#include "wharf/server/process/control.h"
#include "wharf/wire/handshake.h"

namespace wharf::server {

// What clients have to show. Takes the key of the token out of the configuration: the handshake forgets it in turn when
// the client is in.
wire::ClientCheck TakeCheck(Configure& configure);

// A connection with plain frames of which the first header was read.
struct FirstFrame {
  std::unique_ptr<link::ByteStream> stream;  // gives it again
  bool of_split_session = false;
};
// Waits at most `timeout`, then shuts the stream down. Fails as ByteStream::Read.
absl::StatusOr<FirstFrame> ReadFirstFrame(std::unique_ptr<link::ByteStream> stream, Nanoseconds timeout);

// Serves a client of a split session to its end, or tells it why not. `fd` as ConnectionRelay::Make has it
// (connection_relay.h). Returns the process's exit code.
int AdmitModelClient(int control, Configure configure, std::unique_ptr<link::ByteStream> stream, int fd);

}  // namespace wharf::server
