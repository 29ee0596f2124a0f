// Trace-driven link emulator: bandwidth over time, round-trip time, jitter and outages. One model serves the in-memory
// transport (any clock) and the TCP proxy (`wharf link`).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wharf/base/clock.h"
#include "wharf/base/random.h"
#include "wharf/base/status.h"
#include "wharf/link/byte_stream.h"

namespace wharf::link {

// Bandwidth in bits/s, piecewise constant; repeats when it ends.
struct BandwidthTrace {
  Nanoseconds step{0};  // one sample's length
  std::vector<double> bits_per_second;
  static BandwidthTrace Constant(double bits_per_second);
  // CSV `time_s,mbps`, lines starting with '#' ignored; equal steps. kInvalidArgument with the line number.
  static absl::StatusOr<BandwidthTrace> Load(const std::string& path);
};

struct Outage {
  Nanoseconds start{0}, length{0};
};  // relative to the emulator's start; nothing is delivered meanwhile

struct LinkProfile {
  BandwidthTrace trace;       // empty: unlimited
  Nanoseconds round_trip{0};  // half each way
  Nanoseconds jitter{0};      // uniform in [0, jitter) added to each way's delay; order is kept
  std::vector<Outage> outages;
  size_t queue_bytes = 256 << 10;  // per direction, what waits before the sender is blocked
  uint64_t seed = 1;
};

// kInvalidArgument: negative times or rates, a trace without a step.
absl::Status Validate(const LinkProfile& profile);

// Outages at random until `until`: what lies between two of them, and how long one lasts, is exponential of these
// means. The same for the same seed. REQUIRES: `between` is positive.
std::vector<Outage> RandomOutages(Nanoseconds between, Nanoseconds length, Nanoseconds until, uint64_t seed);

// What the emulators cut a stream into: the payload of one TCP segment on Ethernet.
inline constexpr size_t kPacketBytes = 1448;

// One direction of a link. Pure: time goes in and out, nothing sleeps. Not thread-safe.
//
// Packets leave the queue one after the other at the trace's rate, and at none during an outage; then each takes half
// the round trip plus jitter. One whose arrival would fall into an outage arrives when that ends.
class LinkModel {
 public:
  // Never reached: when the trace has no bandwidth left to give.
  static constexpr TimePoint kNever{std::chrono::hours(24 * 365 * 100)};

  // `start` is when the trace begins. REQUIRES: Validate(profile).ok().
  LinkModel(LinkProfile profile, TimePoint start);
  // A packet of `bytes` handed over at `now` (never before an earlier packet's `now`): when its last bit has left the
  // sender's queue, and when it arrives. O(steps crossed).
  struct Times {
    TimePoint sent, delivered;
  };
  Times Send(TimePoint now, size_t bytes);
  // The trace, the outages and the jitter begin anew; what is under way is not touched.
  void Restart(TimePoint start);

 private:
  TimePoint Finish(TimePoint begin, double bits);
  TimePoint AfterOutage(TimePoint t) const;
  TimePoint NextOutage(TimePoint t) const;
  Nanoseconds Jitter();
  LinkProfile profile_;  // outages sorted and disjoint
  double bits_per_period_ = 0;
  TimePoint start_, busy_until_, last_delivery_;
  double spare_bits_ = 0;  // what the last packet left of the nanosecond it ended in
  Random random_;
};

// Faults for tests, applied to one direction of an in-memory pair; byte offsets count what was written.
struct Faults {
  uint64_t cut_after_bytes = UINT64_MAX;  // then the stream fails as if the connection dropped
  uint64_t corrupt_byte_at = UINT64_MAX;  // this byte is inverted
  size_t max_read = SIZE_MAX;             // short reads
  bool stall = false;                     // bytes are accepted and never delivered
};

// Two connected streams. With a profile (REQUIRES: Validate(*profile).ok()), delivery follows it on `clock` (real or
// virtual), which must outlive them.
std::pair<std::unique_ptr<ByteStream>, std::unique_ptr<ByteStream>> MemoryPair(const Faults& first_to_second = {},
                                                                               const Faults& second_to_first = {},
                                                                               const LinkProfile* profile = nullptr,
                                                                               Clock& clock = Clock::Real());

// A TCP proxy whose connections share one emulated link: listens, connects each client to `target`. The rate counts the
// bytes of the stream, no headers; opening a connection takes no emulated time.
class LinkProxy {
 public:
  static absl::StatusOr<std::unique_ptr<LinkProxy>> Start(const std::string& listen, const std::string& target,
                                                          LinkProfile profile);
  virtual ~LinkProxy() = default;  // stops and joins
  virtual std::string Address() const = 0;
  // Restarts the trace's clock, so that runs to be compared see the same bandwidth.
  virtual void Rewind() = 0;
  // Closes all connections there are, at once and whatever is under way, as a radio that leaves its cell; new ones are
  // taken. Both peers see their connection end. How many there were.
  virtual int Cut() = 0;
  struct Stats {
    uint64_t bytes_up = 0, bytes_down = 0, connections = 0;
  };
  virtual Stats Traffic() const = 0;
};

}  // namespace wharf::link
