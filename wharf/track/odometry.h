// The odometry task on the server: the camera's motion between two frames at any stride, from features (AccuMO, thesis
// section 2.6.2; the paper runs a network there, this runs geometry on the depth network's map).
#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "wharf/scene/scene.h"
#include "wharf/track/motion.h"

namespace wharf::track {

struct OdometryOptions {
  int features = 400;            // corners looked for, spread over the picture
  double round_trip_px = 0.7;    // a feature tracked forth and back must return this near
  double inlier_px = 0.3;        // reprojection error, beyond what its depth's error explains, of a point that agrees
  int least_inliers = 20;        // with fewer there is no answer
  double depth_noise = 0.1;      // of the depth map: relative standard deviation from pixel to pixel
  double depth_bias = 0.03;      // ... and of its scale as a whole, which does not average out over features
  double farthest_metres = 100;  // depths beyond say nothing about translation
};

// The motion in metres, from features of both frames and the first frame's depth. `movable`: boxes of the first picture
// whose contents may move by themselves; no features are taken there. kInvalidArgument if sizes are not the camera's;
// kFailedPrecondition if the depth map knows too little at the features; kNotFound if too few features are found again
// or agree on a motion. Deterministic. Any thread. Some ms at 448x128 (track_benchmark).
absl::StatusOr<MotionEstimate> EstimateMotion(const scene::Image& first, const scene::DepthMap& first_depth,
                                              const scene::Image& second, const scene::Intrinsics& camera,
                                              const OdometryOptions& options = {},
                                              std::span<const scene::Box> movable = {});

}  // namespace wharf::track
