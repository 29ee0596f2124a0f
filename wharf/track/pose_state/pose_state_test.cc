#include "wharf/track/pose_state/pose_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <functional>
#include <random>

namespace wharf::track {
namespace {

using Eigen::Quaterniond;
using Eigen::Vector3d;
using scene::Pose;
using testing::HasSubstr;

constexpr double kImuHz = 240, kFrameHz = 60;
constexpr int kSamplesAFrame = 4, kStride = 6, kLate = 4;
constexpr double kBeyond = 14.156;  // squared; of 3 axes, 99.73 % are within
const Vector3d kGravity(0, 0, -9.81);

// A drive that sways, turns and gets faster and slower.
Pose TruthAt(double t) {
  const double yaw = 0.5 * std::sin(0.4 * t);
  return {Quaterniond(Eigen::AngleAxisd(yaw, Vector3d::UnitZ())),
          {8 * t + 4 * std::sin(0.6 * t), 3 * std::sin(0.5 * t), 0.2 * std::sin(t)}};
}
Vector3d VelocityAt(double t) { return (TruthAt(t + 1e-4).position - TruthAt(t - 1e-4).position) / 2e-4; }

// What a trip is made to suffer, by time.
struct Faults {
  std::function<bool(double)> answered = [](double) { return true; };
  std::function<double(double)> length = [](double) { return 1.0; };  // of measured motions, of what it should be
  std::function<bool(double)> sampled = [](double) { return true; };  // the IMU
};

// A filter and its monitor on the way. Measurements err by noise and, all alike, by a share of the way, drawn from what
// the monitor says of it.
class Trip {
 public:
  explicit Trip(unsigned seed, Faults faults = {}) : random_(seed), faults_(std::move(faults)) {
    const PoseStateOptions options;
    shares_ = {options.drift_along * normal_(random_), options.drift_across * normal_(random_),
               options.drift_across * normal_(random_)};
    accelerometer_bias_ = Draw(0.02), gyroscope_bias_ = Draw(2e-3);
    filter_.Start({.pose = TruthAt(0), .velocity = VelocityAt(0) + Draw(0.1), .orientation_sd = 0.002});
  }

  // To the next frame.
  const PoseEstimate& Next() {
    ++frame_;
    for (int i = 0; i < kSamplesAFrame; ++i) {
      const double t = ++samples_ / kImuHz;
      if (faults_.sampled(t) && !filter_.Predict(Sample(t)).ok()) monitor_.Refused(Time());
    }
    const int64_t to = frame_ - kLate, from = to - kStride;
    if (frame_ % kStride == 0) filter_.Mark(frame_);
    if (to % kStride == 0 && from > 0 && faults_.answered(Time()) && filter_.Update(from, to, Measure(from, to)).ok())
      monitor_.Measured(static_cast<double>(to) / kFrameHz, filter_.innovation());
    estimate_ = monitor_.Judge(filter_, Time());
    return estimate_;
  }
  const PoseEstimate& Until(double seconds) {
    while (Time() < seconds) Next();
    return estimate_;
  }
  double Time() const { return static_cast<double>(frame_) / kFrameHz; }
  // Of the position: squared, in units of its covariance; with the filter's alone.
  double Error() const { return Squared(estimate_.covariance.topLeftCorner<3, 3>()); }
  double ErrorByFilter() const { return Squared(filter_.covariance().topLeftCorner<3, 3>()); }

 private:
  Vector3d Draw(double sd) { return {sd * normal_(random_), sd * normal_(random_), sd * normal_(random_)}; }
  double Squared(const Eigen::Matrix3d& covariance) const {
    const Vector3d error = TruthAt(Time()).position - estimate_.pose.position;
    return error.dot(covariance.llt().solve(error));
  }
  scene::ImuSample Sample(double t) {
    const double h = 1e-4;
    const Eigen::AngleAxisd turn(TruthAt(t - h).rotation.conjugate() * TruthAt(t + h).rotation);
    const Vector3d acceleration = (VelocityAt(t + h) - VelocityAt(t - h)) / (2 * h);
    const ImuNoise noise;
    return {t, turn.angle() * turn.axis() / (2 * h) + gyroscope_bias_ + Draw(noise.gyroscope * std::sqrt(kImuHz)),
            TruthAt(t).rotation.conjugate() * (acceleration - kGravity) + accelerometer_bias_ +
                Draw(noise.accelerometer * std::sqrt(kImuHz))};
  }
  MotionEstimate Measure(int64_t from, int64_t to) {
    constexpr double kPositionSd = 0.01, kRotationSd = 0.002;
    MotionEstimate measured{scene::RelativePose(TruthAt(static_cast<double>(from) / kFrameHz),
                                                TruthAt(static_cast<double>(to) / kFrameHz))};
    Vector3d& moved = measured.motion.position;
    moved = faults_.length(Time()) * (moved + moved.norm() * shares_) + Draw(kPositionSd);
    const Vector3d turned = Draw(kRotationSd);
    measured.motion.rotation = measured.motion.rotation * Eigen::AngleAxisd(turned.norm(), turned.normalized());
    measured.covariance.setZero();
    measured.covariance.diagonal() << Vector3d::Constant(kPositionSd * kPositionSd),
        Vector3d::Constant(kRotationSd * kRotationSd);
    return measured;
  }

  std::mt19937 random_;
  std::normal_distribution<double> normal_;
  Faults faults_;
  Vector3d shares_, accelerometer_bias_, gyroscope_bias_;
  PoseFilter filter_;
  PoseMonitor monitor_;
  PoseEstimate estimate_;
  int64_t frame_ = 0, samples_ = 0;
};

// Over trips of 20 s each.
struct Calibration {
  int frames = 0, good = 0, beyond_good = 0, beyond_filter = 0;  // the latter: of the good, by the filter's alone
};
Calibration Measure(const Faults& faults) {
  Calibration all;
  for (unsigned seed = 0; seed < 20; ++seed) {
    Trip trip(seed, faults);
    while (trip.Time() < 20) {
      const bool good = trip.Next().state == PoseState::kGood, beyond = trip.Error() > kBeyond;
      ++all.frames;
      all.good += good ? 1 : 0;
      all.beyond_good += good && beyond ? 1 : 0;
      all.beyond_filter += good && trip.ErrorByFilter() > kBeyond ? 1 : 0;
    }
  }
  testing::Test::RecordProperty("good", all.good);
  testing::Test::RecordProperty("beyond_good", all.beyond_good);
  testing::Test::RecordProperty("beyond_filter", all.beyond_filter);
  return all;
}

TEST(PoseState, AGoodPoseIsSeldomFurtherOffThanItsCovarianceSays) {
  const Calibration found = Measure({});
  EXPECT_GT(found.good, 0.95 * found.frames);
  EXPECT_LT(found.beyond_good, 0.01 * found.good);
  EXPECT_GT(found.beyond_filter, 0.2 * found.good) << "else nothing need be added to the filter's covariance";
}

TEST(PoseState, WhereMeasurementsGoWrongAGoodPoseIsStillWithinItsCovariance) {
  const Calibration found = Measure({.length = [](double t) { return t > 8 ? 1.5 : 1.0; }});
  EXPECT_LT(found.good, 0.8 * found.frames);
  EXPECT_LT(found.beyond_good, 0.01 * found.good);
  EXPECT_GT(found.beyond_filter, 0.2 * found.good) << "else there is nothing to tell";
}

TEST(PoseState, WhereTheImuIsSilentAGoodPoseIsStillWithinItsCovariance) {
  const Calibration found = Measure({.sampled = [](double t) { return t < 8 || t > 8.5; }});
  EXPECT_LT(found.good, 0.8 * found.frames);
  EXPECT_LT(found.beyond_good, 0.01 * found.good);
  EXPECT_GT(found.beyond_filter, 0.2 * found.good) << "else there is nothing to tell";
}

TEST(PoseState, ItIsNotGoodBeforeMotionsWereMeasured) {
  Trip alone(1, {.answered = [](double) { return false; }});
  EXPECT_EQ(alone.Until(10).state, PoseState::kInitialising);
  EXPECT_THAT(std::string(alone.Next().why), HasSubstr("too few measurements"));
  Trip trip(1);
  EXPECT_EQ(trip.Until(0.2).state, PoseState::kInitialising);
  EXPECT_EQ(trip.Until(2).state, PoseState::kGood);
  EXPECT_EQ(trip.Next().why, "");
}

TEST(PoseState, ItIsUnreliableWhileNoAnswersCome) {
  Trip trip(2, {.answered = [](double t) { return t < 4 || t > 8; }});
  EXPECT_EQ(trip.Until(4.8).state, PoseState::kGood);
  EXPECT_EQ(trip.Until(5.2).state, PoseState::kUnreliable);
  EXPECT_THAT(std::string(trip.Next().why), HasSubstr("no measurement"));
  EXPECT_EQ(trip.Until(12).state, PoseState::kGood);
}

TEST(PoseState, TheCovarianceGrowsWithTheWayAndIsOneOfPositionAndOrientation) {
  Trip trip(3);
  const double soon = trip.Until(2).PositionSd(), later = trip.Until(10).PositionSd();
  EXPECT_GT(soon, 0);
  EXPECT_GT(later, soon);
  const Matrix6 covariance = trip.Next().covariance;
  EXPECT_LT((covariance - covariance.transpose()).norm(), 1e-12);
  EXPECT_EQ(covariance.llt().info(), Eigen::Success);
  EXPECT_LT(covariance(5, 5), 0.1) << "of an angle";
}

}  // namespace
}  // namespace wharf::track
