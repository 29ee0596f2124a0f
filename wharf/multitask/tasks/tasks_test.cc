#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "wharf/base/status.h"
#include "wharf/multitask/tasks/boxes_task.h"
#include "wharf/multitask/tasks/depth_task.h"
#include "wharf/multitask/tasks/odometry_task.h"
#include "wharf/track/street_testing.h"

namespace wharf::multitask {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kFrameS = 1.0 / 60;

struct OtherAnswer final : Answer {};

// A picture with texture everywhere, moved by `shift` pixels to the right.
scene::Image Picture(int width, int height, int shift = 0) {
  scene::Image image{width, height, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const auto grey = static_cast<uint8_t>(track::TextureAt((x - shift) / 12.0, y / 12.0, 5));
      image.rgb.insert(image.rgb.end(), {grey, grey, grey});
    }
  }
  return image;
}

FramePointer MakeFrame(int64_t index, scene::Image image, std::vector<scene::ImuSample> imu = {}) {
  auto frame = std::make_shared<scene::Frame>();
  frame->index = index;
  frame->time_s = static_cast<double>(index) * kFrameS;
  frame->image = std::move(image);
  frame->imu = std::move(imu);
  return frame;
}

class DepthTaskTest : public ::testing::Test, public PoseSource {
 protected:
  absl::StatusOr<scene::Pose> MotionSince(int64_t frame) const override {
    if (frame < oldest_pose_) return NotFound("frame {}", frame);
    return motion_;
  }
  static DepthPointer Flat(float metres, int width = kWidth) {
    const scene::DepthMap map{width, kHeight, std::vector<float>(static_cast<size_t>(width) * kHeight, metres)};
    return std::make_shared<scene::DepthMap>(map);
  }
  static DepthAnswer Depth(DepthPointer map) {
    DepthAnswer answer;
    answer.depth = std::move(map);
    return answer;
  }
  void See(int64_t index, int shift = 0) {
    ASSERT_TRUE(task_.Observe(MakeFrame(index, Picture(kWidth, kHeight, shift))).ok());
  }

  static constexpr int kWidth = 64, kHeight = 32;
  const scene::Intrinsics camera_{kWidth, kHeight, 32, 32, 31.5, 15.5};
  scene::Pose motion_;
  int64_t oldest_pose_ = 0;
  float lite_metres_ = 12;
  int lite_runs_ = 0;
  DepthTask task_{camera_,
                  [this](const FramePointer&) -> absl::StatusOr<DepthPointer> {
                    ++lite_runs_;
                    if (lite_metres_ < 0) return Internal("no lite network today");
                    return Flat(lite_metres_);
                  },
                  {.server_abs_rel = 0.05, .lite_abs_rel = 0.25, .drop_rate = 0.003},
                  *this};
};

TEST_F(DepthTaskTest, BeginsWithWhatCalibrationSays) {
  EXPECT_DOUBLE_EQ(task_.estimate().drop_rate, 0.003);
  EXPECT_DOUBLE_EQ(task_.estimate().local_drop, 0.2);
}

TEST_F(DepthTaskTest, TheLiteNetworkNeedsNoServer) {
  See(0);
  EXPECT_EQ(task_.Track().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(task_.RunLocalAlgorithm().ok());
  EXPECT_EQ(task_.result()->metres.front(), 12);
}

TEST_F(DepthTaskTest, WarpsTheNewestAnswerToTheFrameOfNow) {
  See(0);
  task_.Offloaded();
  See(5);
  ASSERT_TRUE(task_.Accept(0, Depth(Flat(10))).ok());
  motion_.position = {0, 0, 1};  // a metre nearer
  ASSERT_TRUE(task_.Track().ok());
  EXPECT_NEAR(task_.result()->metres[kWidth * 16 + 32], 9, 1e-4);
}

TEST_F(DepthTaskTest, FusesWhatItWarpedWithTheLiteMapOfNow) {
  DepthTask task(
      camera_,
      [this](const FramePointer&) -> absl::StatusOr<DepthPointer> {
        if (lite_metres_ < 0) return Internal("no lite network today");
        return Flat(lite_metres_);
      },
      {.server_abs_rel = 0.05, .lite_abs_rel = 0.25, .drop_rate = 0.004, .fused_drop_share = 0.5}, *this, true);
  EXPECT_DOUBLE_EQ(task.estimate().drop_rate, 0.002);
  ASSERT_TRUE(task.Observe(MakeFrame(0, Picture(kWidth, kHeight))).ok());
  task.Offloaded();
  const auto tracked = [&](int64_t frame, float lite) {
    lite_metres_ = lite;
    EXPECT_TRUE(task.Observe(MakeFrame(frame, Picture(kWidth, kHeight))).ok());
    EXPECT_TRUE(task.Track().ok());
    return task.result()->metres[kWidth * 16 + 32];
  };
  lite_metres_ = 12;
  ASSERT_TRUE(task.Observe(MakeFrame(1, Picture(kWidth, kHeight))).ok());
  ASSERT_TRUE(task.Accept(0, Depth(Flat(24))).ok());  // the lite map is half as deep
  EXPECT_NEAR(tracked(2, 12), 24, 1e-4);              // nothing has changed
  EXPECT_NEAR(tracked(3, 5), 10, 1e-4);               // something is much nearer
  EXPECT_NEAR(tracked(4, 50), 24, 1e-4);
  EXPECT_NEAR(tracked(5, -1), 24, 1e-4);  // no lite network
  task.SetDropRate(0.01);
  EXPECT_DOUBLE_EQ(task.estimate().drop_rate, 0.005);
}

TEST_F(DepthTaskTest, HoldsTheLiteMapOfTheOffloadedFrameAgainstTheAnswer) {
  See(0);
  task_.Offloaded();
  ASSERT_TRUE(task_.RunLocalAlgorithm().ok());
  EXPECT_EQ(lite_runs_, 1);  // for both
  lite_metres_ = 100;        // of other frames
  See(5);
  ASSERT_TRUE(task_.Accept(0, Depth(Flat(10))).ok());
  EXPECT_NEAR(task_.estimate().local_drop, 0.2 - 0.05, 1e-6);
}

TEST_F(DepthTaskTest, TheLiteNetworksEstimateIsTakenFromTheCorrection) {
  DepthTask task(
      camera_, [this](const FramePointer&) { return Flat(lite_metres_); },
      {.server_abs_rel = 0.05, .lite_abs_rel = 0.25, .lite_correction = {.intercept = 0.03, .slope = 0.6}}, *this);
  EXPECT_DOUBLE_EQ(task.estimate().local_drop, 0.2);  // measured against the truth, so right as it is
  ASSERT_TRUE(task.Observe(MakeFrame(0, Picture(kWidth, kHeight))).ok());
  task.Offloaded();
  ASSERT_TRUE(task.Accept(0, Depth(Flat(10))).ok());
  EXPECT_NEAR(task.estimate().local_drop, 0.03 + 0.6 * (0.2 - 0.05), 1e-6);
}

TEST_F(DepthTaskTest, WithoutALiteMapTheEstimateStays) {
  lite_metres_ = -1;
  See(0);
  task_.Offloaded();
  ASSERT_TRUE(task_.Accept(0, Depth(Flat(10))).ok());
  EXPECT_DOUBLE_EQ(task_.estimate().local_drop, 0.2);
  EXPECT_EQ(task_.RunLocalAlgorithm().code(), absl::StatusCode::kInternal);
}

TEST_F(DepthTaskTest, RefusesAnswersThatFitNothing) {
  See(0);
  EXPECT_EQ(task_.Accept(0, Depth(Flat(10))).code(), absl::StatusCode::kNotFound);
  task_.Offloaded();
  EXPECT_EQ(task_.Accept(0, OtherAnswer()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(task_.Accept(0, Depth(nullptr)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(task_.Accept(0, Depth(Flat(10, 32))).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(task_.Accept(3, Depth(Flat(10))).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(task_.Track().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(DepthTaskTest, KeepsItsResultWhereItCannotTrack) {
  See(0);
  task_.Offloaded();
  ASSERT_TRUE(task_.Accept(0, Depth(Flat(10))).ok());
  ASSERT_TRUE(task_.Track().ok());
  oldest_pose_ = 1;
  EXPECT_EQ(task_.Track().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(task_.result()->metres.front(), 10);
}

TEST_F(DepthTaskTest, WhatMovesByItselfRaisesTheTrackersRate) {
  EXPECT_FALSE(task_.TrackerModel().has_value());
  See(0);
  task_.Offloaded();
  ASSERT_TRUE(task_.Accept(0, Depth(Flat(10))).ok());
  EXPECT_FALSE(task_.TrackerModel().has_value());  // nothing has passed since
  See(4);
  const absl::StatusOr<double> still = (*task_.TrackerModel())();
  ASSERT_TRUE(still.ok());
  EXPECT_NEAR(*still, 0, 1e-3);
}

TEST_F(DepthTaskTest, RefusesFramesOfAnotherSize) {
  EXPECT_EQ(task_.Observe(MakeFrame(0, Picture(32, 32))).code(), absl::StatusCode::kInvalidArgument);
}

// A camera on a straight way along z at 10 m/s, or turning on the spot; y is down.
class OdometryTaskTest : public ::testing::Test {
 protected:
  static constexpr double kSpeed = 10, kPerFrame = kSpeed * kFrameS;

  explicit OdometryTaskTest() : task_(Options()) {}
  static OdometryTaskOptions Options() {
    OdometryTaskOptions options;
    options.filter.gravity = {0, 9.81, 0};
    options.start.velocity = {0, 0, 0.9 * kSpeed};  // it believes to be slower
    options.start.velocity_sd = 1;
    options.accuracy.bound = {.intercept = 0.004, .slope = 0.04};
    return options;
  }
  FramePointer Next(const Eigen::Vector3d& angular_velocity = Eigen::Vector3d::Zero()) {
    std::vector<scene::ImuSample> imu;
    for (int i = 0; i < 4; ++i) {
      imu.push_back({static_cast<double>(samples_++) / 240, angular_velocity, {0, -9.81, 0}});
    }
    FramePointer frame = MakeFrame(next_++, {}, std::move(imu));
    EXPECT_TRUE(task_.Observe(frame).ok());
    return frame;
  }
  static OdometryAnswer Moved(int64_t from, double metres) {
    OdometryAnswer answer;
    answer.measured = {from, {}};
    answer.measured->motion.motion.position = {0, 0, metres};
    answer.measured->motion.covariance = track::Matrix6::Identity() * 1e-6;
    return answer;
  }
  // Offloads frames 0 and 10; the second one's answer is there in frame 15.
  void Drive() {
    Next();
    task_.Offloaded();
    for (int i = 1; i <= 10; ++i) Next();
    ASSERT_TRUE(task_.Accept(0, OdometryAnswer()).ok());
    task_.Offloaded();
    for (int i = 11; i <= 15; ++i) Next();
  }

  OdometryTask task_;
  int64_t next_ = 0, samples_ = 0;
};

TEST_F(OdometryTaskTest, AnAnswerCorrectsThePoseOfNow) {
  Drive();
  const double truth = kSpeed * static_cast<double>(samples_ - 1) / 240;
  const double before = std::abs(task_.pose().position.z() - truth);
  ASSERT_TRUE(task_.Accept(10, Moved(0, 10 * kPerFrame)).ok());
  EXPECT_LT(std::abs(task_.pose().position.z() - truth), 0.3 * before);
}

TEST_F(OdometryTaskTest, TheMotionBetweenFramesDoesNotJumpWithCorrections) {
  Drive();
  const double slow = 0.9 * kPerFrame;
  EXPECT_NEAR(task_.MotionSince(12)->position.z(), 3 * slow, 1e-6);
  ASSERT_TRUE(task_.Accept(10, Moved(0, 10 * kPerFrame)).ok());
  // A correction of 1 m or so, of which three frames' motion shows three frames' part at most.
  EXPECT_GT(task_.MotionSince(12)->position.z(), 3 * slow - 1e-6);
  EXPECT_LT(task_.MotionSince(12)->position.z(), 3 * kPerFrame + 5 * 0.1 * kPerFrame);
  Next();
  EXPECT_NEAR(task_.MotionSince(15)->position.z(), kPerFrame, 0.02 * kPerFrame);
}

TEST_F(OdometryTaskTest, RefusesAnswersThatFitNothing) {
  Drive();
  const Eigen::Vector3d before = task_.pose().position;
  EXPECT_EQ(task_.Accept(10, OtherAnswer()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(task_.Accept(10, Moved(10, 1)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(task_.Accept(10, Moved(3, 1)).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(task_.Accept(7, OdometryAnswer()).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(task_.pose().position, before);
}

TEST_F(OdometryTaskTest, KnowsNothingOfFramesNotSeen) {
  Next();
  EXPECT_EQ(task_.MotionSince(1).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(task_.MotionSince(-1).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(OdometryTaskTest, TurningCostsMore) {
  for (int i = 0; i < 32; ++i) Next();
  const double straight = task_.estimate().drop_rate;
  EXPECT_NEAR(straight, 0.004 / 4, 1e-5);  // the line's drop is from stride 4 to 8
  for (int i = 0; i < 64; ++i) Next({0, 0.5, 0});
  EXPECT_NEAR(task_.estimate().drop_rate, (0.004 + 0.5 * 0.04) / 4, 1e-4);
  EXPECT_EQ(task_.estimate().local_drop, kNoLocalAlgorithm);
}

TEST(OdometryServer, HoldsEachFrameAgainstTheOneBefore) {
  bool fails = false;
  OdometryServer server([](const FramePointer&) { return std::make_shared<scene::DepthMap>(); },
                        [&](const Reference&, const FramePointer&) -> absl::StatusOr<track::MotionEstimate> {
                          if (fails) return NotFound("no features");
                          return track::MotionEstimate();
                        });
  const auto serve = [&](int64_t index) { return server.Serve(MakeFrame(index, {})); };
  const auto from = [](const absl::StatusOr<AnswerPointer>& answer) {
    return dynamic_cast<const OdometryAnswer&>(**answer).measured->from;
  };
  EXPECT_FALSE(dynamic_cast<const OdometryAnswer&>(**serve(3)).measured.has_value());
  EXPECT_EQ(from(serve(8)), 3);
  fails = true;
  EXPECT_EQ(serve(12).status().code(), absl::StatusCode::kNotFound);
  fails = false;
  EXPECT_EQ(from(serve(17)), 12);
}

TEST(OdometryServer, LeavesOutWhatMayMove) {
  std::vector<std::vector<scene::Box>> left_out;
  OdometryServer server([](const FramePointer&) { return std::make_shared<scene::DepthMap>(); },
                        [&](const Reference& first, const FramePointer&) -> absl::StatusOr<track::MotionEstimate> {
                          left_out.push_back(first.movable);
                          return track::MotionEstimate();
                        },
                        [](const FramePointer& frame) -> absl::StatusOr<std::vector<scene::Box>> {
                          if (frame->index == 9) return Internal("no detector");
                          return std::vector<scene::Box>{{static_cast<float>(frame->index), 0, 50, 20}};
                        });
  const auto serve = [&](int64_t index) { return server.Serve(MakeFrame(index, {})).status().code(); };
  EXPECT_EQ(serve(3), absl::StatusCode::kOk);
  EXPECT_EQ(serve(8), absl::StatusCode::kOk);
  ASSERT_THAT(left_out, SizeIs(1));
  ASSERT_THAT(left_out[0], SizeIs(1));
  EXPECT_EQ(left_out[0][0].left, 3);  // of the earlier picture
  EXPECT_EQ(serve(9), absl::StatusCode::kInternal);
}

class BoxesTaskTest : public ::testing::Test {
 protected:
  static constexpr int kWidth = 160, kHeight = 96;
  void See(int64_t index, int shift) {
    ASSERT_TRUE(task_.Observe(MakeFrame(index, Picture(kWidth, kHeight, shift))).ok());
  }
  static BoxesAnswer At(float left) {
    BoxesAnswer answer;
    answer.boxes = {{left, 30, left + 40, 70}};
    return answer;
  }

  BoxesTask task_{0.01};
};

TEST_F(BoxesTaskTest, FollowsTheNewestAnswer) {
  See(0, 0);
  task_.Offloaded();
  ASSERT_TRUE(task_.Track().ok());
  EXPECT_THAT(task_.result(), IsEmpty());
  See(4, 6);
  ASSERT_TRUE(task_.Accept(0, At(40)).ok());
  ASSERT_TRUE(task_.Track().ok());
  ASSERT_THAT(task_.result(), SizeIs(1));
  EXPECT_NEAR(task_.result()[0].left, 46, 1);
}

TEST_F(BoxesTaskTest, MeasuresItsTrackerByTheNextAnswer) {
  See(0, 0);
  task_.Offloaded();
  See(4, 0);
  ASSERT_TRUE(task_.Accept(0, At(40)).ok());
  task_.Offloaded();
  ASSERT_TRUE(task_.Track().ok());  // to 40 again: nothing moved
  EXPECT_DOUBLE_EQ(task_.estimate().drop_rate, 0.01);
  See(8, 0);
  ASSERT_TRUE(task_.Accept(4, At(50)).ok());  // but the server says so: IoU 0.6
  EXPECT_NEAR(task_.estimate().drop_rate, 0.4 / 4, 0.02);
}

TEST_F(BoxesTaskTest, RefusesAnswersThatFitNothing) {
  See(0, 0);
  EXPECT_EQ(task_.Accept(0, At(1)).code(), absl::StatusCode::kNotFound);
  task_.Offloaded();
  EXPECT_EQ(task_.Accept(0, OtherAnswer()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(task_.Accept(1, At(1)).code(), absl::StatusCode::kNotFound);
}

TEST(BoxesServer, FailsWithItsDetector) {
  BoxesServer server([](const FramePointer& frame) -> absl::StatusOr<std::vector<scene::Box>> {
    if (frame->index > 0) return Internal("broken");
    return std::vector<scene::Box>(2);
  });
  EXPECT_THAT(dynamic_cast<const BoxesAnswer&>(**server.Serve(MakeFrame(0, {}))).boxes, SizeIs(2));
  EXPECT_EQ(server.Serve(MakeFrame(1, {})).status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace wharf::multitask
