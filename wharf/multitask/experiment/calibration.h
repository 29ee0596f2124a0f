// Calibration: what accuracy models are told beforehand, from videos that are neither trained on nor reported (thesis
// 2.6.1, 2.6.2).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wharf/multitask/experiment/sight.h"
#include "wharf/scene/world/world.h"

namespace wharf::multitask {

struct Calibration {
  std::string source;  // which videos, which networks
  DepthCalibration depth;
  track::OdometryAccuracyModel odometry;
  double box_drop_rate = 0;  // per frame of stride, in IoU

  // One JSON object. kInvalidArgument: something else, or numbers that are not finite.
  static absl::StatusOr<Calibration> Parse(std::string_view json);
  std::string Json() const;
};

// What one video adds.
struct CalibrationVideo {
  std::vector<double> server_abs_rel, lite_abs_rel, lite_against_server;  // of frames
  std::vector<double> depth_drop_rate, fused_drop_rate, box_drop_rate;    // the same
  std::vector<double> angular_velocity, odometry_drop;                    // of windows of 32 frames
};

struct CalibrationOptions {
  int width = 448, height = 128;
  int64_t frames = scene::World::kFrames;
  bool oracle = false;
};

// Watches every fourth frame. Odometry: the trajectory at stride 4, and for each window of 32 frames the one at stride
// 8 in it, offline; the drop is the difference in t_err over the segments that contain the window (thesis 2.6.2). Depth
// and boxes: from a result 8 frames old, by the true motion. Fails as the networks do, and where the way is too short.
absl::StatusOr<CalibrationVideo> Watch(const scene::World& world, const Networks& networks,
                                       const CalibrationOptions& options);
// kFailedPrecondition: nothing to calibrate on, or the lite map is equally far from the server's in every frame.
// kInvalidArgument: one frame only.
absl::StatusOr<Calibration> Fit(const std::vector<CalibrationVideo>& videos, std::string source);

// How far the lite network's estimated drop is from the true one, mean over the frames of all videos, in AbsRel: as the
// thesis estimates it, and corrected, each video by what is fitted to the others.
struct LiteEstimateErrors {
  double published = 0, corrected = 0;
};
// Fails as Fit of all videos but one. kInvalidArgument: fewer than two videos.
absl::StatusOr<LiteEstimateErrors> CrossValidate(const std::vector<CalibrationVideo>& videos);

}  // namespace wharf::multitask
