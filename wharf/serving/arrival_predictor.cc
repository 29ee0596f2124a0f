#include "wharf/serving/arrival_predictor.h"

#include <algorithm>
#include <cmath>

namespace wharf::serving {

bool ArrivalPredictor::MayCome(FrameId frame, TimePoint arrived) const {
  if (frame <= last_frame_ || frame > kMostFrame) return false;
  if (count_ == 0) return true;
  const double seconds = Seconds(std::max(Nanoseconds(0), arrived - last_arrived_) + kLateness);
  return static_cast<double>(frame - last_frame_) * frame_s_ * (1 - kSlopeTolerance) <= seconds;
}

bool ArrivalPredictor::Add(FrameId frame, TimePoint arrived) {
  if (!MayCome(frame, arrived)) return false;
  if (count_ == 0) {
    origin_frame_ = frame;
    origin_ = arrived;
  }
  last_frame_ = frame;
  last_arrived_ = arrived;
  arrivals_[count_++ % kWindow] = {static_cast<double>(frame - origin_frame_), Seconds(arrived - origin_)};
  Fit();
  return true;
}

void ArrivalPredictor::Fit() {
  const size_t n = std::min(count_, kWindow);
  double mean_frame = 0, mean_s = 0;
  for (size_t i = 0; i < n; ++i) {
    mean_frame += arrivals_[i].frame;
    mean_s += arrivals_[i].seconds;
  }
  mean_frame /= static_cast<double>(n);
  mean_s /= static_cast<double>(n);
  double covariance = 0, variance = 0;
  for (size_t i = 0; i < n; ++i) {
    covariance += (arrivals_[i].frame - mean_frame) * (arrivals_[i].seconds - mean_s);
    variance += (arrivals_[i].frame - mean_frame) * (arrivals_[i].frame - mean_frame);
  }
  slope_ = variance > 0 ? covariance / variance : frame_s_;
  slope_ = std::clamp(slope_, frame_s_ * (1 - kSlopeTolerance), frame_s_ * (1 + kSlopeTolerance));
  intercept_ = mean_s - slope_ * mean_frame;
}

TimePoint ArrivalPredictor::At(FrameId frame) const {
  const double frames = static_cast<double>(std::clamp(frame, -2 * kMostFrame, 2 * kMostFrame) - origin_frame_);
  const double farthest = Seconds(kFarthest);
  return origin_ + FromSeconds(std::clamp(intercept_ + slope_ * frames, -farthest, farthest));
}

FrameId ArrivalPredictor::LatestBy(TimePoint time) const {
  constexpr auto kMost = static_cast<double>(kMostFrame);
  const double frames = (Seconds(time - origin_) - intercept_) / slope_;
  // At() rounds to nanoseconds: what it says of a frame is by then.
  return origin_frame_ + static_cast<FrameId>(std::clamp(std::floor(frames + 1e-6), -kMost, kMost));
}

}  // namespace wharf::serving
