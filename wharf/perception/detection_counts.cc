#include "wharf/perception/detection_counts.h"

#include <algorithm>
#include <vector>

#include "wharf/track/metrics.h"

namespace wharf::perception {
namespace {

using scene::Box;

constexpr int kNoTruth = -1;

// The truth not taken yet that overlaps most, and enough.
int BestTruth(const Box& detection, std::span<const Box> truths, const std::vector<bool>& taken, double least_iou) {
  int best = kNoTruth;
  double overlap = least_iou;
  for (size_t i = 0; i < truths.size(); ++i) {
    if (taken[i] || truths[i].object_class != detection.object_class) continue;
    const double iou = track::Iou(detection, truths[i]);
    if (iou >= overlap && (best == kNoTruth || iou > overlap)) {
      overlap = iou;
      best = static_cast<int>(i);
    }
  }
  return best;
}

}  // namespace

DetectionCounts& DetectionCounts::operator+=(const DetectionCounts& other) {
  truths += other.truths;
  detections += other.detections;
  matches += other.matches;
  return *this;
}

DetectionCounts CountDetections(std::span<const Box> detections, std::span<const Box> truths,
                                const CountOptions& options) {
  const auto counts = [&](const Box& truth) { return truth.bottom - truth.top >= options.least_height; };
  std::vector<Box> by_score(detections.begin(), detections.end());
  std::stable_sort(by_score.begin(), by_score.end(), [](const Box& a, const Box& b) { return a.score > b.score; });
  std::vector<bool> taken(truths.size());
  DetectionCounts result;
  result.truths = static_cast<int>(std::count_if(truths.begin(), truths.end(), counts));
  for (const Box& detection : by_score) {
    const int truth = BestTruth(detection, truths, taken, options.least_iou);
    if (truth == kNoTruth) {
      result.detections += counts(detection);
      continue;
    }
    taken[truth] = true;
    result.detections += counts(truths[truth]);
    result.matches += counts(truths[truth]);
  }
  return result;
}

}  // namespace wharf::perception
