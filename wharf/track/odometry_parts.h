// What odometry is made of: features followed, poses to and from OpenCV. For this room's .cc files only.
#pragma once

#include <opencv2/core.hpp>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "wharf/scene/scene.h"
#include "wharf/track/motion.h"
#include "wharf/track/odometry.h"
#include "wharf/track/point_flow.h"

namespace wharf::track {

inline constexpr double kFeatureNoise = 0.3;  // standard deviation of a followed corner's place, in pixels

// kInvalidArgument unless both have the camera's size.
absl::Status CheckPictures(const scene::Image& first, const scene::Image& second, const scene::Intrinsics& camera);

// Corners of the first picture, spread over it but for `left_out`, and where the second has them. REQUIRES:
// CheckPictures.
std::vector<Match> MatchFeatures(const scene::Image& first, const scene::Image& second, const OdometryOptions& options,
                                 std::span<const scene::Box> left_out);

cv::Matx33d CameraMatrix(const scene::Intrinsics& camera);
scene::Pose PoseOf(const cv::Matx33d& rotation, const cv::Vec3d& translation);

// The second camera's motion, from the transform of points of the first camera into the second's axes and the
// covariance of its error (translation, then rotation vector, in the second camera's axes: true = exp(e) transform).
// The length of the motion is uncertain by `relative_length_sd` besides.
MotionEstimate EstimateOf(const scene::Pose& transform, const Matrix6& covariance, double relative_length_sd);

}  // namespace wharf::track
