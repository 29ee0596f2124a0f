// Server: AR clients' sessions, each behind a relay (ar/relay/relay.h), which has judged its client and decodes its
// pictures: lets clients in, has things found in their pictures and sends these back. docs/protocol.md, "AR sessions".
// Nothing that a relay says is trusted either: one may have been taken over by its client.
//
// What a client can cost the others is bounded: one whose pictures find no memory is not let in, pictures beyond the
// rate that was agreed are not looked at, a client has at most a few waiting, and one that sends more messages than
// pictures of its camera and reports of them, or does not read, is sent away.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "wharf/ar/server/coordination.h"
#include "wharf/ar/server/finder.h"
#include "wharf/ar/server/picture_memory.h"
#include "wharf/ar/server/turn_queue.h"
#include "wharf/link/byte_stream.h"
#include "wharf/link/session_list.h"

namespace wharf::ar {

class ArSession;
class Refusal;

struct ServerConfig {
  MakeSoloFinder make_solo;              // null: only clients with an SLA are served
  TurnQueue* solo = nullptr;             // of those without
  Coordination* coordination = nullptr;  // null: nobody's accuracy is answered for
  BatchFinder* batch_finder = nullptr;   // the coordination's
  double max_pictures_per_s = 120;       // of one client
  size_t max_sessions = 256;
  uint64_t picture_memory = uint64_t{1} << 30;  // of all clients' decoded pictures together
  size_t max_unread_bytes = 32 << 20;           // of answers to a client that does not read
  const Clock* clock = &Clock::Real();          // by which rates are limited; must outlive the server
  // Servers for clients that there is no room for: Redirect::servers; "": there are none.
  std::string next;
};

// What a server did since it began.
struct ServerCounts {
  uint64_t clients = 0;   // that were let in
  uint64_t agreed = 0;    // of them with an agreed accuracy
  uint64_t pictures = 0;  // that were agreed
};

// Counted by all sessions at once.
struct ServerTally {
  std::atomic<uint64_t> clients = 0, agreed = 0, pictures = 0;
};

// Thread-safe. What the config points to must outlive it.
class Server {
 public:
  explicit Server(ServerConfig config);
  // Ends all sessions.
  ~Server();
  // `relay`: to the relay of a client.
  void Accept(std::unique_ptr<link::ByteStream> relay);
  // Tells all clients where else to go, if there is anywhere, and waits for them to leave, at most `grace`.
  void Drain(Nanoseconds grace);
  ServerCounts Counts() const { return {tally_.clients, tally_.agreed, tally_.pictures}; }

 private:
  const ServerConfig config_;
  ServerTally tally_;
  PictureMemory memory_;
  link::SessionList<ArSession> sessions_;
  link::SessionList<Refusal> refusals_;  // to those who come when there are as many as there may be
};

}  // namespace wharf::ar
