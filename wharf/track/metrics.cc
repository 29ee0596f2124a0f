#include "wharf/track/metrics.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "wharf/base/status.h"

namespace wharf::track {
namespace {

using scene::Box;
using scene::DepthMap;
using scene::Pose;

struct Segment {
  size_t first = 0, last = 0;  // frames
  double length = 0;           // nominal, as KITTI divides by it
};

std::vector<double> PathLengths(std::span<const Pose> poses) {
  std::vector<double> lengths(poses.size(), 0);
  for (size_t i = 1; i < poses.size(); ++i) {
    lengths[i] = lengths[i - 1] + (poses[i].position - poses[i - 1].position).norm();
  }
  return lengths;
}

std::vector<Segment> Segments(std::span<const Pose> truth, const SegmentOptions& options) {
  const std::vector<double> path = PathLengths(truth);
  std::vector<Segment> segments;
  for (size_t first = 0; first < path.size(); first += options.start_step) {
    for (const double length : options.lengths_m) {
      const auto end = std::lower_bound(path.begin() + static_cast<ptrdiff_t>(first), path.end(), path[first] + length);
      if (end != path.end()) segments.push_back({first, static_cast<size_t>(end - path.begin()), length});
    }
  }
  return segments;
}

double ErrorOf(const Segment& segment, std::span<const Pose> truth, std::span<const Pose> estimate) {
  const Pose true_motion = scene::RelativePose(truth[segment.first], truth[segment.last]);
  const Pose motion = scene::RelativePose(estimate[segment.first], estimate[segment.last]);
  return (motion.Inverse() * true_motion).position.norm() / segment.length;
}

absl::StatusOr<double> MeanError(std::span<const Pose> truth, std::span<const Pose> estimate, size_t first, size_t last,
                                 const SegmentOptions& options) {
  if (truth.size() != estimate.size()) return InvalidArgument("{} poses against {}", estimate.size(), truth.size());
  if (options.start_step == 0) return InvalidArgument("segments must start at different frames: a step of 0");
  if (first > last || last >= truth.size()) {
    return InvalidArgument("frames {} to {} of a trajectory of {}", first, last, truth.size());
  }
  double sum = 0;
  size_t count = 0;
  for (const Segment& segment : Segments(truth, options)) {
    if (segment.last < first || segment.first > last) continue;
    sum += ErrorOf(segment, truth, estimate);
    ++count;
  }
  if (count == 0) return FailedPrecondition("no segment contains frames {} to {}: the path is too short", first, last);
  return sum / static_cast<double>(count);
}

}  // namespace

absl::StatusOr<double> AbsRel(const DepthMap& estimate, const DepthMap& truth) {
  if (estimate.width != truth.width || estimate.height != truth.height ||
      estimate.metres.size() != truth.metres.size()) {
    return InvalidArgument("a depth map of {}x{} against {}x{}", estimate.width, estimate.height, truth.width,
                           truth.height);
  }
  double sum = 0;
  size_t known = 0;
  for (size_t i = 0; i < truth.metres.size(); ++i) {
    const float actual = truth.metres[i];
    if (!(actual > 0) || !std::isfinite(actual)) continue;
    sum += std::isfinite(estimate.metres[i]) ? std::abs(estimate.metres[i] - actual) / actual : 1;
    ++known;
  }
  if (known == 0) return FailedPrecondition("no true depth is known");
  return sum / static_cast<double>(known);
}

absl::StatusOr<double> TranslationError(std::span<const Pose> truth, std::span<const Pose> estimate,
                                        const SegmentOptions& options) {
  return MeanError(truth, estimate, 0, truth.empty() ? 0 : truth.size() - 1, options);
}

absl::StatusOr<double> TranslationErrorOfFrames(std::span<const Pose> truth, std::span<const Pose> estimate,
                                                size_t first, size_t last, const SegmentOptions& options) {
  return MeanError(truth, estimate, first, last, options);
}

double Iou(const Box& a, const Box& b) {
  const auto area = [](double width, double height) { return width > 0 && height > 0 ? width * height : 0; };
  const double common = area(std::min(a.right, b.right) - std::max(a.left, b.left),
                             std::min(a.bottom, b.bottom) - std::max(a.top, b.top));
  if (common == 0) return 0;
  return common / (area(a.right - a.left, a.bottom - a.top) + area(b.right - b.left, b.bottom - b.top) - common);
}

double MeanIou(std::span<const Box> detections, std::span<const Box> reference) {
  if (detections.empty() && reference.empty()) return 1;
  std::vector<std::tuple<double, size_t, size_t>> pairs;
  for (size_t i = 0; i < detections.size(); ++i) {
    for (size_t j = 0; j < reference.size(); ++j) {
      const double iou = detections[i].object_class == reference[j].object_class ? Iou(detections[i], reference[j]) : 0;
      if (iou > 0) pairs.emplace_back(iou, i, j);
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return get<0>(a) > get<0>(b); });
  std::vector<bool> detection_taken(detections.size()), reference_taken(reference.size());
  double sum = 0;
  size_t matched = 0;
  for (const auto& [iou, i, j] : pairs) {
    if (detection_taken[i] || reference_taken[j]) continue;
    detection_taken[i] = reference_taken[j] = true;
    sum += iou;
    ++matched;
  }
  return sum / static_cast<double>(detections.size() + reference.size() - matched);
}

}  // namespace wharf::track
