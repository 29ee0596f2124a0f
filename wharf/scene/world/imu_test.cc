#include "wharf/scene/world/imu.h"

#include <gtest/gtest.h>

#include <cmath>

#include "wharf/scene/imu_table.h"
#include "wharf/scene/world/drive.h"

namespace wharf::scene {
namespace {

Drive ADrive(uint64_t seed) {
  const Streets streets(seed, 52, 88);
  const Route route = PlanRoute(streets, {.lane = 5, .turns_per_junction = 0.6, .metres = 600}, seed);
  return Drive(route, {.cruise_mps = 10, .glances = true}, 40, seed);
}
const Drive& TheDrive() {
  static const Drive drive = ADrive(11);
  return drive;
}
constexpr size_t kSamples = 9600;

// A body's motion by its IMU alone, both ends of every step weighed alike.
class DeadReckoning {
 public:
  explicit DeadReckoning(const Drive& drive) : pose_(drive.PoseAt(0)), velocity_(drive.Velocity(0)) {}
  void Step(const ImuSample& from, const ImuSample& to) {
    const double dt = to.time_s - from.time_s;
    const Eigen::Vector3d turn = (from.angular_velocity + to.angular_velocity) / 2 * dt, gravity(0, 0, -kGravity);
    const Eigen::Vector3d before = pose_.rotation * from.specific_force + gravity;
    if (turn.norm() > 0) pose_.rotation = pose_.rotation * Eigen::AngleAxisd(turn.norm(), turn.normalized());
    const Eigen::Vector3d after = pose_.rotation * to.specific_force + gravity;
    pose_.position += velocity_ * dt + (2 * before + after) / 6 * dt * dt;
    velocity_ += (before + after) / 2 * dt;
  }
  const Pose& Where() const { return pose_; }

 private:
  Pose pose_;
  Eigen::Vector3d velocity_;
};

TEST(Imu, WithoutErrorsItIntegratesToTheTrajectory) {
  const auto samples = MeasureImu(TheDrive(), kPerfectImu, kSamples, 1);
  DeadReckoning reckoning(TheDrive());
  constexpr size_t kSeconds = 20;
  for (size_t i = 1; i <= kSeconds * static_cast<size_t>(kImuHz); ++i) reckoning.Step(samples[i - 1], samples[i]);
  const Pose truth = TheDrive().PoseAt(kSeconds);
  EXPECT_GT((truth.position - TheDrive().PoseAt(0).position).norm(), 20);
  EXPECT_LT((reckoning.Where().position - truth.position).norm(), 0.2);
  EXPECT_LT(reckoning.Where().rotation.angularDistance(truth.rotation), 1e-3);
}

TEST(Imu, AtRestItMeasuresGravityUpwards) {
  Eigen::Vector3d sum = Eigen::Vector3d::Zero();
  const auto samples = MeasureImu(TheDrive(), kPerfectImu, kSamples, 1);
  for (const ImuSample& sample : samples) sum += sample.specific_force;
  EXPECT_NEAR(sum.y() / static_cast<double>(samples.size()), -kGravity, 0.3);  // y is down
}

TEST(Imu, ErrorsHaveTheirDensity) {
  const ImuErrors errors;
  ImuErrors only_white = errors;
  only_white.gyroscope_bias = only_white.gyroscope_walk = only_white.accelerometer_bias = 0;
  only_white.accelerometer_walk = 0;
  const auto exact = MeasureImu(TheDrive(), kPerfectImu, kSamples, 1);
  const auto noisy = MeasureImu(TheDrive(), only_white, kSamples, 1);
  double gyroscope = 0, accelerometer = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    gyroscope += (noisy[i].angular_velocity - exact[i].angular_velocity).squaredNorm() / 3;
    accelerometer += (noisy[i].specific_force - exact[i].specific_force).squaredNorm() / 3;
  }
  const double root = std::sqrt(kImuHz), count = static_cast<double>(exact.size());
  EXPECT_NEAR(std::sqrt(gyroscope / count) / (errors.gyroscope_noise * root), 1, 0.03);
  EXPECT_NEAR(std::sqrt(accelerometer / count) / (errors.accelerometer_noise * root), 1, 0.03);
}

TEST(Imu, BiasesDifferByVideoAndWander) {
  const auto bias = [](uint64_t seed, size_t first) {  // of the gyroscope, over ten seconds
    const auto exact = MeasureImu(TheDrive(), kPerfectImu, kSamples, seed);
    const auto noisy = MeasureImu(TheDrive(), ImuErrors(), kSamples, seed);
    Eigen::Vector3d sum = Eigen::Vector3d::Zero();
    for (size_t i = first; i < first + 2400; ++i) sum += noisy[i].angular_velocity - exact[i].angular_velocity;
    return Eigen::Vector3d(sum / 2400);
  };
  const Eigen::Vector3d early = bias(11, 0), late = bias(11, 7000), other = bias(12, 0);
  EXPECT_GT((early - other).norm(), 1e-4);
  EXPECT_GT((early - late).norm(), 0);
  EXPECT_LT((early - late).norm(), 1e-3);
  EXPECT_LT(early.norm(), 6 * 2e-3 * std::sqrt(3));
}

TEST(ImuTable, IsRead) {
  const auto samples = ParseImuTable("time_s,wx,wy,wz,ax,ay,az\n0,1,2,3,4,5,6\r\n0.5,-1e-3, 2,3,4,5,6\n");
  ASSERT_TRUE(samples.ok()) << samples.status();
  ASSERT_EQ(samples->size(), 2u);
  EXPECT_EQ((*samples)[1].time_s, 0.5);
  EXPECT_EQ((*samples)[1].angular_velocity, Eigen::Vector3d(-1e-3, 2, 3));
  EXPECT_EQ((*samples)[0].specific_force, Eigen::Vector3d(4, 5, 6));
}

TEST(ImuTable, WhatIsNoneIsRefusedByItsLine) {
  for (const char* row :
       {"1,2,3,4,5,6", "1,2,3,4,5,6,7,8", "a,2,3,4,5,6,7", "1,2,3,4,5,6,nan", "1,2,3,4,5,6,7x", ","}) {
    const auto samples = ParseImuTable(std::string("header\n0,0,0,0,0,0,0\n") + row + "\n");
    EXPECT_EQ(samples.status().code(), absl::StatusCode::kInvalidArgument) << row;
    EXPECT_NE(Message(samples.status()).find("line 3"), std::string_view::npos) << row;
  }
  EXPECT_EQ(ParseImuTable("h\n1,0,0,0,0,0,0\n1,0,0,0,0,0,0\n").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace wharf::scene
