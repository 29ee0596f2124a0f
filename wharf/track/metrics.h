// How good depth, odometry and boxes are, exactly as the papers measure it. Any thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "wharf/scene/scene.h"

namespace wharf::track {

// Absolute relative error (thesis 2.8.1, after Eigen et al. 2014): the mean of |estimate - truth| / truth over the
// pixels whose truth is known (> 0 and finite). A pixel that the estimate does not know (0, or not finite) counts as 1.
// kInvalidArgument if sizes differ, kFailedPrecondition if no truth is known.
absl::StatusOr<double> AbsRel(const scene::DepthMap& estimate, const scene::DepthMap& truth);

struct SegmentOptions {
  std::vector<double> lengths_m = {100, 200, 300, 400, 500, 600, 700, 800};  // KITTI's
  size_t start_step = 10;  // a segment starts at every tenth frame, as in KITTI's development kit
};

// KITTI's translation error, t_err (thesis 2.6.2): for every segment, of each length, that the true path is long enough
// for, the length of the difference of the two motions over it, divided by the segment's length; their mean. A
// fraction, not per cent. kInvalidArgument if the trajectories differ in size, kFailedPrecondition if the path is too
// short for any segment. O(frames * lengths * log frames).
absl::StatusOr<double> TranslationError(std::span<const scene::Pose> truth, std::span<const scene::Pose> estimate,
                                        const SegmentOptions& options = {});

// Its adaptation to frames (thesis 2.6.2): over only the segments that contain one of the frames [first, last].
// kInvalidArgument also for frames outside the trajectory; kFailedPrecondition if no segment contains any.
absl::StatusOr<double> TranslationErrorOfFrames(std::span<const scene::Pose> truth,
                                                std::span<const scene::Pose> estimate, size_t first, size_t last,
                                                const SegmentOptions& options = {});

// Intersection over union, 0 to 1. 0 if one has no area.
double Iou(const scene::Box& a, const scene::Box& b);

// Accuracy of detections as chapter 3 measures it (3.6.2). Boxes are matched one to one within their class, the pair of
// highest IoU first; each box of either side that stays alone counts as a pair of IoU 0; the mean over pairs. Two empty
// sets agree: 1. Symmetric. O(n m log n m).
double MeanIou(std::span<const scene::Box> detections, std::span<const scene::Box> reference);

}  // namespace wharf::track
