#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <opencv2/calib3d.hpp>
#include <utility>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/track/median.h"
#include "wharf/track/odometry.h"
#include "wharf/track/odometry_parts.h"

namespace wharf::track {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using scene::Intrinsics;
using scene::Pose;
using Vector6 = Eigen::Matrix<double, 6, 1>;

constexpr double kLeastParallax = 1;  // pixels, on the median; with less there is no direction
constexpr int kRefinements = 5;
constexpr double kStep = 1e-6;  // of the numeric derivative

struct Rays {
  Vector3d from, to;  // z = 1
};

std::vector<Rays> RaysOf(const std::vector<Match>& matches, const Intrinsics& camera) {
  const auto ray = [&](const cv::Point2f& p) {
    return Vector3d((p.x - camera.cx) / camera.fx, (p.y - camera.cy) / camera.fy, 1);
  };
  std::vector<Rays> rays;
  for (const Match& match : matches) rays.push_back({ray(match.from), ray(match.to)});
  return rays;
}

Pose Perturbed(const Pose& transform, const Vector6& by) {
  const double angle = by.tail<3>().norm();
  const Vector3d axis = angle > 0 ? Vector3d(by.tail<3>() / angle) : Vector3d::UnitX();
  return Pose{Eigen::Quaterniond(Eigen::AngleAxisd(angle, axis)), by.head<3>()} * transform;
}

// Sampson's distance, in units of the rays (1 / focal length pixels): the first-order distance of the pair from one
// that the motion could have made.
double SampsonError(const Rays& rays, const Pose& transform) {
  const Vector3d t = transform.position.normalized();
  const auto essential = [&](const Vector3d& from) -> Vector3d { return t.cross(transform.rotation * from); };
  const auto transposed = [&](const Vector3d& to) -> Vector3d { return transform.rotation.conjugate() * to.cross(t); };
  const Vector3d line = essential(rays.from), back = transposed(rays.to);
  const double slope = line.head<2>().squaredNorm() + back.head<2>().squaredNorm();
  return slope > 0 ? rays.to.dot(line) / std::sqrt(slope) : 0;
}

// Gauss-Newton over Sampson's distances of the pairs that agree.
struct DirectionFit {
  Pose transform;
  Matrix6 covariance = Matrix6::Identity();
  int inliers = 0;
};

DirectionFit Refine(const std::vector<Rays>& rays, Pose transform, double inlier, double noise) {
  DirectionFit fit;
  for (int i = 0; i < kRefinements; ++i) {
    // The length says nothing: it is held at 1, with a deviation of 1.
    Matrix6 information = Matrix6::Zero();
    information.topLeftCorner<3, 3>() = transform.position * transform.position.transpose();
    Vector6 gradient = Vector6::Zero();
    fit.inliers = 0;
    for (const Rays& pair : rays) {
      const double error = SampsonError(pair, transform);
      if (std::abs(error) > inlier) continue;
      ++fit.inliers;
      Vector6 jacobian;
      for (int k = 0; k < 6; ++k) {
        const Vector6 step = kStep * Vector6::Unit(k);
        jacobian[k] =
            (SampsonError(pair, Perturbed(transform, step)) - SampsonError(pair, Perturbed(transform, -step))) /
            (2 * kStep);
      }
      information += jacobian * jacobian.transpose() / (noise * noise);
      gradient += jacobian * error / (noise * noise);
    }
    transform = Perturbed(transform, -information.ldlt().solve(gradient));
    transform.position.normalize();
    fit.covariance = information.inverse();
  }
  fit.transform = transform;
  return fit;
}

// How far features moved beyond what the rotation alone moves them, in rays' units.
double Parallax(const std::vector<Rays>& rays, const Pose& transform) {
  std::vector<double> lengths;
  for (const Rays& pair : rays) {
    const Vector3d turned = transform.rotation * pair.from;
    if (turned.z() > 0) lengths.push_back((turned.head<2>() / turned.z() - pair.to.head<2>()).norm());
  }
  return lengths.empty() ? 0 : Median(std::move(lengths));
}

}  // namespace

absl::StatusOr<MotionEstimate> EstimateDirection(const scene::Image& first, const scene::Image& second,
                                                 const Intrinsics& camera, const OdometryOptions& options) {
  WHARF_RETURN_IF_ERROR(CheckPictures(first, second, camera));
  const std::vector<Match> matches = MatchFeatures(first, second, options);
  if (static_cast<int>(matches.size()) < std::max(options.least_inliers, 5)) {
    return NotFound("only {} features of the first picture are in the second", matches.size());
  }
  std::vector<cv::Point2f> from, to;
  for (const Match& match : matches) {
    from.push_back(match.from);
    to.push_back(match.to);
  }
  cv::Mat mask;
  const cv::Mat essential =
      cv::findEssentialMat(from, to, CameraMatrix(camera), cv::RANSAC, 0.999, 2 * options.inlier_px, mask);
  if (essential.rows != 3 || essential.cols != 3) return NotFound("no motion that {} features agree on", from.size());
  cv::Matx33d rotation;
  cv::Vec3d translation;
  cv::recoverPose(essential, from, to, CameraMatrix(camera), rotation, translation, mask);

  const std::vector<Rays> rays = RaysOf(matches, camera);
  const double pixel = 1 / camera.fx;
  const DirectionFit fit =
      Refine(rays, PoseOf(rotation, translation), 2 * options.inlier_px * pixel, kFeatureNoise * pixel);
  if (fit.inliers < options.least_inliers) {
    return NotFound("only {} of {} features agree on a motion", fit.inliers, rays.size());
  }
  if (!(Parallax(rays, fit.transform) >= kLeastParallax * pixel)) return NotFound("the camera hardly moved");
  MotionEstimate estimate = EstimateOf(fit.transform, fit.covariance, 0);
  estimate.inliers = fit.inliers;
  estimate.metric = false;
  return estimate;
}

}  // namespace wharf::track
