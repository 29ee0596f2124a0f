#include "wharf/track/pose_filter.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "wharf/base/status.h"

namespace wharf::track {
namespace {

using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Quaterniond;
using Eigen::Vector3d;
using Eigen::VectorXd;
using scene::ImuSample;
using scene::Pose;
using Matrix15 = Eigen::Matrix<double, 15, 15>;
using Vector6 = Eigen::Matrix<double, 6, 1>;

// Where parts of the error stand: first the state's, then 6 a mark (position, orientation).
enum : Eigen::Index {
  kPosition = 0,
  kVelocity = 3,
  kOrientation = 6,
  kAccelerometer = 9,
  kGyroscope = 12,
  kMarks = 15
};

Matrix3d Cross(const Vector3d& v) {
  Matrix3d m;
  m << 0, -v.z(), v.y(), v.z(), 0, -v.x(), -v.y(), v.x(), 0;
  return m;
}

Quaterniond Exp(const Vector3d& rotation) {
  const double angle = rotation.norm();
  if (angle < 1e-12) return Quaterniond(1, rotation.x() / 2, rotation.y() / 2, rotation.z() / 2).normalized();
  return Quaterniond(Eigen::AngleAxisd(angle, rotation / angle));
}

Vector3d Log(const Quaterniond& rotation) {
  const Eigen::AngleAxisd turn(rotation);  // angle in [0, pi]
  return turn.angle() * turn.axis();
}

struct Marked {
  int64_t frame;
  Pose pose;
};

}  // namespace

struct PoseFilter::State {
  PoseFilterOptions options;
  double time_s = 0;
  std::optional<ImuSample> last;
  Pose pose;
  Vector3d velocity = Vector3d::Zero(), accelerometer_bias = Vector3d::Zero(), gyroscope_bias = Vector3d::Zero();
  double innovation = 0;
  std::vector<Marked> marks;  // oldest first
  MatrixXd covariance = MatrixXd::Zero(kMarks, kMarks);

  Eigen::Index Find(int64_t frame) const;  // index in `marks`, or -1
  void Forget(size_t mark);
  Matrix15 Integrate(const ImuSample& from, const ImuSample& to, double dt);
  void AddNoise(double dt);
  void Inject(const VectorXd& error);
};

Eigen::Index PoseFilter::State::Find(int64_t frame) const {
  const auto found = std::find_if(marks.begin(), marks.end(), [&](const Marked& mark) { return mark.frame == frame; });
  return found == marks.end() ? -1 : found - marks.begin();
}

void PoseFilter::State::Forget(size_t mark) {
  const auto at = kMarks + 6 * static_cast<Eigen::Index>(mark), after = covariance.rows() - at - 6;
  covariance.middleRows(at, after) = covariance.bottomRows(after).eval();
  covariance.middleCols(at, after) = covariance.rightCols(after).eval();
  covariance.conservativeResize(at + after, at + after);
  marks.erase(marks.begin() + static_cast<ptrdiff_t>(mark));
}

// Moves the state on; returns how its error goes on with it.
Matrix15 PoseFilter::State::Integrate(const ImuSample& from, const ImuSample& to, double dt) {
  const Vector3d turn = ((from.angular_velocity + to.angular_velocity) / 2 - gyroscope_bias) * dt;
  const Quaterniond before = pose.rotation;
  pose.rotation = (before * Exp(turn)).normalized();
  const Vector3d force =
      (before * (from.specific_force - accelerometer_bias) + pose.rotation * (to.specific_force - accelerometer_bias)) /
      2;
  const Vector3d acceleration = force + options.gravity;
  pose.position += velocity * dt + acceleration * dt * dt / 2;
  velocity += acceleration * dt;

  const Matrix3d rotation = before.toRotationMatrix();
  Matrix15 step = Matrix15::Identity();
  step.block<3, 3>(kVelocity, kOrientation) = -Cross(force) * rotation * dt;  // -R [f] = -[R f] R
  step.block<3, 3>(kVelocity, kAccelerometer) = -rotation * dt;
  step.block<3, 15>(kPosition, 0) += step.block<3, 15>(kVelocity, 0) * (dt / 2);  // but for the velocity itself:
  step.block<3, 3>(kPosition, kVelocity) = Matrix3d::Identity() * dt;
  step.block<3, 3>(kOrientation, kOrientation) = Exp(-turn).toRotationMatrix();
  step.block<3, 3>(kOrientation, kGyroscope) = -Matrix3d::Identity() * dt;
  return step;
}

void PoseFilter::State::AddNoise(double dt) {
  const auto add = [&](Eigen::Index at, double density) {
    covariance.diagonal().segment<3>(at).array() += density * density * dt;
  };
  add(kVelocity, options.noise.accelerometer);
  add(kOrientation, options.noise.gyroscope);
  add(kAccelerometer, options.noise.accelerometer_bias_walk);
  add(kGyroscope, options.noise.gyroscope_bias_walk);
}

void PoseFilter::State::Inject(const VectorXd& error) {
  const auto correct = [&](Pose& corrected, Eigen::Index position, Eigen::Index orientation) {
    corrected.position += error.segment<3>(position);
    corrected.rotation = (corrected.rotation * Exp(error.segment<3>(orientation))).normalized();
  };
  correct(pose, kPosition, kOrientation);
  velocity += error.segment<3>(kVelocity);
  accelerometer_bias += error.segment<3>(kAccelerometer);
  gyroscope_bias += error.segment<3>(kGyroscope);
  for (size_t i = 0; i < marks.size(); ++i) {
    const Eigen::Index at = kMarks + 6 * static_cast<Eigen::Index>(i);
    correct(marks[i].pose, at, at + 3);
  }
}

namespace {

absl::Status CheckMeasured(const MotionEstimate& measured) {
  if (!measured.motion.position.allFinite() || !measured.motion.rotation.coeffs().allFinite() ||
      !measured.covariance.allFinite()) {
    return InvalidArgument("a measured motion that is not finite");
  }
  if (measured.covariance.llt().info() != Eigen::Success) {
    return InvalidArgument("the covariance of a measured motion is not positive definite");
  }
  return absl::OkStatus();
}

// Measured less expected, in the coordinates of MotionEstimate's covariance.
Vector6 Innovation(const MotionEstimate& measured, const Pose& expected) {
  Vector6 innovation;
  innovation.head<3>() = measured.motion.position - expected.position;
  innovation.tail<3>() = Log(expected.rotation.conjugate() * measured.motion.rotation.normalized());
  return innovation;
}

// How the expected motion depends on the errors of the pose it starts from.
Matrix6 ByFirst(const Pose& first, const Pose& expected) {
  Matrix6 jacobian = Matrix6::Zero();
  jacobian.topLeftCorner<3, 3>() = -first.rotation.conjugate().toRotationMatrix();
  jacobian.topRightCorner<3, 3>() = Cross(expected.position);
  jacobian.bottomRightCorner<3, 3>() = -expected.rotation.conjugate().toRotationMatrix();
  return jacobian;
}

// ... and of the pose it ends at.
Matrix6 BySecond(const Pose& first) {
  Matrix6 jacobian = Matrix6::Zero();
  jacobian.topLeftCorner<3, 3>() = first.rotation.conjugate().toRotationMatrix();
  jacobian.bottomRightCorner<3, 3>() = Matrix3d::Identity();
  return jacobian;
}

}  // namespace

absl::StatusOr<Quaterniond> AlignWithGravity(std::span<const ImuSample> samples, const Vector3d& gravity) {
  if (samples.empty()) return InvalidArgument("no samples to find gravity in");
  Vector3d mean = Vector3d::Zero();
  for (const ImuSample& sample : samples) mean += sample.specific_force / static_cast<double>(samples.size());
  if (!(std::abs(mean.norm() - gravity.norm()) <= gravity.norm() / 10)) {
    return FailedPrecondition("a mean specific force of {:.2f} m/s^2 is not gravity's {:.2f}", mean.norm(),
                              gravity.norm());
  }
  return Quaterniond::FromTwoVectors(mean, -gravity);
}

PoseFilter::PoseFilter(PoseFilterOptions options) : state_(std::make_unique<State>()) {
  state_->options = options;
  Start({});
}
PoseFilter::~PoseFilter() = default;
PoseFilter::PoseFilter(PoseFilter&&) noexcept = default;
PoseFilter& PoseFilter::operator=(PoseFilter&&) noexcept = default;

void PoseFilter::Start(const PoseFilterStart& start) {
  State fresh;
  fresh.options = state_->options;
  fresh.time_s = start.time_s;
  fresh.pose = {start.pose.rotation.normalized(), start.pose.position};
  fresh.velocity = start.velocity;
  const auto set = [&](Eigen::Index at, double sd) { fresh.covariance.diagonal().segment<3>(at).setConstant(sd * sd); };
  set(kPosition, start.position_sd);
  set(kVelocity, start.velocity_sd);
  set(kOrientation, start.orientation_sd);
  set(kAccelerometer, start.accelerometer_bias_sd);
  set(kGyroscope, start.gyroscope_bias_sd);
  if (start.heading_sd) {
    const Vector3d up = fresh.pose.rotation.conjugate() * Vector3d(-fresh.options.gravity.normalized());
    const double more = *start.heading_sd * *start.heading_sd - start.orientation_sd * start.orientation_sd;
    fresh.covariance.block<3, 3>(kOrientation, kOrientation) += more * up * up.transpose();
  }
  *state_ = std::move(fresh);
}

absl::Status PoseFilter::Predict(const ImuSample& sample) {
  State& state = *state_;
  if (!sample.angular_velocity.allFinite() || !sample.specific_force.allFinite()) {
    return InvalidArgument("an IMU sample that is not finite");
  }
  const double dt = sample.time_s - state.time_s;
  const bool in_order = state.last ? dt > 0 : dt >= 0;
  if (!in_order || !(dt <= state.options.longest_step_s)) {
    return InvalidArgument("an IMU sample {} s after the one before", dt);
  }
  const Matrix15 step = state.Integrate(state.last.value_or(sample), sample, dt);
  const Eigen::Index marks = state.covariance.rows() - kMarks;
  MatrixXd& p = state.covariance;
  const Matrix15 own = step * p.topLeftCorner<15, 15>() * step.transpose();
  p.topLeftCorner<15, 15>() = (own + own.transpose()) / 2;  // rounding made it a little unsymmetric
  p.topRightCorner(kMarks, marks) = (step * p.topRightCorner(kMarks, marks)).eval();
  p.bottomLeftCorner(marks, kMarks) = p.topRightCorner(kMarks, marks).transpose();
  state.AddNoise(dt);
  state.time_s = sample.time_s;
  state.last = sample;
  return absl::OkStatus();
}

void PoseFilter::Mark(int64_t frame) {
  State& state = *state_;
  if (const Eigen::Index known = state.Find(frame); known >= 0) state.Forget(static_cast<size_t>(known));
  if (state.marks.size() >= state.options.most_marks) state.Forget(0);
  const Eigen::Index size = state.covariance.rows();
  MatrixXd grown(size + 6, size + 6);
  grown.topLeftCorner(size, size) = state.covariance;
  grown.block(size, 0, 3, size) = state.covariance.middleRows<3>(kPosition);
  grown.block(size + 3, 0, 3, size) = state.covariance.middleRows<3>(kOrientation);
  grown.block(0, size, size + 6, 3) = grown.middleCols<3>(kPosition);
  grown.block(0, size + 3, size + 6, 3) = grown.middleCols<3>(kOrientation);
  state.covariance = std::move(grown);
  state.marks.push_back({frame, state.pose});
}

absl::Status PoseFilter::Update(int64_t from, int64_t to, const MotionEstimate& measured) {
  State& state = *state_;
  if (from >= to) return InvalidArgument("a motion from frame {} to {}", from, to);
  WHARF_RETURN_IF_ERROR(CheckMeasured(measured));
  const Eigen::Index first = state.Find(from), second = state.Find(to);
  if (first < 0 || second < 0) return NotFound("frame {} is not marked", first < 0 ? from : to);

  const Pose& start = state.marks[static_cast<size_t>(first)].pose;
  const Pose expected = scene::RelativePose(start, state.marks[static_cast<size_t>(second)].pose);
  const Vector6 innovation = Innovation(measured, expected);
  const Matrix6 by_first = ByFirst(start, expected), by_second = BySecond(start);
  MatrixXd& p = state.covariance;
  // H P, where H is zero but for the two marks' columns; P is symmetric, so its transpose is P H^T.
  const Eigen::Matrix<double, 6, Eigen::Dynamic> hp =
      by_first * p.middleRows<6>(kMarks + 6 * first) + by_second * p.middleRows<6>(kMarks + 6 * second);
  const auto times_h_transposed = [&](const auto& m) {
    return (m.template middleCols<6>(kMarks + 6 * first) * by_first.transpose() +
            m.template middleCols<6>(kMarks + 6 * second) * by_second.transpose())
        .eval();
  };
  const Matrix6 hph = times_h_transposed(hp);
  Matrix6 noise = measured.covariance;
  const double chi_square = innovation.dot((hph + noise).llt().solve(innovation));
  state.innovation = chi_square / 6;
  const double excess = std::max(1.0, chi_square / state.options.gate_chi_square);
  noise *= excess * excess;  // squared, so that the wilder a measurement, the less it pulls

  const MatrixXd gain = (hph + noise).llt().solve(hp).transpose();
  state.Inject(gain * innovation);
  // Joseph's form, (I - K H) P (I - K H)^T + K R K^T, one factor after the other.
  const MatrixXd left = p - gain * hp;
  p = left - times_h_transposed(left) * gain.transpose() + gain * noise * gain.transpose();
  p = ((p + p.transpose()) / 2).eval();
  while (!state.marks.empty() && state.marks.front().frame < to) state.Forget(0);
  return absl::OkStatus();
}

double PoseFilter::innovation() const { return state_->innovation; }
const Pose& PoseFilter::pose() const { return state_->pose; }
const Vector3d& PoseFilter::velocity() const { return state_->velocity; }
const Vector3d& PoseFilter::gyroscope_bias() const { return state_->gyroscope_bias; }
const Vector3d& PoseFilter::accelerometer_bias() const { return state_->accelerometer_bias; }

Vector3d PoseFilter::angular_velocity() const {
  return state_->last ? Vector3d(state_->last->angular_velocity - state_->gyroscope_bias) : Vector3d::Zero();
}

absl::StatusOr<Pose> PoseFilter::PoseAt(int64_t frame) const {
  const Eigen::Index mark = state_->Find(frame);
  if (mark < 0) return NotFound("frame {} is not marked", frame);
  return state_->marks[static_cast<size_t>(mark)].pose;
}

Matrix15 PoseFilter::covariance() const { return state_->covariance.topLeftCorner<15, 15>(); }

}  // namespace wharf::track
