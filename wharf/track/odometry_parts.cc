#include "wharf/track/odometry_parts.h"

#include <cmath>
#include <opencv2/imgproc.hpp>

#include "wharf/base/status.h"
#include "wharf/track/image_mat.h"

namespace wharf::track {
namespace {

constexpr FlowOptions kFlow{.window = 21, .levels = 4};

// Where corners may be: everywhere but in the boxes, which are cut to the picture.
cv::Mat Outside(std::span<const scene::Box> boxes, cv::Size size) {
  cv::Mat mask(size, CV_8U, cv::Scalar(255));
  const cv::Rect picture({0, 0}, size);
  for (const scene::Box& box : boxes) {
    const cv::Point first(cvFloor(box.left), cvFloor(box.top)), beyond(cvCeil(box.right), cvCeil(box.bottom));
    mask(cv::Rect(first, beyond) & picture) = 0;
  }
  return mask;
}

}  // namespace

std::vector<Match> MatchFeatures(const scene::Image& first, const scene::Image& second, const OdometryOptions& options,
                                 std::span<const scene::Box> left_out) {
  FlowOptions flow = kFlow;
  flow.round_trip_px = options.round_trip_px;
  const Pyramid from = PyramidOf(first, flow), to = PyramidOf(second, flow);
  // A distance at which the wanted number just covers the picture.
  const double spread = std::sqrt(0.5 * first.width * first.height / options.features);
  std::vector<cv::Point2f> corners;
  cv::goodFeaturesToTrack(from[0], corners, options.features, 0.005, spread, Outside(left_out, from[0].size()));
  return Follow(from, to, corners, flow);
}

cv::Matx33d CameraMatrix(const scene::Intrinsics& camera) {
  return {camera.fx, 0, camera.cx, 0, camera.fy, camera.cy, 0, 0, 1};
}

scene::Pose PoseOf(const cv::Matx33d& rotation, const cv::Vec3d& translation) {
  Eigen::Matrix3d matrix;
  for (int i = 0; i < 9; ++i) matrix(i / 3, i % 3) = rotation.val[i];
  return {Eigen::Quaterniond(matrix).normalized(), Eigen::Vector3d(translation[0], translation[1], translation[2])};
}

// As the second camera's motion instead of the first's points' transform.
MotionEstimate EstimateOf(const scene::Pose& transform, const Matrix6& covariance, double relative_length_sd) {
  MotionEstimate estimate{.motion = transform.Inverse()};
  Matrix6 turned = -Matrix6::Identity();
  turned.topLeftCorner<3, 3>() = -estimate.motion.rotation.toRotationMatrix();
  estimate.covariance = turned * covariance * turned.transpose();
  const Eigen::Vector3d scale_error = relative_length_sd * estimate.motion.position;
  estimate.covariance.topLeftCorner<3, 3>() += scale_error * scale_error.transpose();
  return estimate;
}

absl::Status CheckPictures(const scene::Image& first, const scene::Image& second, const scene::Intrinsics& camera) {
  if (!HasSizeOf(first, camera) || !HasSizeOf(second, camera)) {
    return InvalidArgument("pictures of {}x{} and {}x{} from a camera of {}x{}", first.width, first.height,
                           second.width, second.height, camera.width, camera.height);
  }
  return absl::OkStatus();
}

}  // namespace wharf::track
