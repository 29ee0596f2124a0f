// A camera's motion between two frames, as odometry measures it and the pose filter takes it.
#pragma once

#include <Eigen/Core>

#include "wharf/scene/scene.h"

namespace wharf::track {

using Matrix6 = Eigen::Matrix<double, 6, 6>;

struct MotionEstimate {
  scene::Pose motion;  // the second camera in the axes of the first
  // Of the error e: first of the translation, in metres and the axes of the first camera (true = motion.position + e),
  // then of the rotation, a rotation vector in radians and the axes of the second (true = motion.rotation * exp(e)).
  // Symmetric, positive definite.
  Matrix6 covariance = Matrix6::Identity();
  int inliers = 0;  // points that agree with it
};

}  // namespace wharf::track
