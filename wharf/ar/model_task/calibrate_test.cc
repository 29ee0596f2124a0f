// Calibration over streams in memory, on videos that become brighter, with a server whose model says how bright they
// are.
#include "wharf/ar/model_task/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wharf/ar/model_task/model_task.h"
#include "wharf/ar/model_task/model_task_testing.h"
#include "wharf/ar/result_coding.h"
#include "wharf/ar/server/testing.h"

namespace wharf::ar {
namespace {

using testing::Counter;
using ::testing::HasSubstr;

// Brighter by one with each frame.
class Dawn final : public scene::Source {
 public:
  explicit Dawn(int frames, int width = kTestWidth) : frames_(frames), width_(width) {}
  scene::Intrinsics Camera() const override { return {width_, kTestHeight, 20, 20, 16, 8}; }
  double FramesPerSecond() const override { return 60; }
  absl::StatusOr<std::optional<scene::Frame>> Next() override {
    if (next_ == frames_) return std::nullopt;
    scene::Frame frame{next_, next_ / 60.0, GreyPicture(static_cast<uint8_t>(next_), width_), {}};
    ++next_;
    return frame;
  }

 private:
  const int frames_, width_;
  int next_ = 0;
};

class Brightness final : public SoloFinder {
 public:
  explicit Brightness(bool refuses) : refuses_(refuses) {}
  Finding Find(Task task, const std::shared_ptr<const scene::Frame>& frame) override {
    EXPECT_EQ(task, ModelTaskAt(0));
    if (refuses_) return NotFound("it is too dark");
    double sum = 0;
    for (const uint8_t grey : frame->image.rgb) sum += grey;
    const double mean = sum / static_cast<double>(frame->image.rgb.size());
    return EncodeOutputs(
        std::vector{testing::Number(std::round(static_cast<float>(mean)))});  // but for what a JPEG loses
  }

 private:
  const bool refuses_;
};

class CalibrateTest : public ::testing::Test {
 protected:
  CalibrateTest() {
    ServerConfig config;
    config.make_solo = [this](const Hello& hello) -> absl::StatusOr<std::unique_ptr<SoloFinder>> {
      if (hello.models != "count") return FailedPrecondition("this server has no task {}", hello.models);
      return std::make_unique<Brightness>(refuses_);
    };
    config.solo = &lane_;
    server_.emplace(std::move(config));
    options_.task = "count";
    options_.strides = {2, 8, 4, 1, 8};
    options_.every = 8;
    options_.latency_frames = 3;
    options_.dial = [this](const std::string&) -> absl::StatusOr<std::unique_ptr<link::ByteStream>> {
      return DialInProcess(*server_);
    };
  }
  absl::StatusOr<CalibrationReport> Run(AnyTracker& tracker, std::initializer_list<int> frames) {
    std::vector<std::unique_ptr<scene::Source>> videos;
    for (const int count : frames) videos.push_back(std::make_unique<Dawn>(count));
    return Calibrate(tracker, videos, options_);
  }

  TurnQueue lane_;
  bool refuses_ = false;
  std::optional<Server> server_;
  CalibrateOptions options_;
};

TEST_F(CalibrateTest, LearnsWhatATrackerLosesByTheStride) {
  Counter tracker(0.5);
  options_.source = "two dawns";
  const auto report = Run(tracker, {17, 25});
  ASSERT_TRUE(report.ok()) << ToString(report.status());
  EXPECT_EQ(report->frames, 42);
  EXPECT_EQ(report->refused, 0);
  ASSERT_EQ(report->losses.size(), 4u);
  for (const TrackedLoss& loss : report->losses) {
    EXPECT_EQ(loss.samples, 5) << loss.stride;  // starts at frames 0 and 8, and at 0, 8 and 16
    EXPECT_DOUBLE_EQ(loss.tracked, 0.5 * loss.stride);
    EXPECT_DOUBLE_EQ(loss.held, loss.stride);
  }
  const TaskCalibration& calibration = report->calibration;
  EXPECT_EQ(calibration.task, "count");
  EXPECT_EQ(calibration.source, "two dawns");
  EXPECT_NEAR(calibration.rate, 0.5, 1e-9);
  EXPECT_NEAR(calibration.exponent, 1, 1e-9);
  EXPECT_EQ(calibration.local_drop, multitask::kNoLocalAlgorithm);
  EXPECT_GT(calibration.offload_ms, 0);
  EXPECT_NEAR(report->held_out_error.value_or(9), 0, 1e-9);
  EXPECT_THAT(report->Text(), HasSubstr("count loses 0.5000 * stride^1.00"));
}

TEST_F(CalibrateTest, AClientHasTheTaskAlone) {
  Counter tracker(0);
  ModelTask<double> task({.task = "count"}, tracker);
  ClientConfig config;
  config.camera = Dawn(1).Camera();
  config.tasks = {};
  config.dial = options_.dial;
  AddTask(task, config);
  config.weights = {1, 1};
  EXPECT_EQ(Client::Open(config).status(), InvalidArgument("2 weights for 1 tasks"));
  config.weights.clear();
  const auto client = Client::Open(config);
  ASSERT_TRUE(client.ok()) << ToString(client.status());
  for (int64_t index = 0; task.result() == nullptr; ++index) {  // until an answer has come
    const auto frame = std::make_shared<const scene::Frame>(scene::Frame{index, 0, GreyPicture(7), {}});
    EXPECT_EQ((*client)->OnFrame(frame).report.tasks.size(), 1u);
    Clock::Real().SleepFor(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(*task.result(), 7);
  TaskCalibration other{.task = "other"};
  ModelTask<double> unknown(other, tracker);
  config.own_tasks = {&unknown};
  EXPECT_EQ(Client::Open(config).status(), FailedPrecondition("this server has no task other"));
}

// Whatever was asked for is tracked to as a client tracks: in one step to where the answer has come, then each frame.
TEST_F(CalibrateTest, TracksAsAClientDoes) {
  Counter tracker(1);
  options_.strides = {2, 5};
  ASSERT_TRUE(Run(tracker, {6}).ok());
  EXPECT_THAT(tracker.jumps, ::testing::ElementsAre(2, 3, 1, 1));
}

TEST_F(CalibrateTest, ATrackerThatFindsNothingShowsWhatItHad) {
  Counter tracker(0.5);
  tracker.lost = true;
  const auto report = Run(tracker, {17});
  ASSERT_TRUE(report.ok()) << ToString(report.status());
  for (const TrackedLoss& loss : report->losses) EXPECT_DOUBLE_EQ(loss.tracked, loss.held);
  EXPECT_FALSE(report->held_out_error.has_value());  // nothing is left to fit to
}

TEST_F(CalibrateTest, MeasuresTheLocalAlgorithm) {
  Counter tracker(0.5);
  tracker.local = 4;
  const auto report = Run(tracker, {17});
  ASSERT_TRUE(report.ok()) << ToString(report.status());
  EXPECT_DOUBLE_EQ(report->calibration.local_drop, (4 + 4 + 12) / 3.0);  // at frames 0, 8 and 16
}

TEST_F(CalibrateTest, SaysWhatIsWrong) {
  Counter tracker(0.5);
  EXPECT_EQ(Run(tracker, {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Run(tracker, {2}).status().code(), absl::StatusCode::kFailedPrecondition);  // one stride
  std::vector<std::unique_ptr<scene::Source>> sizes;
  sizes.push_back(std::make_unique<Dawn>(17));
  sizes.push_back(std::make_unique<Dawn>(17, 2 * kTestWidth));
  EXPECT_EQ(Calibrate(tracker, sizes, options_).status().code(), absl::StatusCode::kInvalidArgument);
  options_.task = "../count";
  EXPECT_EQ(Run(tracker, {17}).status().code(), absl::StatusCode::kInvalidArgument);
  options_.task = "other";
  EXPECT_EQ(Run(tracker, {17}).status(), FailedPrecondition("this server has no task other"));
  options_.task = "count";
  refuses_ = true;
  EXPECT_EQ(Run(tracker, {17}).status(), NotFound("it is too dark"));
}

TEST_F(CalibrateTest, LossesAreNumbersFromZeroOn) {
  struct Wild final : Tracker<double> {
    absl::StatusOr<double> Read(const Outputs&, const scene::Frame&) override { return 0; }
    absl::StatusOr<double> Track(const double& result, const scene::Frame&, const scene::Frame&) override {
      return result;
    }
    double Loss(const double&, const double&) const override { return loss; }
    double loss = -1;
  } wild;
  EXPECT_EQ(Run(wild, {17}).status().code(), absl::StatusCode::kInvalidArgument);
  wild.loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Run(wild, {17}).status().code(), absl::StatusCode::kInvalidArgument);
  wild.loss = 0;
  const auto report = Run(wild, {17});
  ASSERT_TRUE(report.ok()) << ToString(report.status());
  EXPECT_EQ(report->calibration.rate, 0);
}

}  // namespace
}  // namespace wharf::ar
