// ArrivalPredictor: when a client's next frames will be at the server, by regression over when its last ones were
// (thesis 3.4.4, practical issues).
#pragma once

#include <array>

#include "wharf/serving/types.h"

namespace wharf::serving {

class ArrivalPredictor {
 public:
  explicit ArrivalPredictor(double fps) : frame_s_(1 / fps), slope_(1 / fps) {}

  // Ignored if `frame` is not after all frames before, so that no client can bend the line backwards.
  void Add(FrameId frame, TimePoint arrived);
  // REQUIRES: Known(), of these three.
  TimePoint At(FrameId frame) const;
  // The last frame that should be there by `time`.
  FrameId LatestBy(TimePoint time) const;
  FrameId last_frame() const { return last_frame_; }

  bool Known() const { return count_ > 0; }

 private:
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
  TimePoint origin_;
  double slope_, intercept_ = 0;  // seconds after the origin = intercept + slope * frames after the origin
};

}  // namespace wharf::serving
