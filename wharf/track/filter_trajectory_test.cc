#include "wharf/track/filter_trajectory.h"

#include <gtest/gtest.h>

#include <cmath>

#include "wharf/track/metrics.h"

namespace wharf::track {
namespace {

using absl::StatusCode;
using scene::Pose;

constexpr int kFrames = 900;  // 15 s at 10 m/s: 150 m

Pose TruthAt(double t) {
  const double yaw = 0.6 * std::sin(0.7 * t);
  return {Eigen::Quaterniond(Eigen::AngleAxisd(yaw, Eigen::Vector3d::UnitZ())), {10 * t, 0, 0}};
}

// A level camera that drives straight on and looks about: the IMU's samples are known.
DriveRecord Record() {
  DriveRecord record;
  for (int i = 0; i < kFrames; ++i) {
    const double t = i / 60.0;
    record.truth.push_back(TruthAt(t));
    record.imu.push_back({{t, {0, 0, 0.42 * std::cos(0.7 * t)}, {0, 0, 9.81}}});
  }
  record.start_velocity = {10, 0, 0};
  return record;
}

// Odometry that takes every way for longer than it is.
MeasureMotion Erring(double share) {
  return [share](int64_t from, int64_t to) -> absl::StatusOr<MotionEstimate> {
    MotionEstimate measured{
        scene::RelativePose(TruthAt(static_cast<double>(from) / 60), TruthAt(static_cast<double>(to) / 60))};
    measured.motion.position *= 1 + share;
    measured.covariance = Matrix6::Identity() * 1e-6;
    return measured;
  };
}

TEST(FilterTrajectory, OfExactOdometryIsTheTruth) {
  const DriveRecord record = Record();
  const auto poses = FilterTrajectory(record, EveryNth(4, kFrames), 4, Erring(0));
  ASSERT_EQ(poses.status(), absl::OkStatus());
  EXPECT_LT(*TranslationError(record.truth, *poses), 1e-4);
}

TEST(FilterTrajectory, ErrsAsItsOdometryDoesThoughTheImuBearsAgainstIt) {
  const DriveRecord record = Record();
  const auto error = [&](double share) {
    return *TranslationError(record.truth, *FilterTrajectory(record, EveryNth(4, kFrames), 4, Erring(share)));
  };
  EXPECT_GT(error(0.02), 0.002);
  EXPECT_LT(error(0.02), 0.03);
  EXPECT_GT(error(0.04), 1.5 * error(0.02));
}

TEST(FilterTrajectory, GoesOnWhereOdometryFindsNothing) {
  const DriveRecord record = Record();
  const MeasureMotion blind = [](int64_t, int64_t) { return absl::NotFoundError("too dark"); };
  const auto poses = FilterTrajectory(record, EveryNth(4, kFrames), 4, blind);
  ASSERT_EQ(poses.status(), absl::OkStatus());
  EXPECT_EQ(poses->size(), record.truth.size());
  const MeasureMotion broken = [](int64_t, int64_t) { return absl::InternalError("broken"); };
  EXPECT_EQ(FilterTrajectory(record, EveryNth(4, kFrames), 4, broken).status().code(), StatusCode::kInternal);
}

TEST(FilterTrajectory, RefusesFramesThatAreNotThere) {
  const DriveRecord record = Record();
  const auto code = [&](std::vector<int64_t> frames) {
    return FilterTrajectory(record, frames, 4, Erring(0)).status().code();
  };
  EXPECT_EQ(code({0, kFrames}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({8, 4}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({-4, 4}), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace wharf::track
