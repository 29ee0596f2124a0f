// Arrivals: connections that wait for a worker process. A process takes tens of milliseconds to start: when many come
// at a time, those that resume a session come first, and of the others the one that came last. In a flood nothing is
// gained by working through those that came before, of which most are given up.
#pragma once

#include <optional>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/server/front/handshakes.h"

namespace wharf::server {

struct Arrival {
  int connection = -1;
  Handshake handshake;
};

// Thread-safe. Closes the connections that are left.
class Arrivals {
 public:
  ~Arrivals();
  // True if none waited before.
  bool Add(int connection, Handshake handshake);
  // Owns its connection. Nothing: none waits.
  std::optional<Arrival> Take();
  bool Empty() const;

 private:
  mutable absl::Mutex mutex_;
  std::vector<Arrival> waiting_ ABSL_GUARDED_BY(mutex_);  // in the order in which they came
};

}  // namespace wharf::server
