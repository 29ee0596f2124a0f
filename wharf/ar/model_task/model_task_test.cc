#include "wharf/ar/model_task/model_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wharf/ar/client/model_answer.h"
#include "wharf/ar/model_task/model_task_testing.h"

namespace wharf::ar {
namespace {

using testing::Counter;
using ::testing::ElementsAre;

const TaskCalibration kCalibration = {.task = "count", .rate = 0.5, .exponent = 0.5};

multitask::FramePointer FrameAt(int64_t index) {
  auto frame = std::make_shared<scene::Frame>();
  frame->index = index;
  return frame;
}

class ModelTaskTest : public ::testing::Test {
 protected:
  // A frame as the client goes through it; answers come before it is offloaded.
  void Frame(int64_t index, bool offload = false) {
    EXPECT_TRUE(task_.Observe(FrameAt(index)).ok());
    if (offload) task_.Offloaded();
    EXPECT_TRUE(task_.Track().ok());
  }
  absl::Status Answer(int64_t about, float value) {
    ModelAnswer answer;
    answer.outputs = {testing::Number(value)};
    return task_.Accept(about, answer);
  }

  Counter tracker_{1};
  ModelTask<double> task_{kCalibration, tracker_};
};

TEST_F(ModelTaskTest, TracksFromTheNewestAnswerFrameByFrame) {
  Frame(0, true);
  EXPECT_EQ(task_.result(), nullptr);
  EXPECT_EQ(task_.Stride(), -1);
  Frame(1);
  Frame(2);
  ASSERT_TRUE(Answer(0, 10).ok());
  Frame(3);
  ASSERT_NE(task_.result(), nullptr);
  EXPECT_EQ(*task_.result(), 13);
  EXPECT_EQ(task_.Stride(), 3);
  Frame(4);
  EXPECT_EQ(*task_.result(), 14);
  EXPECT_THAT(tracker_.jumps, ElementsAre(3, 1));
}

TEST_F(ModelTaskTest, EstimatesAsCalibratedUntilAnswersShowOtherwise) {
  EXPECT_EQ(task_.estimate().drop_rate, 0.5);
  EXPECT_EQ(task_.estimate().exponent, 0.5);
  EXPECT_EQ(task_.estimate().local_drop, multitask::kNoLocalAlgorithm);
  Frame(0, true);
  ASSERT_TRUE(Answer(0, 0).ok());
  EXPECT_EQ(task_.estimate().drop_rate, 0.5);  // nothing was tracked to that frame
  for (int64_t frame = 4; frame <= 80; frame += 4) {
    Frame(frame, true);  // tracked to where it was at stride 4, where
    ASSERT_TRUE(
        Answer(frame, static_cast<float>(frame - 2 * (frame / 4))).ok());  // answers are two behind: all of 1 that
  }                                                                        // is expected, and 1 more
  EXPECT_GT(task_.estimate().drop_rate, 0.7);
  EXPECT_LT(task_.estimate().drop_rate, 1);
  EXPECT_EQ(task_.estimate().exponent, 0.5);
}

TEST_F(ModelTaskTest, WhatDoesNotFitChangesNothing) {
  Frame(0, true);
  EXPECT_EQ(Answer(7, 1).code(), absl::StatusCode::kNotFound);
  struct Other final : multitask::Answer {};
  EXPECT_EQ(task_.Accept(0, Other()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(task_.result(), nullptr);
  ASSERT_TRUE(Answer(0, 1).ok());
  Frame(1, true);
  EXPECT_EQ(task_.Accept(1, ModelAnswer()).code(), absl::StatusCode::kInvalidArgument);  // the tracker cannot read it
  Frame(2);
  EXPECT_EQ(*task_.result(), 3);
}

TEST_F(ModelTaskTest, KeepsItsResultWhereTheTrackerFindsNone) {
  Frame(0, true);
  ASSERT_TRUE(Answer(0, 5).ok());
  Frame(1);
  tracker_.lost = true;
  EXPECT_TRUE(task_.Observe(FrameAt(2)).ok());
  EXPECT_EQ(task_.Track().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(*task_.result(), 6);
  tracker_.lost = false;
  Frame(3);
  EXPECT_EQ(*task_.result(), 8);
}

TEST(ModelTaskWithLocalAlgorithm, MeasuresWhatItLoses) {
  Counter tracker(1);
  tracker.local = 3;
  ModelTask<double> task(kCalibration, tracker);
  EXPECT_TRUE(task.has_local_algorithm());
  const double first = task.estimate().local_drop;
  EXPECT_DOUBLE_EQ(first, kCalibration.DropAt(8));  // nobody has measured it
  ASSERT_TRUE(task.Observe(FrameAt(0)).ok());
  task.Offloaded();
  ASSERT_TRUE(task.RunLocalAlgorithm().ok());
  EXPECT_EQ(*task.result(), 3);
  ModelAnswer answer;
  answer.outputs = {testing::Number(10)};
  ASSERT_TRUE(task.Accept(0, answer).ok());
  EXPECT_DOUBLE_EQ(task.estimate().local_drop, first + (7 - first) / 4);
}

TEST(AddTask, BringsWhatOffloadsTake) {
  Counter tracker(1);
  TaskCalibration calibration = kCalibration;
  calibration.offload_ms = 33;
  ModelTask<double> task(calibration, tracker);
  ClientConfig config;
  AddTask(task, config);
  ASSERT_EQ(config.own_tasks.size(), 1u);
  EXPECT_EQ(config.own_tasks[0]->name(), "count");
  ASSERT_NE(config.profile.Find("count"), nullptr);
  EXPECT_EQ(config.profile.Find("count")->offload_ms, 33);
}

}  // namespace
}  // namespace wharf::ar
