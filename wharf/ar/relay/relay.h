// Relay: stands between one AR client and the server, so that the server reads nothing that a client says. It ends the
// client's encryption, judges its handshake, reads its messages and decodes its pictures. What it makes of them goes on
// to the server as messages of the same protocol, but that pictures are pixels. What the server says goes to the client
// as it is. A relay has a process of its own (relay_process.h), so that whoever takes it over has what it has: one
// client's session.
#pragma once

#include <memory>

#include "wharf/ar/messages.h"
#include "wharf/link/byte_stream.h"
#include "wharf/link/channel.h"
#include "wharf/wire/handshake.h"

namespace wharf::ar {

// Of messages between a relay and the server: a picture is `width` * `height` * 3 bytes, as scene::Image has them.
inline constexpr link::FrameLimits kRelayFrameLimits = {.max_head_bytes = kArFrameLimits.max_head_bytes,
                                                        .max_bulk_bytes = 3 * kMaxSide * kMaxSide};

// Between two streams, on threads of its own. A client that says what none may say, or whose picture cannot be decoded,
// gets a Goodbye, and so does the server, which then knows why.
class Relay {
 public:
  // `check`: what clients must show. The server asks for nothing more.
  Relay(std::unique_ptr<link::ByteStream> client, std::unique_ptr<link::ByteStream> server, wire::ClientCheck check);
  // Ends both connections.
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  // Until both connections have ended: one soon follows the other.
  void AwaitEnd();

 private:
  class FromClient;
  class FromServer;

  std::unique_ptr<link::Channel> client_, server_;
  std::unique_ptr<FromClient> from_client_;
  std::unique_ptr<FromServer> from_server_;
};

// In place of a relay that cannot begin.
void TellServer(std::unique_ptr<link::ByteStream> server, const absl::Status& why);

// A relay in this process: the server's end of it. For servers that trust their clients: tests, a command's own.
absl::StatusOr<std::unique_ptr<link::ByteStream>> RelayInProcess(std::unique_ptr<link::ByteStream> client,
                                                                 wire::ClientCheck check = {});

}  // namespace wharf::ar
