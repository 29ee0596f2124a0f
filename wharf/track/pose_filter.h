// The odometry task's local tracker and local algorithm in one: an error-state Kalman filter over IMU samples that
// takes the server's measurements of motion between frames whenever they arrive (AccuMO, thesis section 2.6.2).
//
// State: position, velocity, orientation, biases of accelerometer and gyroscope. The error is kept in world axes for
// position and velocity and in the camera's axes for orientation (rotation = estimate * exp(error)); see Sola,
// "Quaternion kinematics for the error-state Kalman filter" (2017), chapter 5.
//
// Late measurements: a measurement is about two frames of the past, so the filter clones the pose at both (Mark) and
// the clones stay correlated with the state of now (stochastic cloning, Roumeliotis and Burdick, 2002). Re-propagation
// from stored samples would need a clone of the earlier frame all the same, would cost the more the later a result is,
// and would have to be done within one frame; an update of clones costs the same however late it is.
//
//   filter.Start({.pose = start, .velocity = v});
//   for (const ImuSample& sample : frame.imu) RETURN_IF_ERROR(filter.Predict(sample));
//   filter.Mark(frame.index);                                  // when the frame is offloaded
//   RETURN_IF_ERROR(filter.Update(earlier, later, estimate));  // when the answer for the pair is back
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "wharf/scene/scene.h"
#include "wharf/track/motion.h"

namespace wharf::track {

// Densities of white noise and of the biases' random walk, as data sheets give them, in SI units. Those of scene's IMU.
struct ImuNoise {
  double gyroscope = 1.7e-4;              // rad/s/sqrt(Hz)
  double accelerometer = 2.5e-3;          // m/s^2/sqrt(Hz)
  double gyroscope_bias_walk = 2e-5;      // rad/s^2/sqrt(Hz)
  double accelerometer_bias_walk = 3e-4;  // m/s^3/sqrt(Hz)
};

struct PoseFilterOptions {
  ImuNoise noise;
  Eigen::Vector3d gravity{0, 0, -9.81};  // in the world; of one whose z is up
  double longest_step_s = 0.1;           // between IMU samples; a longer gap is an error
  size_t most_marks = 16;                // the oldest is forgotten
  // A measurement whose innovation is less likely than this is trusted the less the less likely it is (its covariance
  // is scaled by the square of the excess). It is never thrown away: a filter that is too sure of itself must not lock
  // its measurements out for good.
  double gate_chi_square = 16.8;  // 99 % of 6 degrees of freedom
};

// Where a filter starts and how sure that is (standard deviations).
struct PoseFilterStart {
  scene::Pose pose;
  Eigen::Vector3d velocity = Eigen::Vector3d::Zero();
  double time_s = 0;                                                    // a sample's clock
  double position_sd = 1e-3, velocity_sd = 0.1, orientation_sd = 0.01;  // m, m/s, rad
  // Of the heading (rad), where that is not as uncertain as the rest of the orientation: near 0 if the world's axes are
  // taken from where the camera looks first.
  std::optional<double> heading_sd;
  double gyroscope_bias_sd = 2e-3, accelerometer_bias_sd = 0.02;  // rad/s, m/s^2
};

// The smallest rotation that lays the mean specific force of `samples` along -gravity: a level camera's world, from
// samples during which it does not accelerate on average. kInvalidArgument for no samples, kFailedPrecondition if their
// mean is not within a tenth of gravity's length (it accelerates).
absl::StatusOr<Eigen::Quaterniond> AlignWithGravity(std::span<const scene::ImuSample> samples,
                                                    const Eigen::Vector3d& gravity);

// Not thread-safe. Predict is O(marks), Update O(marks^2); both are some microseconds.
class PoseFilter {
 public:
  explicit PoseFilter(PoseFilterOptions options = {});
  ~PoseFilter();
  PoseFilter(PoseFilter&&) noexcept;
  PoseFilter& operator=(PoseFilter&&) noexcept;

  // Forgets everything before. The time up to the first sample is integrated with that one's values.
  void Start(const PoseFilterStart& start);

  // Integrates from the sample before to this one (mean of both, midpoint rule). kInvalidArgument if it is not later
  // than the one before, is later by more than longest_step_s, or is not finite; the state is then as before.
  absl::Status Predict(const scene::ImuSample& sample);

  // Remembers the pose of now as that of `frame`, for measurements still to come. Frames are marked in increasing
  // order; one marked again is marked anew.
  void Mark(int64_t frame);

  // A measurement of the motion between two marked frames. Marks before `to` are no longer needed and forgotten.
  // kNotFound if one of the frames is not marked (or forgotten), kInvalidArgument if from >= to, the measurement is not
  // finite or its covariance not positive definite; the state is then as before.
  absl::Status Update(int64_t from, int64_t to, const MotionEstimate& measured);

  // How far the newest measurement was from what was expected of it: its squared innovation in units of the covariance
  // that the filter gave it, an axis; 1 on average if filter and measurements know their errors. 0 before any.
  double innovation() const;

  const scene::Pose& pose() const;
  const Eigen::Vector3d& velocity() const;
  // With the bias taken off, of the last sample, in the camera's axes.
  Eigen::Vector3d angular_velocity() const;
  const Eigen::Vector3d& gyroscope_bias() const;
  const Eigen::Vector3d& accelerometer_bias() const;
  // What is now known of the pose at a marked frame: better than it was then. kNotFound.
  absl::StatusOr<scene::Pose> PoseAt(int64_t frame) const;
  // Of the error of position, velocity, orientation, accelerometer bias, gyroscope bias.
  Eigen::Matrix<double, 15, 15> covariance() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wharf::track
