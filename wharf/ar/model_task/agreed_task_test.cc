#include "wharf/ar/model_task/agreed_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wharf/ar/model_task/model_task_testing.h"
#include "wharf/ar/result_coding.h"
#include "wharf/ar/server/testing.h"

namespace wharf::ar {
namespace {

using testing::Counter;
using ::testing::ElementsAre;
using testing::Number;

const TaskCalibration kCounting = {.task = "count", .rate = 0.5, .exponent = 0.5};

FramePointer PictureAt(int64_t index, uint8_t grey = 0) {
  auto frame = std::make_shared<scene::Frame>();
  frame->index = index;
  frame->image = GreyPicture(grey);
  return frame;
}

std::vector<std::byte> Found(float value) { return EncodeOutputs(std::vector<graph::Constant>{Number(value)}); }

// --- Tracking, without a client ---

class TrackedModelTest : public ::testing::Test {
 protected:
  void Frames(int64_t first, int64_t last) {
    for (int64_t index = first; index <= last; ++index) EXPECT_EQ(tracked_.OnFrame(PictureAt(index)), absl::OkStatus());
  }
  void Offload(int64_t index) {
    Frames(index, index);
    tracked_.Offloaded();
  }
  double Result() const { return *static_cast<const double*>(tracked_.result().get()); }

  Counter tracker_{1};
  TrackedModel tracked_{tracker_};
};

TEST_F(TrackedModelTest, TracksFromTheNewestAnswerFrameByFrame) {
  Offload(0);
  EXPECT_EQ(tracked_.result(), nullptr);
  Frames(1, 2);
  EXPECT_EQ(*tracked_.Accept(0, Found(10)), std::nullopt) << "nothing was tracked to that frame";
  Frames(3, 4);
  EXPECT_EQ(Result(), 14);
  EXPECT_EQ(tracked_.Stride(), 4);
  EXPECT_THAT(tracker_.jumps, ElementsAre(3, 1));
}

TEST_F(TrackedModelTest, ShowsWhatTrackingLostFromTheNewestAnswerAndTheOneBefore) {
  Offload(0);
  ASSERT_TRUE(tracked_.Accept(0, Found(0)).ok());
  Offload(2);
  ASSERT_TRUE(tracked_.Accept(2, Found(3)).ok());  // 1 more than tracked
  Offload(6);                                      // 7 by the newest, 6 by the one before
  const auto seen = tracked_.Accept(6, Found(9));
  ASSERT_TRUE(seen.ok() && seen->has_value());
  EXPECT_EQ((*seen)->near.stride, 4);
  EXPECT_EQ((*seen)->near.drop, 2);
  EXPECT_EQ((*seen)->far.stride, 6);
  EXPECT_EQ((*seen)->far.drop, 3);
}

TEST_F(TrackedModelTest, WhatIsNoAnswerChangesNothing) {
  Offload(0);
  EXPECT_EQ(tracked_.Accept(1, Found(1)).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(tracked_.Accept(0, {}).status().code(), absl::StatusCode::kInvalidArgument);
  const std::vector<graph::Constant> two = {Number(1), Number(2)};
  EXPECT_EQ(tracked_.Accept(0, EncodeOutputs(two)).status(), InvalidArgument("no single number"));
  ASSERT_TRUE(tracked_.Accept(0, Found(5)).ok());
  Frames(1, 1);
  EXPECT_EQ(Result(), 6);
}

TEST_F(TrackedModelTest, KeepsItsResultWhereTheTrackerFindsNone) {
  Offload(0);
  ASSERT_TRUE(tracked_.Accept(0, Found(5)).ok());
  Frames(1, 1);
  tracker_.lost = true;
  EXPECT_EQ(tracked_.OnFrame(PictureAt(2)), NotFound("it is out of sight"));
  EXPECT_EQ(Result(), 6);
  tracker_.lost = false;
  Frames(3, 3);
  EXPECT_EQ(Result(), 8);
}

// --- With a client and a server ---

// The model "count": how bright a picture is.
class BrightnessModel final : public BatchFinder {
 public:
  std::string_view TaskName() const override { return "count"; }
  int Width() const override { return 1; }
  int Height() const override { return 1; }
  bool TakesAnySize() const override { return true; }
  std::vector<Finding> Find(std::span<const scene::Image> pictures, std::span<const DepthCoding>) override {
    std::vector<Finding> findings;
    for (const scene::Image& picture : pictures) findings.emplace_back(Found(picture.rgb.at(0)));
    return findings;
  }
};

class AgreedTaskTest : public ::testing::Test {
 protected:
  CoordinatedClientConfig Config(const TaskCalibration& calibration = kCounting) {
    task_.emplace(calibration, tracker_);
    CoordinatedClientConfig config;
    config.camera = {kTestWidth, kTestHeight, 20, 20, 16, 8};
    config.sla = 10;
    config.server = "home:1";
    config.dial = [this](const std::string&) -> absl::StatusOr<std::unique_ptr<link::ByteStream>> {
      return DialInProcess(server_);
    };
    AgreeOn(*task_, config);
    return config;
  }

  Counter tracker_{0};
  std::optional<AgreedTask<double>> task_;
  BrightnessModel model_;
  Coordination coordination_{{.finder = &model_, .profile = *serving::InferenceProfile::Make("test", {{1, 2}})}};
  Server server_{{.coordination = &coordination_, .batch_finder = &model_}};
};

TEST_F(AgreedTaskTest, HasAResultForEveryFrameOnceServed) {
  const auto client = CoordinatedClient::Open(Config());
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ(task_->result(), nullptr);
  const TimePoint start = Clock::Real().Now();
  for (int64_t frame = 0; (*client)->Summary().answered < 3 || (*client)->Summary().served == 0; ++frame) {
    Clock::Real().SleepUntil(start + FromSeconds(static_cast<double>(frame) / 60));
    const TrackedResult result = (*client)->OnFrame(PictureAt(frame, 40));
    EXPECT_EQ(result.depth, nullptr);
    EXPECT_TRUE(result.boxes.empty());
  }
  ASSERT_NE(task_->result(), nullptr);
  EXPECT_NEAR(*task_->result(), 40, 2);  // JPEG
  EXPECT_TRUE((*client)->Summary().Within());
  EXPECT_EQ(server_.Counts().agreed, 1);
}

TEST_F(AgreedTaskTest, AServerThatPromisesAnotherSaysWhich) {
  TaskCalibration other = kCounting;
  other.task = "colour";
  EXPECT_EQ(CoordinatedClient::Open(Config(other)).status(),
            FailedPrecondition("this server agrees on the accuracy of another task: count"));
  EXPECT_EQ(coordination_.Counts().waiting, 0u);
}

TEST_F(AgreedTaskTest, BeginsWithWhatWasCalibrated) {
  const CoordinatedClientConfig config = Config();
  EXPECT_DOUBLE_EQ(config.first_drop_rate, 0.5 * std::sqrt(8.0) / 8);
  EXPECT_EQ(config.own->curve.exponent, 0.5);
  const Hello hello = HelloOf(config);
  EXPECT_EQ(hello.models, "count");
  EXPECT_EQ(CheckHello(hello), absl::OkStatus());
}

}  // namespace
}  // namespace wharf::ar
