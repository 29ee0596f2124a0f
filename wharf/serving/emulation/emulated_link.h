// EmulatedLink: the wireless link of one emulated client: rates and delays drawn anew for each message, messages of one
// direction in order.
#pragma once

#include <algorithm>
#include <string_view>

#include "wharf/base/clock.h"
#include "wharf/base/random.h"
#include "wharf/base/status.h"

namespace wharf::serving {

struct Spread {
  double mean = 0, deviation = 0;  // of a normal distribution; a value is at least a tenth of the mean
};

struct LinkKind {
  std::string_view name;
  Spread down_mbps, up_mbps, round_trip_ms;
};
// As measured in public 5G mmWave and LTE networks (thesis 3.6.1).
inline constexpr LinkKind kMmWave = {"5g", {1715, 57}, {152, 6}, {14, 2}};
inline constexpr LinkKind kLte = {"lte", {110, 17}, {44, 8}, {32, 5}};

class EmulatedLink {
 public:
  EmulatedLink(const LinkKind& kind, uint64_t seed) : kind_(kind), random_(seed) {}

  // When a message that is sent at `now` has been received.
  TimePoint Up(TimePoint now, double bytes) { return Send(now, bytes, kind_.up_mbps, up_); }
  TimePoint Down(TimePoint now, double bytes) { return Send(now, bytes, kind_.down_mbps, down_); }
  // Of a frame there and a result back, on average and without the server's part.
  double MeanSeconds(double up_bytes, double down_bytes) const {
    return kind_.round_trip_ms.mean / 1e3 + up_bytes * 8e-6 / kind_.up_mbps.mean +
           down_bytes * 8e-6 / kind_.down_mbps.mean;
  }

 private:
  double Draw(const Spread& spread) {
    return std::max(spread.mean / 10, spread.mean + spread.deviation * random_.Normal());
  }
  TimePoint Send(TimePoint now, double bytes, const Spread& mbps, TimePoint& last) {
    const double seconds = bytes * 8e-6 / Draw(mbps) + Draw(kind_.round_trip_ms) / 2e3;
    return last = std::max(last, now + FromSeconds(seconds));
  }

  LinkKind kind_;
  Random random_;
  TimePoint up_{Nanoseconds::min()}, down_{Nanoseconds::min()};  // when the last of each direction was received
};

}  // namespace wharf::serving
