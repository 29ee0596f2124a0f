// ArrivalPredictor: when a client's next frames will be at the server, by regression over when its last ones were
// (thesis 3.4.4, practical issues).
#pragma once

#include <array>

#include "wharf/serving/types.h"

namespace wharf::serving {

class ArrivalPredictor {
 public:
  explicit ArrivalPredictor(double fps) : frame_s_(1 / fps), slope_(1 / fps) {}

  // False, and nothing changes, if a camera cannot have it: a frame that is not after all frames before, or farther
  // after the last than its rate makes of the time since, and of kLateness more. So no client can bend the line, and
  // At() and LatestBy() of what is near in time are near in frames.
  bool Add(FrameId frame, TimePoint arrived);
  // REQUIRES: Known(), of these three. Any frame, any time: what is centuries away is kFarthest
  // away.
  TimePoint At(FrameId frame) const;
  // The last frame that should be there by `time`.
  FrameId LatestBy(TimePoint time) const;
  FrameId last_frame() const { return last_frame_; }

  bool Known() const { return count_ > 0; }

  static constexpr Nanoseconds kLateness = std::chrono::seconds(2);  // of an arrival, by the network
  // Of a camera: a thousand frames a second for as long as there are cameras. Up to twice as many a double is exact.
  static constexpr FrameId kMostFrame = FrameId{1} << 52;
  static constexpr Nanoseconds kFarthest = std::chrono::hours(24 * 365 * 100);

 private:
  bool MayCome(FrameId frame, TimePoint arrived) const;
  void Fit();

  static constexpr size_t kWindow = 16;
  // Cameras keep their rate far better than this; what fits worse is the network's noise over too few frames.
  static constexpr double kSlopeTolerance = 0.005;

  struct Arrival {
    double frame, seconds;  // from the origin
  };
  double frame_s_;
  std::array<Arrival, kWindow> arrivals_;
  size_t count_ = 0;  // ever
  FrameId origin_frame_ = 0, last_frame_ = -1;
  TimePoint origin_, last_arrived_;
  double slope_, intercept_ = 0;  // seconds after the origin = intercept + slope * frames after the origin
};

}  // namespace wharf::serving
