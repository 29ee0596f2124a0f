// Whether a pose can be relied on: its covariance, and a state that follows from it and from how tracking goes.
//
// The covariance is the filter's own, and to the position's is added what many measurements that err alike make of it.
// The filter takes them for independent, so that their errors would average out; but a depth network that sees a street
// too near sees the next picture of it too near as well. So a share of the way is off in each axis, which changes
// slowly: a Gauss-Markov process of `drift_along` and `drift_across` and a correlation time of `drift_s`.
//
// The state:
// initialising  until `least_measurements` measurements of the camera's motion have been taken and the velocity has
// been
//               known to `most_velocity_sd` once: what came before is integrated from a guess;
// good          afterwards, while all of these hold:
//               - the velocity is known to `most_velocity_sd` along the axis it is known least on (the covariance);
//               - the newest measurement is about a frame at most `longest_silence_s` ago;
//               - the last measurements agree with what was expected of them: of the newest `innovations`, the mean
//                 squared innovation in units of what it should be is at most `most_innovation`;
//               - no IMU sample was refused in the last `longest_silence_s`;
// unreliable    else.
//
// How often a good pose is further off than its covariance says is measured by `wharf ar poses` (docs/ar.md).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>

#include "wharf/track/pose_filter.h"

namespace wharf::track {

enum class PoseState : uint8_t { kInitialising, kGood, kUnreliable };
const char* PoseStateName(PoseState state);  // "initialising", "good", "unreliable"

struct PoseEstimate {
  scene::Pose pose;  // in the axes of where it started
  // Of its error: of the position in metres and the world's axes, then of the orientation in radians and the camera's.
  // Symmetric, positive definite. The position's grows with the way: what is measured is motion.
  Matrix6 covariance = Matrix6::Zero();
  PoseState state = PoseState::kInitialising;
  std::string_view why;  // it is not good, for people; empty if it is

  // Of the axis it is known least on, in metres.
  double PositionSd() const;
};

struct PoseStateOptions {
  int least_measurements = 3;
  double most_velocity_sd = 0.5;  // m/s
  double longest_silence_s = 1;
  size_t innovations = 10;
  double most_innovation = 3;                                    // 1: as expected
  double drift_along = 0.05, drift_across = 0.03, drift_s = 10;  // standard deviations, of the way; seconds
  double doubt_s = 20;
};

// Hears of what happens to a filter. Not thread-safe; constant time.
class PoseMonitor {
 public:
  explicit PoseMonitor(PoseStateOptions options = {}) : options_(options) {}
  // The filter took a measurement that ended with the frame of this time; as PoseFilter::innovation() says.
  void Measured(double time_s, double innovation);
  // The filter refused an IMU sample: for some time it did not follow the camera.
  void Refused(double time_s) { refused_s_ = time_s; }
  // Of the filter's pose now.
  PoseEstimate Judge(const PoseFilter& filter, double now_s);

 private:
  double MeanInnovation() const;
  void Drift(const PoseFilter& filter, double now_s);
  // What stands against a good pose; empty: nothing.
  std::string_view Objection(double velocity_sd, double now_s) const;

  PoseStateOptions options_;
  int64_t measured_ = 0;
  double measured_s_ = 0;
  std::optional<double> refused_s_;
  std::deque<double> innovations_;  // the newest is the last
  bool initialised_ = false;
  std::optional<double> judged_s_;
  double cause_ = 1;  // the variance of the process, in units of what the options say
  // Of the position's drift; and with the process that it is the integral of, in the camera's axes.
  Eigen::Matrix3d drift_ = Eigen::Matrix3d::Zero(), with_cause_ = Eigen::Matrix3d::Zero();
};

}  // namespace wharf::track
