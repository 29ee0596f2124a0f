// Trackers between answers: several frames under way, answers in any order, and what they show tracking to cost.
#include "wharf/ar/result_tracker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "wharf/ar/result_coding.h"
#include "wharf/ar/testing.h"

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
  const auto drop_rate = depth_.Accept(1, Everywhere(10));
  ASSERT_TRUE(drop_rate.ok()) << ToString(drop_rate.status());
  EXPECT_FALSE(drop_rate->has_value());  // there was nothing to compare
  Frames(5, {});
  ASSERT_NE(depth_.result(), nullptr);
  EXPECT_NEAR(depth_.result()->metres[0], 10, 0.05);
  EXPECT_EQ(depth_.Stride(), 3);
}

TEST_F(TrackedDepthTest, TheDropRateIsWhatWasTrackedAgainstTheAnswerByTheStride) {
  Frames(2, {0});
  ASSERT_TRUE(depth_.Accept(0, Everywhere(10)).ok());
  Frames(6, {4});
  const auto drop_rate = depth_.Accept(4, Everywhere(12.5));
  ASSERT_TRUE(drop_rate.ok()) << ToString(drop_rate.status());
  ASSERT_TRUE(drop_rate->has_value());
  EXPECT_NEAR(**drop_rate, 2.5 / 12.5 / 4, 1e-3);
}

TEST_F(TrackedDepthTest, FramesUnderWayAreEachComparedWithWhatWasTrackedToThem) {
  Frames(3, {0});
  ASSERT_TRUE(depth_.Accept(0, Everywhere(10)).ok());
  Frames(8, {4, 6});
  EXPECT_NEAR(depth_.Accept(4, Everywhere(20))->value(), 10.0 / 20 / 4, 1e-3);
  EXPECT_NEAR(depth_.Accept(6, Everywhere(40))->value(), 30.0 / 40 / 6, 1e-3);  // as tracked then, from frame 0
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

TEST(TrackedBoxes, WhatCannotBeFoundAgainCostsAllOfIt) {
  TrackedBoxes boxes;
  const std::vector<std::byte> one = EncodeBoxes(std::vector<scene::Box>{{4, 2, 20, 14}});
  ASSERT_EQ(boxes.OnFrame(FrameOf(0)), absl::OkStatus());
  boxes.Offloaded();
  ASSERT_TRUE(boxes.Accept(0, one).ok());
  for (int64_t frame = 1; frame <= 4; ++frame) ASSERT_EQ(boxes.OnFrame(FrameOf(frame)), absl::OkStatus());
  boxes.Offloaded();
  EXPECT_TRUE(boxes.result().empty());  // a grey wall has no corners to follow
  EXPECT_NEAR(boxes.Accept(4, one)->value(), 1.0 / 4, 1e-9);
  EXPECT_EQ(boxes.Accept(4, one).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace wharf::ar
