// AccuMO's accuracy model of the odometry task (thesis section 2.6.2): an upper bound of what a longer stride costs, as
// a line over the camera's mean angular velocity, fitted to the 95 % quantile on calibration videos.
#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "wharf/scene/scene.h"

namespace wharf::track {

struct Line {
  double intercept = 0, slope = 0;
  double At(double x) const { return intercept + slope * x; }
};

// Linear quantile regression (Koenker and Bassett 1978): the line that minimises the sum over points of
// quantile * r for r >= 0 and (quantile - 1) * r below, r = y - line(x). At most quantile * n points lie strictly below
// it and at most (1 - quantile) * n strictly above. Exact to rounding: for a slope the best intercept is a quantile of
// the residuals, and the loss is convex in the slope. O(n log(precision)). kInvalidArgument for unlike sizes, fewer
// than two points, non-finite values, or a quantile outside (0, 1); kFailedPrecondition if all x are equal.
absl::StatusOr<Line> FitQuantile(std::span<const double> x, std::span<const double> y, double quantile);

// Mean of |angular velocity| over successive poses, frame_s apart, in rad/s. 0 for fewer than two.
double MeanAngularVelocity(std::span<const scene::Pose> poses, double frame_s);

// The calibrated model. The thesis fits the drop in t_err from stride `base_stride` (4) to `stride` (8) and takes drops
// to be linear in the stride.
struct OdometryAccuracyModel {
  Line bound;  // drop in t_err over mean angular velocity in rad/s
  int base_stride = 4, stride = 8;

  // Upper bound of the drop in t_err per frame of stride; never negative.
  double DropRate(double mean_angular_velocity) const;
};

}  // namespace wharf::track
