#include "wharf/multitask/experiment/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>

#include "wharf/base/status.h"
#include "wharf/multitask/experiment/component_times.h"
#include "wharf/multitask/experiment/contender.h"
#include "wharf/scene/world/videos.h"

namespace wharf::multitask {
namespace {

using ::testing::SizeIs;

constexpr int kWidth = 112, kHeight = 32;
constexpr int64_t kFrames = 90;

const scene::World& World() {
  static const scene::World world(1, {.much_traffic = false, .many_turns = false, .imu = {}});
  return world;
}

Calibration SomeCalibration() {
  Calibration calibration;
  calibration.source = "made up";
  calibration.depth = {.server_abs_rel = 0,
                       .lite_abs_rel = 0.2,
                       .drop_rate = 0.002,
                       .lite_correction = {.intercept = 0.05, .slope = 0.5}};
  calibration.odometry.bound = {.intercept = 0.002, .slope = 0.01};
  calibration.box_drop_rate = 0.01;
  return calibration;
}

ExperimentOptions Small() { return {.width = kWidth, .height = kHeight, .frames = kFrames, .oracle = true}; }

absl::StatusOr<std::vector<SystemResult>> RunSystems(const std::vector<std::string>& policies,
                                                     const ExperimentOptions& options) {
  std::vector<System> systems;
  for (const std::string& policy : policies)
    systems.push_back({policy, std::vector<double>(options.tasks, 1), *NamedProfile("thesis")});
  return RunVideo(World(), systems, {}, SomeCalibration(), options);
}

TEST(RunVideo, EverySystemIsScoredOnTheSameVideo) {
  const auto results = RunSystems({"la", "rr", "aao", "accumo"}, Small());
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_THAT(*results, SizeIs(4));
  const Score la = (*results)[0].score, rr = (*results)[1].score, aao = (*results)[2].score,
              accumo = (*results)[3].score;
  EXPECT_EQ(la.lite_share, 1);
  EXPECT_EQ(la.depth_share, 0);
  EXPECT_NEAR(rr.depth_share, 0.5, 0.05);
  EXPECT_DOUBLE_EQ(rr.lite_share, 5.0 / kFrames);    // until the first answer
  EXPECT_NEAR(rr.depth_stride, 9, 0.3);              // 5 to 13
  EXPECT_NEAR(aao.depth_stride, 8 + 3.5, 0.3);       // 8 to 15
  EXPECT_GE(aao.odometry_stride, aao.depth_stride);  // together, but for motions not found at this size
  EXPECT_EQ(la.refused, 0);
  EXPECT_GT(rr.t_err, 0);
  EXPECT_GT(la.abs_rel, 0);
  EXPECT_GT(accumo.decision_us, 0);
  for (const Score& score : {la, rr, aao, accumo}) {
    EXPECT_EQ(score.lost, 0);
    EXPECT_EQ(score.failed_results, 0);
  }
}

TEST(RunVideo, SystemsDoNotTouchEachOther) {
  const auto alone = RunSystems({"rr"}, Small());
  const auto among = RunSystems({"accumo", "rr", "la"}, Small());
  ASSERT_TRUE(alone.ok() && among.ok());
  for (const ScoreField& field : ScoreFields()) {
    if (std::string(field.name).starts_with("decision")) continue;  // real time
    EXPECT_EQ((*alone)[0].score.*field.value, (*among)[1].score.*field.value) << field.name;
  }
}

TEST(RunVideo, WhatIsKnownIsNotEstimatedWrongly) {
  const auto results = RunSystems({"accumo", "accumo+known"}, Small());
  ASSERT_TRUE(results.ok()) << results.status();
  const Score estimated = (*results)[0].score, known = (*results)[1].score;
  EXPECT_GT(estimated.lite_estimate_error, 0);
  EXPECT_NEAR(known.lite_estimate_error, 0, 1e-12);
  EXPECT_NEAR(known.tracker_estimate_error, 0, 1e-12);
  EXPECT_GT(known.abs_rel, 0);
  EXPECT_EQ(known.failed_results, 0);
}

TEST(RunVideo, PublishedIsWithoutTheCorrection) {
  const auto results = RunSystems({"accumo", "accumo-published", "rr+local", "rr+local-published"}, Small());
  ASSERT_TRUE(results.ok()) << results.status();
  const auto lite_error = [&](int system) { return (*results)[system].score.lite_estimate_error; };
  // The server is the truth here, so that the thesis's model is off by no more than one frame is from another.
  EXPECT_LT(lite_error(1), lite_error(0));
  EXPECT_LT(lite_error(3), lite_error(2));
}

TEST(ParseSystemPolicy, KnowsWhatIsBehindAPolicy) {
  const auto corrected = ParseSystemPolicy("accumo", 2), published = ParseSystemPolicy("accumo-published", 2),
             known = ParseSystemPolicy("accumo+known", 2), local = ParseSystemPolicy("accumo-local-published", 2);
  ASSERT_TRUE(corrected.ok() && published.ok() && known.ok() && local.ok());
  EXPECT_FALSE(corrected->uncorrected || corrected->depth_known || known->uncorrected || published->depth_known);
  EXPECT_TRUE(published->uncorrected && local->uncorrected && known->depth_known);
  const auto fused = ParseSystemPolicy("wrr 2:1+fusion", 2), all = ParseSystemPolicy("accumo+known+fusion", 2);
  ASSERT_TRUE(fused.ok() && all.ok());
  EXPECT_TRUE(fused->depth_fused && all->depth_fused && all->depth_known && !corrected->depth_fused);
  EXPECT_EQ(published->policy.name, "accumo");
  EXPECT_FALSE(local->policy.local_algorithms);
  for (const char* none :
       {"rr-published", "la-published", "-published", "accumo+known-published", "accumo-published+known"})
    EXPECT_EQ(ParseSystemPolicy(none, 2).status().code(), absl::StatusCode::kInvalidArgument) << none;
}

TEST(RunVideo, AThirdTaskIsOneMore) {
  ExperimentOptions options = Small();
  options.tasks = 3;
  const auto results = RunSystems({"rr", "accumo"}, options);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_NEAR((*results)[0].score.depth_share, 1.0 / 3, 0.05);
  EXPECT_LT((*results)[0].score.box_error, 1);
}

TEST(RunVideo, TimelinesHaveEveryFrame) {
  ExperimentOptions options = Small();
  options.timelines = true;
  const auto results = RunSystems({"accumo"}, options);
  ASSERT_TRUE(results.ok());
  const Timeline& timeline = (*results)[0].timeline;
  for (const std::vector<double>* line :
       {&timeline.depth_rate, &timeline.odometry_rate, &timeline.tracker_drop, &timeline.lite_drop,
        &timeline.tracker_lost, &timeline.lite_lost, &timeline.offload_ratio, &timeline.lite, &timeline.abs_rel})
    EXPECT_THAT(*line, SizeIs(kFrames));
  // On some sampled frames the tracker's result was used, on none that were not sampled is anything known.
  int64_t known = 0;
  for (int64_t frame = 0; frame < kFrames; ++frame) {
    known += timeline.tracker_lost[frame] >= 0 ? 1 : 0;
    if (frame % options.estimate_every == 0) continue;
    EXPECT_EQ(timeline.tracker_lost[frame], -1) << frame;
    EXPECT_EQ(timeline.lite_lost[frame], -1) << frame;
  }
  EXPECT_GT(known, 0);
  EXPECT_THAT(timeline.poses, SizeIs(kFrames));
}

TEST(RunVideo, RefusesSystemsThatAreNone) {
  EXPECT_EQ(RunSystems({"best"}, Small()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      RunVideo(World(), {{"accumo", {1}, *NamedProfile("thesis")}}, {}, SomeCalibration(), Small()).status().code(),
      absl::StatusCode::kInvalidArgument);
}

TEST(RunVideo, NetworksMayFail) {
  ExperimentOptions options = Small();
  options.oracle = false;
  Networks broken;
  broken.depth = broken.lite = [](const FramePointer&) -> absl::StatusOr<DepthPointer> { return Internal("broken"); };
  broken.boxes = [](const FramePointer&) { return std::vector<scene::Box>(); };
  const auto results = RunVideo(World(), {{"la", {}, *NamedProfile("thesis")}}, broken, SomeCalibration(), options);
  EXPECT_EQ(results.status().code(), absl::StatusCode::kInternal);
}

TEST(Comparison, MeasuresErrorAndCorrelation) {
  Comparison comparison;
  EXPECT_EQ(comparison.Correlation(), 0);
  for (const double x : {1.0, 2.0, 3.0}) comparison.Add(x, 2 * x);
  EXPECT_DOUBLE_EQ(comparison.MeanError(), 2);
  EXPECT_DOUBLE_EQ(comparison.MeanActual(), 4);
  EXPECT_NEAR(comparison.Correlation(), 1, 1e-12);
}

TEST(Calibration, IsWrittenAndReadAgain) {
  const Calibration calibration = SomeCalibration();
  const auto read = Calibration::Parse(calibration.Json());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->Json(), calibration.Json());
  EXPECT_DOUBLE_EQ(read->depth.lite_correction.intercept, 0.05);
  EXPECT_DOUBLE_EQ(read->depth.lite_correction.slope, 0.5);
}

TEST(Calibration, WithoutOneOfItsNumbersIsNone) {
  const nlohmann::json whole = nlohmann::json::parse(SomeCalibration().Json());
  for (const auto& [key, value] : whole.items()) {
    if (key == "source") continue;
    nlohmann::json without = whole, text = whole, huge = whole;
    without.erase(key);
    text[key] = "much";
    huge[key] = nullptr;
    for (const nlohmann::json& json : {without, text, huge})
      EXPECT_EQ(Calibration::Parse(json.dump()).status().code(), absl::StatusCode::kInvalidArgument) << json.dump();
  }
  for (const char* text : {"", "[]", "{", "{\"source\": \"\"}"})
    EXPECT_EQ(Calibration::Parse(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
}

// Frames of which the thesis's model says `estimates`, while these are the lite network's drops.
CalibrationVideo Frames(const std::vector<double>& estimates, const std::vector<double>& drops) {
  constexpr double kServer = 0.125;
  CalibrationVideo video;
  for (size_t i = 0; i < estimates.size(); ++i) {
    video.server_abs_rel.push_back(kServer);
    video.lite_abs_rel.push_back(kServer + drops[i]);
    video.lite_against_server.push_back(kServer + estimates[i]);
    video.depth_drop_rate.push_back(0.01);
    video.fused_drop_rate.push_back(0.004);
    video.box_drop_rate.push_back(0.01);
  }
  video.angular_velocity = {0.1, 0.2};
  video.odometry_drop = {0.001, 0.002};
  return video;
}

TEST(Calibration, CorrectsAnEstimateThatIsOffByALineExactly) {
  EXPECT_TRUE(rc::check([] {
    const double intercept = 1e-3 * *rc::gen::inRange(-100, 100), slope = 1e-2 * *rc::gen::inRange(-300, 300);
    const auto estimates = rc::gen::inRange(-100, 1000);
    std::vector<double> x = {0.001 * *estimates}, y;
    x.push_back(x[0] + 0.001 * *rc::gen::inRange(1, 500));  // two that differ
    for (const int more : *rc::gen::container<std::vector<int>>(estimates)) x.push_back(0.001 * more);
    for (const double at : x) y.push_back(intercept + slope * at);
    const auto calibration = Fit({Frames(x, y)}, "a line");
    RC_ASSERT(calibration.ok());
    const track::Line line = calibration->depth.lite_correction;
    for (size_t i = 0; i < x.size(); ++i) RC_ASSERT(std::abs(line.At(x[i]) - y[i]) < 1e-9);
  }));
}

TEST(Calibration, ComparesTheFusedDropWithTheTrackers) {
  const auto calibration = Fit({Frames({0.1, 0.2}, {0.1, 0.2})}, "two frames");
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  EXPECT_NEAR(calibration->depth.fused_drop_share, 0.4, 1e-12);
}

TEST(Calibration, AFewWildFramesDoNotBendTheCorrection) {
  std::vector<double> x, y;
  for (int i = 0; i < 200; ++i) {
    x.push_back(0.001 * i);
    y.push_back(i % 50 == 49 ? 20 : 0.03 + 0.6 * x.back());
  }
  const auto calibration = Fit({Frames(x, y)}, "with something before the camera");
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  EXPECT_NEAR(calibration->depth.lite_correction.intercept, 0.03, 1e-6);
  EXPECT_NEAR(calibration->depth.lite_correction.slope, 0.6, 1e-6);
}

TEST(Calibration, IsJudgedByVideosItWasNotFittedTo) {
  // Two videos agree that drops are twice what is estimated; the third one's are what is estimated.
  const CalibrationVideo twice = Frames({0.1, 0.2}, {0.2, 0.4}), once = Frames({0.1, 0.2}, {0.1, 0.2});
  const auto errors = CrossValidate({twice, twice, once});
  ASSERT_TRUE(errors.ok()) << errors.status();
  EXPECT_NEAR(errors->published, (0.1 + 0.2 + 0.1 + 0.2 + 0 + 0) / 6, 1e-9);
  EXPECT_GE(errors->corrected, (0.1 + 0.2) / 6 - 1e-9);  // of the third, which the others mislead
  EXPECT_NEAR(CrossValidate({twice, twice})->corrected, 0, 1e-9);
  EXPECT_EQ(CrossValidate({twice}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Calibration, OneEstimateIsNoLine) {
  EXPECT_EQ(Fit({Frames({0.1}, {0.2})}, "").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Fit({Frames({0.1, 0.1, 0.1}, {0.2, 0.3, 0.4})}, "").status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Calibration, WatchesAVideo) {
  const auto video = Watch(World(), {}, {.width = kWidth, .height = kHeight, .frames = kFrames, .oracle = true});
  ASSERT_TRUE(video.ok()) << video.status();
  EXPECT_THAT(video->server_abs_rel, SizeIs((kFrames + 3) / 4));
  EXPECT_EQ(video->lite_against_server, video->lite_abs_rel);  // the oracle's server is the truth
  EXPECT_THAT(video->angular_velocity, SizeIs(kFrames / 32));
  const auto calibration = Fit({*video, *video}, "a test");
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  EXPECT_EQ(calibration->depth.server_abs_rel, 0);  // the oracle's
  EXPECT_GT(calibration->depth.lite_abs_rel, 0);
  EXPECT_NEAR(calibration->depth.lite_correction.intercept, 0, 1e-9);  // so that the thesis's estimate is right
  EXPECT_NEAR(calibration->depth.lite_correction.slope, 1, 1e-9);
  EXPECT_EQ(Fit({}, "").status().code(), absl::StatusCode::kFailedPrecondition);
}

// Every look at it takes a millisecond.
class TickingClock final : public Clock {
 public:
  TimePoint Now() const override {
    ticks_ += std::chrono::milliseconds(1);
    return {ticks_};
  }
  void SleepUntil(TimePoint) override {}

 private:
  mutable Nanoseconds ticks_{0};
};

TEST(MeasureComponents, TimesEachPartByItself) {
  const auto flat = [](const FramePointer& frame) -> absl::StatusOr<DepthPointer> {
    const scene::Image& image = frame->image;
    const std::vector<float> metres(static_cast<size_t>(image.width) * image.height, 10.0F);
    return std::make_shared<scene::DepthMap>(scene::DepthMap{image.width, image.height, metres});
  };
  const Networks networks = {flat, flat, [](const FramePointer&) { return std::vector<scene::Box>(); }};
  const auto times = MeasureComponents(World(), networks, kWidth, kHeight, TickingClock());
  ASSERT_TRUE(times.ok()) << times.status();
  for (const double part : {times->depth, times->boxes, times->warp, times->lite, times->filter, times->flow})
    EXPECT_DOUBLE_EQ(part, 1);
  EXPECT_DOUBLE_EQ(times->odometry, 3);  // the depth network, the detector and the motion
  EXPECT_DOUBLE_EQ(times->Profile().Find("odometry")->offload_ms, 3);
}

}  // namespace
}  // namespace wharf::multitask
