// Handshakes under way: connections that a server has accepted and does not know yet who made. They cost a thread or a
// process each and nobody has proved anything, so there are limits.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/synchronization/mutex.h"
#include "wharf/base/clock.h"

namespace wharf::server {

struct HandshakeLimits {
  int in_all = 64;
  int per_address = 32;  // so that no single machine keeps all others out
};

// One that is under way until this is destroyed, on any thread. May outlive the Handshakes it is of.
class Handshake {
 public:
  Handshake() = default;  // none
  explicit Handshake(std::function<void()> end) : end_(std::move(end)) {}
  Handshake(Handshake&& other) noexcept : end_(std::exchange(other.end_, nullptr)) {}
  Handshake& operator=(Handshake&& other) noexcept {
    if (this != &other) {
      End();
      end_ = std::exchange(other.end_, nullptr);
    }
    return *this;
  }
  ~Handshake() { End(); }
  void End() {
    if (const auto end = std::exchange(end_, nullptr)) end();
  }

 private:
  std::function<void()> end_;
};

// Thread-safe.
class Handshakes {
 public:
  explicit Handshakes(const HandshakeLimits& limits) : table_(std::make_shared<Table>(limits)) {}

  // Waits until fewer than the limit in all are under way; false once stopped.
  bool AwaitRoom();
  // Nothing if as many of this address are under way as may be. "": this machine's own, which has no limit of its own.
  std::optional<Handshake> Begin(const std::string& address);
  // Until the time is over or it is stopped.
  void Pause(Nanoseconds time);
  // Nobody waits any more. Idempotent.
  void Stop();
  int UnderWay() const;

 private:
  struct Table {
    explicit Table(const HandshakeLimits& most) : limits(most) {}
    bool MayGoOn() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return stopped || in_all < limits.in_all; }
    const HandshakeLimits limits;
    mutable absl::Mutex mutex;
    int in_all ABSL_GUARDED_BY(mutex) = 0;
    std::map<std::string, int> of_address ABSL_GUARDED_BY(mutex);  // none is 0
    bool stopped ABSL_GUARDED_BY(mutex) = false;
  };
  static void End(Table& table, const std::string& address);

  const std::shared_ptr<Table> table_;  // shared with the handshakes
};

// The machine at the other end of a connected socket: an IPv4 address, an IPv6 network (a /64 is one customer's), or ""
// for this machine.
std::string MachineOf(int socket);

}  // namespace wharf::server
