// Handshakes under way: connections that have begun to speak and of whom a server does not know yet who made them. They
// cost a thread or a process each and nobody has proved anything, so there are limits. Nobody waits at a limit: whoever
// comes takes the place of the one that has been at it for longest, of the machine that has most of them.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "absl/synchronization/mutex.h"

namespace wharf::server {

enum class HandshakeKind {
  kNew,
  kResume  // names a session that it wants to go on with: new ones do not take its place
};

struct HandshakeLimits {
  size_t new_ones = 64, resumes = 32;
  size_t per_address = 32;  // of either kind, so that no single machine keeps all others out
};

// One that is under way until this is destroyed, on any thread. May outlive the Handshakes it is of.
class Handshake {
 public:
  Handshake() = default;  // none
  Handshake(Handshake&& other) noexcept = default;
  Handshake& operator=(Handshake&& other) noexcept;
  ~Handshake() { End(); }
  // `evict` is called once, on any thread, if its place becomes another's before it ends; at once if it has. It must
  // neither block nor use the handshakes.
  void OnEviction(std::function<void()> evict);
  bool Evicted() const;
  HandshakeKind Kind() const;
  void End();

 private:
  friend class Handshakes;
  struct Table;
  struct Entry;
  Handshake(std::shared_ptr<Table> table, std::shared_ptr<Entry> entry)
      : table_(std::move(table)), entry_(std::move(entry)) {}

  std::shared_ptr<Table> table_;
  std::shared_ptr<Entry> entry_;
};

// Thread-safe.
class Handshakes {
 public:
  explicit Handshakes(const HandshakeLimits& limits);

  // "" as address: this machine's own, which has no limit of its own.
  Handshake Begin(const std::string& address, HandshakeKind kind);
  size_t UnderWay() const;

 private:
  const std::shared_ptr<Handshake::Table> table_;  // shared with the handshakes
};

// The machine that has an address: an IPv4 address, an IPv6 network (a /64 is one customer's), or "" for this machine:
// loopback, a Unix socket.
std::string MachineOf(const sockaddr_storage& address);

}  // namespace wharf::server
