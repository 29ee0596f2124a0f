// A camera's motion between two frames, as odometry measures it and the pose filter takes it.
#pragma once

#include <Eigen/Core>

#include "wharf/scene/scene.h"

namespace wharf::track {

using Matrix6 = Eigen::Matrix<double, 6, 6>;

struct MotionEstimate {
  scene::Pose motion;  // the second camera in the axes of the first
  // Of the error (translation in metres, rotation vector in radians), both in the axes of the first camera:
  // true translation = motion.position + e[0..3), true rotation = motion.rotation * exp(e[3..6)), where the rotation's
  // error is in the axes of the second camera. Symmetric, positive definite.
  Matrix6 covariance = Matrix6::Identity();
  int inliers = 0;     // points that agree with it
  bool metric = true;  // false: the translation has length 1, its true length is not known
};

}  // namespace wharf::track
