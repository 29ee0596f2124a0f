#include "wharf/track/odometry_calibration.h"

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

// Odometry that errs by so much of the way, the more the more the camera turns: over twice the stride, twice as much of
// it.
MeasureMotion Erring(double share_a_frame) {
  return [share_a_frame](int64_t from, int64_t to) -> absl::StatusOr<MotionEstimate> {
    const Pose first = TruthAt(static_cast<double>(from) / 60), second = TruthAt(static_cast<double>(to) / 60);
    MotionEstimate measured{scene::RelativePose(first, second)};
    const double turn = first.rotation.angularDistance(second.rotation);
    measured.motion.position *= 1 + share_a_frame * static_cast<double>(to - from) * (0.1 + 10 * turn);
    measured.covariance = Matrix6::Identity() * 1e-3;
    return measured;
  };
}

TEST(FilterTrajectory, OfExactOdometryIsTheTruth) {
  const DriveRecord record = Record();
  const auto poses = FilterTrajectory(record, EveryNth(4, kFrames), 4, Erring(0));
  ASSERT_EQ(poses.status(), absl::OkStatus());
  EXPECT_LT(*TranslationError(record.truth, *poses), 1e-4);
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

TEST(CalibrationPoints, RiseWithTheAngularVelocityWhereOdometryDoesSo) {
  const auto points = CalibrationPoints(Record(), Erring(0.01));
  ASSERT_EQ(points.status(), absl::OkStatus());
  ASSERT_GT(points->size(), 20u);
  const OdometryAccuracyModel model = *FitOdometryModel(*points);
  EXPECT_GT(model.bound.slope, 0);
  EXPECT_GT(model.DropRate(0.4), model.DropRate(0.05));
  size_t above = 0;
  for (const CalibrationPoint& point : *points) above += point.drop > model.bound.At(point.angular_velocity) + 1e-9;
  EXPECT_LE(above, points->size() / 20);
}

TEST(CalibrationPoints, OfOdometryThatDoesNotErrAreAboutNone) {
  const std::vector<CalibrationPoint> points = *CalibrationPoints(Record(), Erring(0));
  for (const CalibrationPoint& point : points) EXPECT_NEAR(point.drop, 0, 1e-4);
}

TEST(CalibrationPoints, RefusesStridesThatDoNotFit) {
  const auto code = [](const CalibrationOptions& options) {
    return CalibrationPoints(Record(), Erring(0), options).status().code();
  };
  EXPECT_EQ(code({.base_stride = 4, .stride = 6}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.base_stride = 4, .stride = 8, .window = 20}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.base_stride = 0, .stride = 8}), StatusCode::kInvalidArgument);
}

TEST(Json, KeepsAModel) {
  const OdometryAccuracyModel model{.bound = {.intercept = -0.001, .slope = 0.03}, .base_stride = 4, .stride = 8};
  const OdometryAccuracyModel read = *ModelFromJson(ModelToJson(model));
  EXPECT_EQ(read.bound.intercept, model.bound.intercept);
  EXPECT_EQ(read.bound.slope, model.bound.slope);
  EXPECT_EQ(read.base_stride, 4);
  EXPECT_EQ(read.stride, 8);
}

TEST(Json, RefusesWhatIsNoModel) {
  for (const char* text : {"", "[]", "{}", R"({"odometry": 3})", R"({"odometry": {"intercept": 1, "slope": "x"}})",
                           R"({"odometry": {"intercept": 1, "slope": 1, "base_stride": 4, "stride": 4}})"}) {
    EXPECT_EQ(ModelFromJson(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(LoadOdometryModel("/nowhere/calibration.json").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace wharf::track
