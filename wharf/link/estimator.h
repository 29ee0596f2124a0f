// Passive estimation of a link's bandwidth and round-trip time from the traffic that flows anyway.
#pragma once

#include <optional>

#include "absl/synchronization/mutex.h"
#include "wharf/base/clock.h"
#include "wharf/link/byte_stream.h"

namespace wharf::link {

struct LinkEstimate {
  double up_bits_per_second = 0, down_bits_per_second = 0;  // 0: not known yet
  Nanoseconds round_trip{0};                                // 0: not known yet
};

// Thread-safe. Never probes, so an estimate cannot be held up by compute on either side.
class LinkEstimator {
 public:
  // A transfer of `bytes` took `duration` on the wire; those under 16 KiB are ignored (they measure latency, not rate).
  void OnUpload(size_t bytes, Nanoseconds duration);
  void OnDownload(size_t bytes, Nanoseconds duration);
  // A request was answered after `elapsed` of which the server says it spent `server_time`.
  void OnRoundTrip(Nanoseconds elapsed, Nanoseconds server_time);
  // The kernel's view; used while nothing better is known.
  void OnTransportInfo(const TransportInfo& info);
  LinkEstimate Estimate() const;

 private:
  mutable absl::Mutex mutex_;
  LinkEstimate estimate_ ABSL_GUARDED_BY(mutex_);
  bool rtt_measured_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace wharf::link
