// DetectionCounts: how many objects a detector finds, and how much of what it finds is there.
#pragma once

#include <span>

#include "wharf/scene/scene.h"

namespace wharf::perception {

struct DetectionCounts {
  int truths = 0, detections = 0, matches = 0;

  // Of nothing, both are 1.
  double Recall() const { return truths == 0 ? 1 : static_cast<double>(matches) / truths; }
  double Precision() const { return detections == 0 ? 1 : static_cast<double>(matches) / detections; }
  DetectionCounts& operator+=(const DetectionCounts& other);
};

struct CountOptions {
  double least_iou = 0.5;  // of a match, as Pascal VOC has it
  // Boxes of the truth that are lower count neither way: whether they are found, and what is found in their place.
  float least_height = 0;
};
// As in Pascal VOC: the best detections choose first, each the unmatched truth of its class that it overlaps most.
// Any thread. O(detections * truths).
DetectionCounts CountDetections(std::span<const scene::Box> detections, std::span<const scene::Box> truths,
                                const CountOptions& options);

}  // namespace wharf::perception
