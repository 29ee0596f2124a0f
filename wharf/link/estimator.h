// Passive estimation of a link's bandwidth and round-trip time from the traffic that flows anyway.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include "wharf/base/clock.h"

namespace wharf::link {

struct LinkEstimate {
  double up_bits_per_second = 0, down_bits_per_second = 0;  // 0: not known yet
  Nanoseconds round_trip{0};                                // 0: not known yet
};

// Thread-safe. Never probes, so an estimate cannot be held up by compute on either side.
//
// A rate is the second best of the last few transfers: what is not the link (a busy peer, a thread that was not
// scheduled) makes a transfer look slower, hardly ever faster; the very best may have been swallowed by a buffer.
// Without new transfers an estimate rises towards the best rate seen lately, so that whoever stopped sending because
// the link looked bad will try again.
class LinkEstimator {
 public:
  // `clock` must outlive the estimator.
  explicit LinkEstimator(Clock& clock = Clock::Real()) : clock_(clock) {}

  // A transfer of `bytes` took `duration` on the wire; those under 16 KiB are ignored (they measure latency, not rate).
  void OnUpload(size_t bytes, Nanoseconds duration);
  void OnDownload(size_t bytes, Nanoseconds duration);
  // A request was answered after `elapsed` of which the server says it spent `server_time`.
  void OnRoundTrip(Nanoseconds elapsed, Nanoseconds server_time);
  LinkEstimate Estimate() const;

 private:
  // One direction.
  class Rate {
   public:
    void Add(size_t bytes, Nanoseconds duration, TimePoint now);
    bool Known() const { return count_ > 0; }
    double At(TimePoint now) const;

   private:
    struct Sample {
      double bits_per_second = 0;
      TimePoint time;
    };
    double Recent() const;
    std::array<Sample, 8> samples_;  // a ring
    size_t count_ = 0;               // ever
    double best_ = 0;
  };

  Clock& clock_;
  mutable std::mutex mutex_;
  Rate up_, down_;
  Nanoseconds round_trip_{0};
  bool round_trip_measured_ = false;
};

}  // namespace wharf::link
