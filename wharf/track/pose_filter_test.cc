#include "wharf/track/pose_filter.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <cmath>
#include <deque>
#include <limits>
#include <random>

namespace wharf::track {
namespace {

using absl::StatusCode;
using Eigen::Quaterniond;
using Eigen::Vector3d;
using scene::ImuSample;
using scene::Pose;
using Vector15 = Eigen::Matrix<double, 15, 1>;

constexpr double kImuHz = 240, kFrameHz = 60;
constexpr int kSamplesAFrame = 4;
const Vector3d kGravity(0, 0, -9.81);

// A drive that sways and turns: known in closed form, so that its exact IMU samples follow by differences.
Pose TruthAt(double t) {
  const double yaw = 0.8 * std::sin(0.4 * t), pitch = 0.05 * std::sin(1.3 * t);
  return {Quaterniond(Eigen::AngleAxisd(yaw, Vector3d::UnitZ()) * Eigen::AngleAxisd(pitch, Vector3d::UnitX())),
          {8 * t, 3 * std::sin(0.5 * t), 0.2 * std::sin(t)}};
}

Vector3d VelocityAt(double t) { return (TruthAt(t + 1e-4).position - TruthAt(t - 1e-4).position) / 2e-4; }

ImuSample ExactSample(double t) {
  const double h = 1e-4;
  const Eigen::AngleAxisd turn(TruthAt(t - h).rotation.conjugate() * TruthAt(t + h).rotation);
  const Vector3d acceleration = (VelocityAt(t + h) - VelocityAt(t - h)) / (2 * h);
  return {t, turn.angle() * turn.axis() / (2 * h), TruthAt(t).rotation.conjugate() * (acceleration - kGravity)};
}

// One trip: a sensor whose errors are drawn from what the filter is told of them, and a filter that starts as wrong as
// it is told it may be.
class Trip {
 public:
  explicit Trip(unsigned seed, ImuNoise noise = {}) : random_(seed), filter_({.noise = noise}), noise_(noise) {
    accelerometer_bias_ = Draw(start_.accelerometer_bias_sd);
    gyroscope_bias_ = Draw(start_.gyroscope_bias_sd);
    // Small enough for a filter that is linear in it: the second order of 0.01 rad, times gravity, would be 6 mm after
    // 5 s, a third of what the accelerometer's noise makes.
    start_.orientation_sd = 0.002;
    start_.pose = TruthAt(0);
    start_.pose.position += Draw(start_.position_sd);
    start_.pose.rotation = start_.pose.rotation * Small(Draw(start_.orientation_sd));
    start_.velocity = VelocityAt(0) + Draw(start_.velocity_sd);
    filter_.Start(start_);
  }

  // To the next frame, marked.
  void Frame() {
    for (int i = 0; i < kSamplesAFrame; ++i) {
      ImuSample sample = ExactSample(++samples_ / kImuHz);
      sample.angular_velocity += gyroscope_bias_ + Draw(noise_.gyroscope * std::sqrt(kImuHz));
      sample.specific_force += accelerometer_bias_ + Draw(noise_.accelerometer * std::sqrt(kImuHz));
      gyroscope_bias_ += Draw(noise_.gyroscope_bias_walk / std::sqrt(kImuHz));
      accelerometer_bias_ += Draw(noise_.accelerometer_bias_walk / std::sqrt(kImuHz));
      ASSERT_EQ(filter_.Predict(sample), absl::OkStatus());
    }
    filter_.Mark(++frame_);
  }

  // The motion between two frames as a server would measure it.
  MotionEstimate Measure(int64_t from, int64_t to, double position_sd = 0.02, double rotation_sd = 0.003) {
    MotionEstimate measured{scene::RelativePose(TruthAt(from / kFrameHz), TruthAt(to / kFrameHz))};
    measured.motion.position += Draw(position_sd);
    measured.motion.rotation = measured.motion.rotation * Small(Draw(rotation_sd));
    measured.covariance.setZero();
    measured.covariance.diagonal() << Vector3d::Constant(position_sd * position_sd),
        Vector3d::Constant(rotation_sd * rotation_sd);
    return measured;
  }

  // The whole error, in the filter's coordinates: truth = estimate + error.
  Vector15 Error() const {
    Vector15 error;
    const Pose truth = TruthAt(Time());
    const Eigen::AngleAxisd turn(filter_.pose().rotation.conjugate() * truth.rotation);
    error << truth.position - filter_.pose().position, VelocityAt(Time()) - filter_.velocity(),
        turn.angle() * turn.axis(), accelerometer_bias_ - filter_.accelerometer_bias(),
        gyroscope_bias_ - filter_.gyroscope_bias();
    return error;
  }

  // Its square in units of what the filter thinks it to be: 15 on average if that is right.
  double NormalizedError() const { return Error().dot(filter_.covariance().llt().solve(Error())); }
  double PositionError() const { return Error().head<3>().norm(); }
  double Time() const { return samples_ / kImuHz; }
  PoseFilter& filter() { return filter_; }
  int64_t frame() const { return frame_; }

 private:
  Vector3d Draw(double sd) {
    std::normal_distribution<double> normal(0, sd);
    return {normal(random_), normal(random_), normal(random_)};
  }
  static Quaterniond Small(const Vector3d& turn) {
    return Quaterniond(Eigen::AngleAxisd(turn.norm(), turn.normalized()));
  }

  std::mt19937 random_;
  PoseFilterStart start_;
  PoseFilter filter_;
  ImuNoise noise_;
  Vector3d accelerometer_bias_, gyroscope_bias_;
  int64_t samples_ = 0, frame_ = 0;
};

// Every `stride` frames a measurement of the stride that ended `late` frames ago.
void DriveWithUpdates(Trip& run, int frames, int stride, int late) {
  while (run.frame() < frames) {
    run.Frame();
    const int64_t to = run.frame() - late;
    if (to <= stride || to % stride != 1) continue;
    ASSERT_EQ(run.filter().Update(to - stride, to, run.Measure(to - stride, to)), absl::OkStatus());
  }
}

constexpr unsigned kRuns = 20;

double MeanNormalizedError(int frames, int stride, int late) {
  double sum = 0;
  for (unsigned seed = 0; seed < kRuns; ++seed) {
    Trip run(seed);
    DriveWithUpdates(run, frames, stride, late);
    sum += run.NormalizedError();
  }
  return sum / kRuns;
}

// 20 runs of 15 degrees of freedom: the mean lies within 15 +- 5 with 4 standard deviations (2 * 15 / 20 = 1.22^2).
TEST(PoseFilter, KnowsItsErrorWithoutMeasurements) {
  const double mean = MeanNormalizedError(300, 1000, 0);
  EXPECT_GT(mean, 10);
  EXPECT_LT(mean, 20);
}

TEST(PoseFilter, KnowsItsErrorWithMeasurements) {
  const double mean = MeanNormalizedError(300, 6, 0);
  EXPECT_GT(mean, 10);
  EXPECT_LT(mean, 20);
}

TEST(PoseFilter, KnowsItsErrorWithMeasurementsThatComeLate) {
  const double mean = MeanNormalizedError(300, 6, 5);
  EXPECT_GT(mean, 10);
  EXPECT_LT(mean, 20);
}

TEST(PoseFilter, IsBetterThanDeadReckoning) {
  double alone = 0, helped = 0, helped_late = 0;
  for (unsigned seed = 0; seed < kRuns; ++seed) {
    Trip a(seed), b(seed), c(seed);
    DriveWithUpdates(a, 600, 10000, 0);
    DriveWithUpdates(b, 600, 6, 0);
    DriveWithUpdates(c, 600, 6, 6);
    alone += a.PositionError();
    helped += b.PositionError();
    helped_late += c.PositionError();
  }
  EXPECT_LT(helped, 0.2 * alone);
  EXPECT_LT(helped_late, 1.3 * helped);
}

// With nothing predicted since, it makes no difference when a measurement arrives; and with something predicted,
// little: the state has moved on, but by what the measurement would have corrected too.
TEST(PoseFilter, ALateMeasurementDoesWhatATimelyOneWouldHaveDone) {
  Trip timely(3), late(3);
  while (timely.frame() < 12) timely.Frame();
  while (late.frame() < 12) late.Frame();
  const MotionEstimate measured = timely.Measure(6, 12);
  ASSERT_EQ(timely.filter().Update(6, 12, measured), absl::OkStatus());
  for (int i = 0; i < 8; ++i) late.Frame();
  ASSERT_EQ(late.filter().Update(6, 12, measured), absl::OkStatus());
  const Pose then = *timely.filter().PoseAt(12), now = *late.filter().PoseAt(12);
  EXPECT_LT((then.position - now.position).norm(), 1e-4);
  EXPECT_LT(then.rotation.angularDistance(now.rotation), 1e-5);
}

TEST(PoseFilter, IntegratesAPerfectSensorAlmostPerfectly) {
  PoseFilter filter;
  filter.Start({.pose = TruthAt(0), .velocity = VelocityAt(0)});
  for (int i = 0; i <= 10 * kImuHz; ++i) ASSERT_EQ(filter.Predict(ExactSample(i / kImuHz)), absl::OkStatus());
  EXPECT_LT((filter.pose().position - TruthAt(10).position).norm(), 0.01);
  EXPECT_LT(filter.pose().rotation.angularDistance(TruthAt(10).rotation), 1e-4);
  EXPECT_LT((filter.angular_velocity() - ExactSample(10).angular_velocity).norm(), 1e-9);
}

TEST(PoseFilter, StaysPositiveDefinite) {
  Trip run(5);
  for (int i = 0; i < 2000; ++i) {
    run.Frame();
    const int64_t to = run.frame();
    if (to % 3 == 0 && to > 3) {
      ASSERT_EQ(run.filter().Update(to - 3, to, run.Measure(to - 3, to, 1e-5, 1e-6)), absl::OkStatus());
    }
  }
  const Eigen::Matrix<double, 15, 15> covariance = run.filter().covariance();
  EXPECT_EQ(covariance, covariance.transpose());
  EXPECT_GT((Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(covariance).eigenvalues().minCoeff()), 0);
}

TEST(PoseFilter, AWildMeasurementDoesLittleHarm) {
  Trip run(8);
  DriveWithUpdates(run, 199, 6, 0);
  while (run.frame() < 205) run.Frame();
  MotionEstimate wild = run.Measure(199, 205);
  wild.motion.position += Vector3d(50, 0, 0);
  ASSERT_EQ(run.filter().Update(199, 205, wild), absl::OkStatus());
  const double after = run.PositionError();
  DriveWithUpdates(run, 260, 6, 0);
  EXPECT_LT(after, 2);
  EXPECT_LT(run.Error().segment<3>(3).norm(), 1) << "the velocity comes back";
}

TEST(PoseFilter, RefusesWhatItCannotUse) {
  Trip run(1);
  while (run.frame() < 40) run.Frame();
  PoseFilter& filter = run.filter();
  const auto code = [&](int64_t from, int64_t to, const MotionEstimate& measured) {
    return filter.Update(from, to, measured).code();
  };
  const Pose before = filter.pose();
  const MotionEstimate good = run.Measure(30, 40);
  MotionEstimate bad = good;
  bad.motion.position.x() = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(code(30, 40, bad), StatusCode::kInvalidArgument);
  bad = good;
  bad.covariance(0, 0) = -1;
  EXPECT_EQ(code(30, 40, bad), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(40, 30, good), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(30, 41, good), StatusCode::kNotFound);
  EXPECT_EQ(code(2, 40, good), StatusCode::kNotFound) << "the oldest marks are forgotten";
  EXPECT_EQ(filter.PoseAt(2).status().code(), StatusCode::kNotFound);

  ImuSample sample = ExactSample(run.Time());
  EXPECT_EQ(filter.Predict(sample).code(), StatusCode::kInvalidArgument) << "not later";
  sample.time_s += 0.2;
  EXPECT_EQ(filter.Predict(sample).code(), StatusCode::kInvalidArgument) << "a gap";
  sample = ExactSample(run.Time() + 0.01);
  sample.specific_force.z() = std::numeric_limits<double>::infinity();
  EXPECT_EQ(filter.Predict(sample).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(filter.pose().position, before.position);

  EXPECT_EQ(code(30, 40, good), StatusCode::kOk);
  EXPECT_EQ(code(30, 40, good), StatusCode::kNotFound) << "marks before the later frame are forgotten";
}

TEST(AlignWithGravity, LevelsACameraAtRest) {
  const Quaterniond tilt(Eigen::AngleAxisd(0.3, Vector3d(1, 2, 0).normalized()));
  const std::vector<ImuSample> rest(10, ImuSample{0, Vector3d::Zero(), tilt.conjugate() * -kGravity});
  const Quaterniond found = *AlignWithGravity(rest, kGravity);
  EXPECT_LT((found * rest[0].specific_force + kGravity).norm(), 1e-9);
  EXPECT_LT(found.angularDistance(tilt), 1e-9) << "a tilt about a level axis is the smallest rotation";
  EXPECT_EQ(AlignWithGravity({}, kGravity).status().code(), StatusCode::kInvalidArgument);
  const std::vector<ImuSample> falling(10, ImuSample{0, Vector3d::Zero(), Vector3d::Zero()});
  EXPECT_EQ(AlignWithGravity(falling, kGravity).status().code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace wharf::track
