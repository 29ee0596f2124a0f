// DropAccount: what a client has lost so far against its reference setup. A drop rate (drop_rate.h) is a mean over some
// seconds, so it says too late that a scene has become harder: by then the client has lost more than anybody knew of.
// Each result of the server shows what tracking to its frame really lost. The frames shown since the result before are
// taken to have lost the same, as their strides have it, so that the sum misses by the noise of single results only,
// and by how well it is known with which power of the stride drops grow: what the reference lost is nowhere seen.
#pragma once

#include <cstdint>
#include <deque>

#include "wharf/track/drop/drop_rate.h"

namespace wharf::track {

// Not thread-safe.
class DropAccount {
 public:
  // Of the curve: the exponent, and how many results it counts as.
  explicit DropAccount(const DropCurve& curve)
      : expected_exponent_(curve.exponent), expected_results_(curve.expected_results), exponent_(curve.exponent) {}

  // A frame was shown, tracked over `stride` >= 0 frames: each frame once, in their order. O(1).
  void Show(int64_t frame, double stride);
  // The server's result for `frame`, which shows of tracking to it what DropRateEstimator::Add is given;
  // `reference_stride` is the reference setup's mean. Changes nothing where that does not. O(1) for each frame shown.
  void Settle(int64_t frame, const SeenDrop& near, const SeenDrop& far, double reference_stride);

  double frames() const { return settled_frames_ + static_cast<double>(open_.size()); }
  // The sum of what they lost from the reference setup; of those since the last result by what that has shown, 0 if
  // nothing was shown yet. O(frames since the last result).
  double Lost() const;

 private:
  struct Shown {
    int64_t frame = 0;
    double stride = 0;
  };
  double LossOf(double stride) const;
  void LearnExponent(const SeenDrop& near, const SeenDrop& far);
  void SettleFirst();

  std::deque<Shown> open_;  // no result since
  double settled_frames_ = 0, settled_ = 0;
  SeenDrop seen_;        // by the last result
  SeenDrop near_, far_;  // running means
  double results_ = 0;   // that are in them
  const double expected_exponent_, expected_results_;
  double exponent_, reference_stride_ = 0;
};

}  // namespace wharf::track
