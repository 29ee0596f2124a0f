// Trackers between answers: several frames under way, answers in any order, and what they show tracking to cost.
#include "wharf/ar/client/result_tracker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "wharf/ar/result_coding.h"
#include "wharf/ar/server/testing.h"
#include "wharf/scene/world/videos.h"
#include "wharf/track/pose_filter.h"

namespace wharf::ar {
namespace {

constexpr scene::Intrinsics kCamera = {kTestWidth, kTestHeight, 20, 20, 16, 8};

// Of a camera that stands still.
FramePointer FrameOf(int64_t index) {
  auto frame = std::make_shared<scene::Frame>();
  frame->index = index;
  frame->time_s = static_cast<double>(index + 1) / 60;  // the filter begins at 0
  frame->image = GreyPicture(100);
  for (int i = 1; i <= 4; ++i)
    frame->imu.push_back({frame->time_s - (4 - i) / 240.0, Eigen::Vector3d::Zero(), Eigen::Vector3d(0, 0, 9.81)});
  return frame;
}

std::vector<std::byte> Everywhere(float metres) {
  const std::vector<float> all(kTestWidth * kTestHeight, metres);
  return EncodeDepth({kTestWidth, kTestHeight, all}, DepthCoding::kHalf);
}

class TrackedDepthTest : public ::testing::Test {
 protected:
  // The next frames, those of `offloaded` on their way.
  void Frames(int64_t end, std::initializer_list<int64_t> offloaded) {
    for (; next_ < end; ++next_) {
      ASSERT_EQ(depth_.OnFrame(FrameOf(next_)), absl::OkStatus());
      if (std::find(offloaded.begin(), offloaded.end(), next_) != offloaded.end()) depth_.Offloaded();
    }
  }
  TrackedDepth depth_{kCamera, DepthCoding::kHalf, {}};
  int64_t next_ = 0;
};

TEST_F(TrackedDepthTest, HasNothingBeforeTheFirstAnswer) {
  Frames(3, {1});
  EXPECT_EQ(depth_.result(), nullptr);
  EXPECT_EQ(depth_.Stride(), -1);
}

TEST_F(TrackedDepthTest, TracksFromTheNewestAnswer) {
  Frames(4, {1});
  ASSERT_TRUE(depth_.Accept(1, Everywhere(10)).ok());
  Frames(5, {});
  ASSERT_NE(depth_.result(), nullptr);
  EXPECT_NEAR(depth_.result()->metres[0], 10, 0.05);
  EXPECT_EQ(depth_.Stride(), 3);
}

TEST_F(TrackedDepthTest, ShowsNothingBeforeTwoAnswersWereTrackedFrom) {
  Frames(2, {0});
  const auto first = depth_.Accept(0, Everywhere(10));
  ASSERT_TRUE(first.ok()) << ToString(first.status());
  EXPECT_FALSE(first->has_value());
  Frames(6, {4});
  const auto second = depth_.Accept(4, Everywhere(10));
  ASSERT_TRUE(second.ok()) << ToString(second.status());
  EXPECT_FALSE(second->has_value());
}

TEST_F(TrackedDepthTest, ShowsHowFarTheAnswerIsFromWhatWasTrackedFromTheTwoBefore) {
  Frames(2, {0});
  ASSERT_TRUE(depth_.Accept(0, Everywhere(10)).ok());
  Frames(6, {4});
  ASSERT_TRUE(depth_.Accept(4, Everywhere(12.5)).ok());
  Frames(10, {9});
  const auto seen = depth_.Accept(9, Everywhere(20));
  ASSERT_TRUE(seen.ok()) << ToString(seen.status());
  ASSERT_TRUE(seen->has_value());
  EXPECT_EQ((*seen)->near.stride, 5);
  EXPECT_NEAR((*seen)->near.drop, 7.5 / 20, 1e-3);
  EXPECT_EQ((*seen)->far.stride, 9);
  EXPECT_NEAR((*seen)->far.drop, 10.0 / 20, 1e-3);
}

TEST_F(TrackedDepthTest, FramesUnderWayAreEachComparedWithWhatWasTrackedToThem) {
  Frames(3, {0, 2});
  ASSERT_TRUE(depth_.Accept(0, Everywhere(10)).ok());
  ASSERT_TRUE(depth_.Accept(2, Everywhere(10)).ok());
  Frames(8, {4, 6});
  const SeenDrops first = depth_.Accept(4, Everywhere(20))->value();
  EXPECT_EQ(first.near.stride, 2);
  EXPECT_NEAR(first.near.drop, 10.0 / 20, 1e-3);
  const SeenDrops second = depth_.Accept(6, Everywhere(40))->value();
  EXPECT_EQ(second.near.stride, 4) << "as tracked then, from frame 2";
  EXPECT_EQ(second.far.stride, 6);
  EXPECT_NEAR(second.near.drop, 30.0 / 40, 1e-3);
  Frames(9, {});
  EXPECT_EQ(depth_.Stride(), 2);
}

TEST_F(TrackedDepthTest, AnOlderAnswerIsNoStepBack) {
  Frames(6, {1, 3});
  ASSERT_TRUE(depth_.Accept(3, Everywhere(10)).ok());
  EXPECT_EQ(depth_.Accept(1, Everywhere(99)).status().code(), absl::StatusCode::kNotFound);
  Frames(7, {});
  EXPECT_NEAR(depth_.result()->metres[0], 10, 0.05);
}

TEST_F(TrackedDepthTest, NonsenseChangesNothing) {
  Frames(3, {0, 2});
  ASSERT_TRUE(depth_.Accept(0, Everywhere(10)).ok());
  EXPECT_EQ(depth_.Accept(2, std::vector<std::byte>(9)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(depth_.Accept(77, Everywhere(5)).status().code(), absl::StatusCode::kNotFound);
  Frames(4, {});
  EXPECT_NEAR(depth_.result()->metres[0], 10, 0.05);
  EXPECT_TRUE(depth_.Accept(2, Everywhere(10)).ok());  // it may still come
}

// A camera on a car under way, whose filter takes it to stand still.
TEST(TrackedDepth, LearnsItsVelocityFromWhatTheServerFinds) {
  constexpr int kWidth = 448, kHeight = 128;
  const auto video = scene::FindVideo(scene::kCategories[0], 0, scene::Split::kCalibration);
  ASSERT_TRUE(video.ok());
  const scene::World world(video->seed, video->Options());
  multitask::OdometryTaskOptions motion;
  const auto level = track::AlignWithGravity(world.FrameAt(0, kWidth, kHeight).imu, motion.filter.gravity);
  ASSERT_TRUE(level.ok());
  motion.start = {.pose = {.rotation = *level}, .velocity_sd = 2, .orientation_sd = 0.1};
  TrackedDepth depth(scene::World::Camera(kWidth, kHeight), DepthCoding::kHalf, motion);
  std::vector<double> drops;
  for (int64_t index = 0; index < 66; ++index) {
    ASSERT_EQ(depth.OnFrame(std::make_shared<scene::Frame>(world.FrameAt(index, kWidth, kHeight))), absl::OkStatus());
    if (index % 6 == 0) depth.Offloaded();
    if (index % 6 != 3) continue;
    const auto seen =
        depth.Accept(index - 3, EncodeDepth(world.TruthAt(index - 3, kWidth, kHeight).depth, DepthCoding::kHalf));
    ASSERT_TRUE(seen.ok()) << ToString(seen.status());
    if (seen->has_value()) drops.push_back((*seen)->near.drop);
  }
  ASSERT_GE(drops.size(), 6);
  EXPECT_LT(drops.back(), drops.front() / 2);
  EXPECT_LT(drops.back(), 0.05);
}

TEST(TrackedBoxes, WhatCannotBeFoundAgainCostsAllOfIt) {
  TrackedBoxes boxes;
  const std::vector<std::byte> one = EncodeBoxes(std::vector<scene::Box>{{4, 2, 20, 14}});
  for (const int64_t frame : {0, 1}) {
    ASSERT_EQ(boxes.OnFrame(FrameOf(frame)), absl::OkStatus());
    boxes.Offloaded();
    ASSERT_TRUE(boxes.Accept(frame, one).ok());
  }
  for (int64_t frame = 2; frame <= 4; ++frame) ASSERT_EQ(boxes.OnFrame(FrameOf(frame)), absl::OkStatus());
  boxes.Offloaded();
  EXPECT_TRUE(boxes.result().empty());  // a grey wall has no corners to follow
  const SeenDrops seen = boxes.Accept(4, one)->value();
  EXPECT_EQ(seen.near.stride, 3);
  EXPECT_EQ(seen.near.drop, 1);
  EXPECT_EQ(seen.far.stride, 4);
  EXPECT_EQ(seen.far.drop, 1);
  EXPECT_EQ(boxes.Accept(4, one).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace wharf::ar
