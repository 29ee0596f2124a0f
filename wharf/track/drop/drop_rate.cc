#include "wharf/track/drop/drop_rate.h"

#include <algorithm>
#include <cmath>

#include "wharf/base/status.h"
#include "wharf/track/metrics.h"

namespace wharf::track {
namespace {

absl::Status CheckStride(int stride) {
  return stride < 1 ? InvalidArgument("stride {}: at least one frame", stride) : absl::OkStatus();
}

// At least one: also what finishes at once is offloaded at most once a frame. A hair less than a whole number of frames
// must not become one more by rounding.
int Frames(double seconds, double frame_s) {
  return std::max(1, static_cast<int>(std::ceil(seconds / frame_s - 1e-9)));
}

absl::Status CheckOffloads(std::span<const Offload> offloads, int64_t first) {
  if (offloads.empty() || offloads.front().usable > first) {
    return InvalidArgument("no result can be used at frame {}", first);
  }
  for (size_t i = 0; i < offloads.size(); ++i) {
    const auto [frame, usable] = offloads[i];
    if (usable < frame) return InvalidArgument("the result for frame {} is usable before it, at {}", frame, usable);
    if (i > 0 && (frame <= offloads[i - 1].frame || usable < offloads[i - 1].usable)) {
      return InvalidArgument("offload {} of frame {} is out of order", i, frame);
    }
  }
  return absl::OkStatus();
}

constexpr int kResults = 8;  // that a running mean goes back, about

bool IsSeenDrop(const SeenDrop& seen) {
  return std::isfinite(seen.drop) && seen.drop >= 0 && std::isfinite(seen.stride) && seen.stride >= 1;
}

}  // namespace

void SeenDrop::AddToMean(const SeenDrop& seen, double share) {
  stride += share * (seen.stride - stride);
  drop += share * (seen.drop - drop);
}

bool AreSeenDrops(const SeenDrop& near, const SeenDrop& far) {
  return IsSeenDrop(near) && IsSeenDrop(far) && far.stride > near.stride;
}

absl::StatusOr<double> BoxDropRate(std::span<const scene::Box> tracked, std::span<const scene::Box> server,
                                   int stride) {
  WHARF_RETURN_IF_ERROR(CheckStride(stride));
  return (1 - MeanIou(tracked, server)) / stride;
}

void DropRateEstimator::Add(const SeenDrop& near, const SeenDrop& far) {
  if (!AreSeenDrops(near, far)) return;
  seen_ = std::min(seen_ + 1, kResults);
  near_.AddToMean(near, 1.0 / seen_);
  if (curve_.recent > 0) recent_.AddToMean(near, 1.0 / std::min(seen_, curve_.recent));
  far_.AddToMean(far, 1.0 / seen_);
}

double DropRateEstimator::Exponent() const {
  if (!curve_.measured || near_.drop <= 0) return curve_.exponent;
  const double measured = std::log(far_.drop / near_.drop) / std::log(far_.stride / near_.stride);
  return (curve_.exponent + std::clamp(measured, 0.0, 1.0)) / 2;
}

double DropRateEstimator::RateBy(const SeenDrop& seen, double reference_stride) const {
  const double beyond = seen.stride - reference_stride;
  if (beyond == 0) return seen.drop * Exponent() / seen.stride;  // the limit
  return seen.drop * -std::expm1(Exponent() * std::log1p(-beyond / seen.stride)) / beyond;
}

std::optional<double> DropRateEstimator::Rate(double reference_stride) const {
  if (seen_ == 0) return std::nullopt;
  const double mean = RateBy(near_, reference_stride);
  return curve_.recent > 0 ? std::max(mean, RateBy(recent_, reference_stride)) : mean;
}

double MeanStride(const OffloadSchedule& schedule) { return schedule.latency + (schedule.interval - 1) / 2.0; }

OffloadSchedule ReferenceSchedule(double inference_s, double end_to_end_s, double frame_s) {
  return {.interval = Frames(inference_s, frame_s), .latency = Frames(end_to_end_s, frame_s)};
}

absl::StatusOr<int64_t> SumOfStrides(std::span<const Offload> offloads, int64_t first, int64_t last) {
  WHARF_RETURN_IF_ERROR(CheckOffloads(offloads, first));
  int64_t sum = 0;
  for (size_t i = 0; i < offloads.size(); ++i) {
    // The frames [begin, end) track from this result.
    const int64_t begin = std::max(first, offloads[i].usable);
    const int64_t end = i + 1 < offloads.size() ? std::min(last, offloads[i + 1].usable) : last;
    if (begin >= end) continue;
    const int64_t nearest = begin - offloads[i].frame, farthest = end - 1 - offloads[i].frame;
    sum += (nearest + farthest) * (end - begin) / 2;
  }
  return sum;
}

}  // namespace wharf::track
