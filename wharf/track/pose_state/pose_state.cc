#include "wharf/track/pose_state/pose_state.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace wharf::track {
namespace {

// Of a 3 x 3 covariance: the standard deviation along the axis where it is largest.
double LargestSd(const Eigen::Matrix3d& covariance) {
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> solver(covariance, Eigen::EigenvaluesOnly);
  return std::sqrt(std::max(0.0, solver.eigenvalues().maxCoeff()));
}

}  // namespace

const char* PoseStateName(PoseState state) {
  switch (state) {
    case PoseState::kInitialising:
      return "initialising";
    case PoseState::kGood:
      return "good";
    case PoseState::kUnreliable:
      return "unreliable";
  }
  return "?";
}

double PoseEstimate::PositionSd() const { return LargestSd(covariance.topLeftCorner<3, 3>()); }

void PoseMonitor::Measured(double time_s, double innovation) {
  ++measured_;
  measured_s_ = time_s;
  innovations_.push_back(innovation);
  if (innovations_.size() > options_.innovations) innovations_.pop_front();
  if (initialised_ && MeanInnovation() > options_.most_innovation) cause_ = std::max(cause_, MeanInnovation());
}

double PoseMonitor::MeanInnovation() const {
  return std::accumulate(innovations_.begin(), innovations_.end(), 0.0) /
         static_cast<double>(std::max<size_t>(1, innovations_.size()));
}

std::string_view PoseMonitor::Objection(double velocity_sd, double now_s) const {
  if (measured_ < options_.least_measurements) return "too few measurements of the motion";
  if (refused_s_ && now_s - *refused_s_ <= options_.longest_silence_s) return "IMU samples are missing";
  if (now_s - measured_s_ > options_.longest_silence_s) return "no measurement of the motion for too long";
  if (!(velocity_sd <= options_.most_velocity_sd)) return "the velocity is not known well";
  if (!(MeanInnovation() <= options_.most_innovation)) return "measurements of the motion disagree with the IMU";
  return "";
}

void PoseMonitor::Drift(const PoseFilter& filter, double now_s) {
  const double dt = now_s - judged_s_.value_or(now_s);
  judged_s_ = now_s;
  const double speed = filter.velocity().norm();
  if (!(dt > 0) || !(speed > 0)) return;
  const Eigen::Vector3d along = filter.velocity() / speed;
  const Eigen::Matrix3d shares = options_.drift_across * Eigen::Matrix3d::Identity() +
                                 (options_.drift_along - options_.drift_across) * along * along.transpose();
  const Eigen::Matrix3d step = speed * dt * shares * filter.pose().rotation.toRotationMatrix();
  const Eigen::Matrix3d mixed = with_cause_ * step.transpose();
  drift_ += mixed + mixed.transpose() + cause_ * step * step.transpose();
  with_cause_ = (with_cause_ + cause_ * step) * std::exp(-dt / options_.drift_s);
  cause_ = 1 + (cause_ - 1) * std::exp(-dt / options_.doubt_s);
}

PoseEstimate PoseMonitor::Judge(const PoseFilter& filter, double now_s) {
  Drift(filter, now_s);
  const auto all = filter.covariance();
  PoseEstimate estimate{.pose = filter.pose()};
  estimate.covariance << all.block<3, 3>(0, 0), all.block<3, 3>(0, 6), all.block<3, 3>(6, 0), all.block<3, 3>(6, 6);
  estimate.covariance.topLeftCorner<3, 3>() += drift_;
  const double velocity_sd = LargestSd(all.block<3, 3>(3, 3));
  initialised_ |= measured_ >= options_.least_measurements && velocity_sd <= options_.most_velocity_sd;
  estimate.why = Objection(velocity_sd, now_s);
  if (initialised_) estimate.state = estimate.why.empty() ? PoseState::kGood : PoseState::kUnreliable;
  return estimate;
}

}  // namespace wharf::track
