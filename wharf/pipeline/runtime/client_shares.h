// ClientShares: whose requests are computed when clients together ask for more than a plan serves.
//
// A plan has room for a rate of requests of each model. As long as that is enough nobody is held back. When it was not,
// each client has its max-min fair share of it (Demers, Keshav, Shenker 1989, docs/references.md): who asks for less
// than the others keeps all it asks for, and the others share what is left evenly. What a client asks for beyond its
// share is refused at once, so that it takes no place in the reservations that others find.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "wharf/base/clock.h"

namespace wharf::pipeline {

using ClientId = uint64_t;

// The rate that nobody needs to exceed for the sum to be `capacity`: clients that ask for less have what they ask for.
// Infinite if they ask for no more than that together. O(n log n).
double MaxMinShare(std::vector<double> asked, double capacity);

// Of one model. Not thread-safe.
class ClientShares {
 public:
  // Whether a request that came at `now` may be scheduled; `planned` is the rate that the plan has for the model, in
  // requests/s. REQUIRES: `now` does not go back. Amortised O(1); a turn, at most ten a second, takes O(n log n) of the
  // clients that asked since the last.
  bool Admit(ClientId client, double planned, TimePoint now);
  // The scheduler had no room for a request of the model. Until then nobody is held back.
  void NoCapacity() { refused_ = true; }
  size_t Clients() const { return clients_.size(); }

 private:
  // What a plan serves in time when requests come at random (docs/benchmarks/pipeline.md).
  static constexpr double kMostServed = 0.95;

  struct Client {
    uint64_t asked = 0;   // since the turn
    double allowed = -1;  // requests that it may ask for at `allowed_at`; below 0: not held back until now
    TimePoint allowed_at;
  };

  void Turn(double planned, TimePoint now);
  bool Take(Client& client, TimePoint now) const;

  absl::flat_hash_map<ClientId, Client> clients_;  // that asked since the turn, or in the time before it
  TimePoint turned_;
  double share_ = 0;      // requests/s of a client; 0: nobody is held back
  bool refused_ = false;  // since the turn, by the scheduler
  // What is given away, as a share of the planned rate: less while the scheduler still has no room, until what it has
  // promised before is done, or if workers are slower than planned.
  double served_ = kMostServed;
};

}  // namespace wharf::pipeline
