#include "wharf/track/odometry.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <opencv2/calib3d.hpp>
#include <utility>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/track/image_mat.h"
#include "wharf/track/odometry_parts.h"

namespace wharf::track {
namespace {

using Eigen::Matrix3d;
using Eigen::Quaterniond;
using Eigen::Vector2d;
using Eigen::Vector3d;
using scene::DepthMap;
using scene::Image;
using scene::Intrinsics;
using scene::Pose;
using Vector6 = Eigen::Matrix<double, 6, 1>;

constexpr int kRefinements = 10;

// A point of the first camera and where the second one sees it.
struct Landmark {
  Vector3d point;
  Vector2d seen;
};

std::vector<Landmark> LandmarksOf(const std::vector<Match>& matches, const DepthMap& depth, const Intrinsics& camera,
                                  const OdometryOptions& options) {
  std::vector<Landmark> landmarks;
  for (const Match& match : matches) {
    const int column = std::clamp(cvRound(match.from.x), 0, camera.width - 1);
    const int row = std::clamp(cvRound(match.from.y), 0, camera.height - 1);
    const double z = depth.metres[static_cast<size_t>(row) * static_cast<size_t>(camera.width) + column];
    if (!(z > 0 && z <= options.farthest_metres)) continue;
    const Vector3d ray((match.from.x - camera.cx) / camera.fx, (match.from.y - camera.cy) / camera.fy, 1);
    landmarks.push_back({z * ray, {match.to.x, match.to.y}});
  }
  return landmarks;
}

// From the first camera's axes to the second's. A wide threshold: near landmarks are seen off by as much as their depth
// is, which only Refinement knows how to weigh.
absl::StatusOr<Pose> RoughTransform(const std::vector<Landmark>& landmarks, const Intrinsics& camera,
                                    const OdometryOptions& options) {
  std::vector<cv::Point3d> points;
  std::vector<cv::Point2d> seen;
  for (const Landmark& landmark : landmarks) {
    points.emplace_back(landmark.point.x(), landmark.point.y(), landmark.point.z());
    seen.emplace_back(landmark.seen.x(), landmark.seen.y());
  }
  cv::Vec3d turn, translation;
  std::vector<int> inliers;
  const float threshold = static_cast<float>(4 * options.inlier_px);
  if (!cv::solvePnPRansac(points, seen, CameraMatrix(camera), cv::noArray(), turn, translation, false, 100, threshold,
                          0.99, inliers, cv::SOLVEPNP_EPNP)) {
    return NotFound("no motion that {} features agree on", landmarks.size());
  }
  cv::Matx33d rotation;
  cv::Rodrigues(turn, rotation);
  return PoseOf(rotation, translation);
}

// Gauss-Newton over the reprojection of landmarks whose depth is uncertain. What the error of its depth does to a
// landmark's place in the second picture lies along one line there; along it the landmark counts for less, across it
// for as much as ever. Errors beyond the threshold count less and less (Cauchy's weight).
class Refinement {
 public:
  Refinement(const std::vector<Landmark>& landmarks, const Intrinsics& camera, const OdometryOptions& options)
      : landmarks_(landmarks), camera_(camera), options_(options) {}

  // Improves the transform; false if the landmarks do not determine one.
  bool Run(Pose& transform) {
    for (int i = 0; i < kRefinements; ++i) {
      Accumulate(transform);
      const Eigen::LDLT<Matrix6> solver(information_);
      if (solver.info() != Eigen::Success || !(solver.vectorD().minCoeff() > 1e-6)) return false;
      const Vector6 step = -solver.solve(gradient_);
      const double angle = step.tail<3>().norm();
      const Quaterniond turn(
          Eigen::AngleAxisd(angle, angle > 0 ? Vector3d(step.tail<3>() / angle) : Vector3d::UnitX()));
      transform = Pose{turn, step.head<3>()} * transform;
      if (step.norm() < 1e-8) break;
    }
    Accumulate(transform);
    return true;
  }

  int Inliers() const { return inliers_; }

  // Of the transform's error: translation, then rotation vector, both in the second camera's axes.
  Matrix6 Covariance() const {
    // If errors are larger than they were thought to be, so is their effect.
    const double misfit = std::max(1.0, weighted_errors_ / std::max(1, 2 * inliers_ - 6));
    return misfit * information_.inverse();
  }

 private:
  void Accumulate(const Pose& transform) {
    information_.setZero();
    gradient_.setZero();
    inliers_ = 0;
    weighted_errors_ = 0;
    for (const Landmark& landmark : landmarks_) Add(landmark, transform);
  }

  void Add(const Landmark& landmark, const Pose& transform) {
    const Vector3d turned = transform.rotation * landmark.point, p = turned + transform.position;
    if (!(p.z() > 0.1)) return;
    Eigen::Matrix<double, 2, 3> projection;  // how the place in the picture depends on p
    projection << camera_.fx / p.z(), 0, -camera_.fx * p.x() / (p.z() * p.z()),  //
        0, camera_.fy / p.z(), -camera_.fy * p.y() / (p.z() * p.z());
    const Vector2d error =
        Vector2d(camera_.fx * p.x() / p.z() + camera_.cx, camera_.fy * p.y() / p.z() + camera_.cy) - landmark.seen;
    const Vector2d by_depth = projection * turned * options_.depth_noise;
    const Eigen::Matrix2d noise =
        kFeatureNoise * kFeatureNoise * Eigen::Matrix2d::Identity() + by_depth * by_depth.transpose();
    const Eigen::Matrix2d certainty = noise.inverse();
    const double misfit = error.dot(certainty * error);
    const double bound = options_.inlier_px / kFeatureNoise;
    const double weight = 1 / (1 + misfit / (bound * bound));
    if (misfit < bound * bound) {
      ++inliers_;
      weighted_errors_ += misfit;
    }
    Eigen::Matrix<double, 3, 6> by_step;  // how p depends on a step
    by_step << Matrix3d::Identity(), (Matrix3d() << 0, p.z(), -p.y(), -p.z(), 0, p.x(), p.y(), -p.x(), 0).finished();
    const Eigen::Matrix<double, 2, 6> jacobian = projection * by_step;
    information_ += weight * jacobian.transpose() * certainty * jacobian;
    gradient_ += weight * jacobian.transpose() * certainty * error;
  }

  const std::vector<Landmark>& landmarks_;
  const Intrinsics& camera_;
  const OdometryOptions& options_;
  Matrix6 information_ = Matrix6::Zero();
  Vector6 gradient_ = Vector6::Zero();
  int inliers_ = 0;
  double weighted_errors_ = 0;
};

}  // namespace

absl::StatusOr<MotionEstimate> EstimateMotion(const Image& first, const DepthMap& first_depth, const Image& second,
                                              const Intrinsics& camera, const OdometryOptions& options,
                                              std::span<const scene::Box> movable) {
  WHARF_RETURN_IF_ERROR(CheckPictures(first, second, camera));
  if (!HasSizeOf(first_depth, camera)) {
    return InvalidArgument("a depth map of {}x{} for a camera of {}x{}", first_depth.width, first_depth.height,
                           camera.width, camera.height);
  }
  const int least = std::max(options.least_inliers, 6);  // PnP takes that many
  const auto enough = [&](size_t count) { return static_cast<int>(count) >= least; };
  const std::vector<Match> matches = MatchFeatures(first, second, options, movable);
  if (!enough(matches.size()))
    return NotFound("only {} features of the first picture are in the second", matches.size());
  const std::vector<Landmark> landmarks = LandmarksOf(matches, first_depth, camera, options);
  if (!enough(landmarks.size())) {
    return FailedPrecondition("depth is known at only {} of {} features", landmarks.size(), matches.size());
  }
  WHARF_ASSIGN_OR_RETURN(Pose transform, RoughTransform(landmarks, camera, options));
  Refinement refinement(landmarks, camera, options);
  if (!refinement.Run(transform)) return NotFound("{} features do not determine a motion", landmarks.size());
  if (refinement.Inliers() < least) {
    return NotFound("only {} of {} features agree on a motion", refinement.Inliers(), landmarks.size());
  }
  MotionEstimate estimate = EstimateOf(transform, refinement.Covariance(), options.depth_bias);
  estimate.inliers = refinement.Inliers();
  return estimate;
}

}  // namespace wharf::track
