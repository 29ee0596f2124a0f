#include "wharf/multitask/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "wharf/base/status.h"
#include "wharf/multitask/testing.h"
#include "wharf/multitask/thread_workers.h"
#include "wharf/multitask/virtual_workers.h"

namespace wharf::multitask {
namespace {

using testing::Always;
using ::testing::ElementsAre;
using testing::FakeServer;
using testing::FakeTask;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr double kFrameMs = 1e3 / 60;
// Offloads of 5 and 4 frames, as the thesis's depth and odometry; accuracy models of 4 frames.
const OffloadProfile kProfile = {"test", "made up", {{"depth", 70.98, 66.15}, {"odometry", 61.05, 66.15}}};

FramePointer Frame(int64_t index) {
  auto frame = std::make_shared<scene::Frame>();
  frame->index = index;
  return frame;
}

// An offloader that does as it is told.
class ScriptedOffloader final : public Offloader {
 public:
  absl::Status Send(const FramePointer& frame, std::span<const int> tasks) override {
    if (refuse_to_send) return Unavailable("no network");
    EXPECT_FALSE(in_flight.has_value()) << "two offloads at once";
    in_flight = frame->index;
    asked = tasks.size();
    sent.push_back(frame->index);
    return absl::OkStatus();
  }
  std::optional<absl::StatusOr<Reply>> Poll() override {
    if (reply.has_value()) in_flight.reset();
    return std::exchange(reply, std::nullopt);
  }
  void Cancel() override {
    ++cancelled;
    in_flight.reset();
    reply.reset();
  }
  void Answer(int64_t about, size_t answers) {
    Reply made{.frame = about, .answers = {}};
    FakeServer server;
    for (size_t i = 0; i < answers; ++i) made.answers.push_back(server.Serve(Frame(about)));
    reply = std::move(made);
  }

  bool refuse_to_send = false;
  std::optional<int64_t> in_flight;
  size_t asked = 0;
  std::vector<int64_t> sent;
  int cancelled = 0;
  std::optional<absl::StatusOr<Reply>> reply;
};

class ClientTest : public ::testing::Test {
 protected:
  // Virtual time and servers unless there is an offloader.
  Client Make(std::string_view policy, Offloader* offloader = nullptr) {
    auto client = Client::Make({&depth_, &odometry_}, *ParsePolicy(policy, 2), WeightedMerge({1, 1}), kProfile,
                               offloader == nullptr ? virtual_offloader_ : *offloader, background_, clock_);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

  FrameReport Next(Client& client) {
    clock_.Advance(FromSeconds(static_cast<double>(next_) / 60) - clock_.Now().since_epoch);
    return client.OnFrame(Frame(next_++));
  }
  std::vector<FrameReport> Run(Client& client, int frames) {
    std::vector<FrameReport> reports;
    for (int i = 0; i < frames; ++i) reports.push_back(Next(client));
    return reports;
  }

  VirtualClock clock_;
  FakeTask depth_{"depth", Always(0.01), Always(0.2)}, odometry_{"odometry", Always(0.01)};
  FakeServer depth_server_, odometry_server_;
  VirtualOffloader virtual_offloader_{
      {&depth_server_, &odometry_server_}, {FromSeconds(0.07098), FromSeconds(0.06105)}, clock_};
  VirtualBackground background_{{FromSeconds(0.06615), FromSeconds(0.06615)}, clock_};
  int64_t next_ = 0;
};

TEST_F(ClientTest, EveryFrameHasAResultOfEveryTask) {
  Client client = Make("accumo");
  for (const FrameReport& report : Run(client, 100)) {
    ASSERT_THAT(report.tasks, SizeIs(2));
    EXPECT_TRUE(report.tasks[0].status.ok());
  }
  std::vector<int64_t> all(100);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(odometry_.tracked, all);
  std::vector<int64_t> depth = depth_.tracked;
  depth.insert(depth.end(), depth_.ran_locally.begin(), depth_.ran_locally.end());
  std::sort(depth.begin(), depth.end());
  EXPECT_EQ(depth, all);
  EXPECT_EQ(client.counts().frames, 100);
}

TEST_F(ClientTest, AnOffloadTakesItsLatencyAndTheNextBeginsWhenItIsBack) {
  Client client = Make("rr");
  Run(client, 20);
  EXPECT_THAT(depth_.offloaded, ElementsAre(0, 9, 18));
  EXPECT_THAT(odometry_.offloaded, ElementsAre(5, 14));
  EXPECT_THAT(depth_.accepted, ElementsAre(Pair(0, 5), Pair(9, 14)));
  EXPECT_THAT(odometry_.accepted, ElementsAre(Pair(5, 9), Pair(14, 18)));
  EXPECT_EQ(depth_server_.served, depth_.offloaded);
}

TEST_F(ClientTest, AllAtOnceTakesTheSum) {
  Client client = Make("aao");
  Run(client, 17);
  EXPECT_THAT(depth_.accepted, ElementsAre(Pair(0, 8), Pair(8, 16)));  // 132.03 ms
  EXPECT_THAT(odometry_.accepted, ElementsAre(Pair(0, 8), Pair(8, 16)));
}

TEST_F(ClientTest, LocalOnlyAsksNoServer) {
  Client client = Make("la");
  Run(client, 20);
  EXPECT_THAT(depth_server_.served, IsEmpty());
  EXPECT_THAT(depth_.ran_locally, SizeIs(20));
  EXPECT_THAT(odometry_.tracked, SizeIs(20));
}

TEST_F(ClientTest, StridesCountFromTheNewestAnswersFrame) {
  Client client = Make("rr");
  const std::vector<FrameReport> reports = Run(client, 16);
  EXPECT_EQ(reports[4].tasks[0].stride, -1);
  EXPECT_EQ(reports[5].tasks[0].stride, 5);
  EXPECT_EQ(reports[13].tasks[0].stride, 13);
  EXPECT_EQ(reports[14].tasks[0].stride, 5);
}

TEST_F(ClientTest, TheLocalAlgorithmRunsWhereItLosesLess) {
  depth_ = FakeTask("depth", Always(0.01), Always(0.075));  // from a stride of 8 on
  Client client = Make("rr+local");
  for (const FrameReport& report : Run(client, 40)) {
    const int stride = report.tasks[0].stride;
    EXPECT_EQ(report.tasks[0].source, stride < 0 || stride >= 8 ? Source::kLocalAlgorithm : Source::kTracker);
    EXPECT_EQ(report.tasks[1].source, Source::kTracker);
  }
}

TEST_F(ClientTest, WithoutLocalAlgorithmsTheTrackerRunsOnceThereIsAnAnswer) {
  depth_ = FakeTask("depth", Always(1), Always(0));
  Client client = Make("accumo-local");
  for (const FrameReport& report : Run(client, 40)) {
    EXPECT_EQ(report.tasks[0].source, report.tasks[0].stride < 0 ? Source::kLocalAlgorithm : Source::kTracker);
  }
}

TEST_F(ClientTest, AccuracyModelsTakeEffectWhenTheyAreDone) {
  depth_ = FakeTask(
      "depth", [](int64_t frame) { return 1e-3 * static_cast<double>(frame); }, Always(0.2));
  depth_.model_scripted = true;
  Client client = Make("rr+local");
  Run(client, 13);
  // Begun in frames 0, 4 and 8, on what these frames showed.
  EXPECT_THAT(depth_.rates_set, ElementsAre(Pair(4, 0), Pair(8, 0.004), Pair(12, 0.008)));
}

TEST_F(ClientTest, AccuracyModelsRestWhereNothingIsDecidedByThem) {
  depth_.model_scripted = true;
  Client client = Make("wrr 2:1");
  Run(client, 20);
  EXPECT_THAT(depth_.rates_set, IsEmpty());
}

TEST_F(ClientTest, ALateReplyIsUsedWhenItComes) {
  ScriptedOffloader offloader;
  Client client = Make("rr", &offloader);
  Run(client, 12);
  EXPECT_THAT(offloader.sent, ElementsAre(0));
  offloader.Answer(0, 1);
  const FrameReport report = Next(client);
  EXPECT_EQ(report.tasks[0].stride, 12);
  EXPECT_THAT(depth_.accepted, ElementsAre(Pair(0, 12)));
  EXPECT_THAT(report.offloaded, ElementsAre(1));
  EXPECT_EQ(client.counts().lost, 0);
}

TEST_F(ClientTest, ALostReplyIsGivenUpAndTheLoopGoesOn) {
  ScriptedOffloader offloader;
  Client client = Make("rr", &offloader);
  Run(client, 62);
  EXPECT_THAT(offloader.sent, ElementsAre(0, 30, 60));  // half a second each
  EXPECT_EQ(offloader.cancelled, 2);
  EXPECT_EQ(client.counts().lost, 2);
  EXPECT_THAT(odometry_.tracked, SizeIs(62));
}

TEST_F(ClientTest, AFailedOffloadIsFollowedByTheNextAtOnce) {
  ScriptedOffloader offloader;
  Client client = Make("rr", &offloader);
  Run(client, 3);
  offloader.reply = absl::StatusOr<Reply>(Unavailable("the connection was lost"));
  const FrameReport report = Next(client);
  EXPECT_THAT(report.offloaded, ElementsAre(1));
  EXPECT_THAT(depth_.accepted, IsEmpty());
  EXPECT_EQ(client.counts().lost, 1);
}

TEST_F(ClientTest, WithoutANetworkFramesAreStillAnswered) {
  ScriptedOffloader offloader;
  offloader.refuse_to_send = true;
  Client client = Make("accumo", &offloader);
  for (const FrameReport& report : Run(client, 10)) EXPECT_THAT(report.offloaded, IsEmpty());
  EXPECT_THAT(odometry_.tracked, SizeIs(10));
  EXPECT_THAT(depth_.ran_locally, SizeIs(10));
  EXPECT_THAT(depth_.offloaded, IsEmpty());
  EXPECT_EQ(client.counts().lost, 10);
}

TEST_F(ClientTest, RepliesThatFitNothingChangeNothing) {
  ScriptedOffloader offloader;
  Client client = Make("rr", &offloader);
  Next(client);
  offloader.Answer(7, 1);  // another frame
  Next(client);
  offloader.Answer(1, 2);  // two answers to one question
  Next(client);
  offloader.reply = Reply{.frame = 2, .answers = {AnswerPointer()}};
  Next(client);
  auto lie = std::make_shared<testing::FakeAnswer>();
  lie->about = 99;
  offloader.reply = Reply{.frame = 3, .answers = {AnswerPointer(lie)}};
  Next(client);
  EXPECT_THAT(depth_.accepted, IsEmpty());
  EXPECT_THAT(odometry_.accepted, IsEmpty());
  EXPECT_EQ(client.counts().refused, 4);
  EXPECT_THAT(offloader.sent, ElementsAre(0, 1, 2, 3, 4));
}

TEST_F(ClientTest, WhatAServerCannotAnswerLeavesTheOlderAnswer) {
  Client client = Make("wrr 1:0");
  Run(client, 6);
  depth_server_.refuses = true;
  const std::vector<FrameReport> reports = Run(client, 10);
  EXPECT_EQ(reports.back().tasks[0].stride, 10);  // frame 5 was served before, frame 10 was not
  EXPECT_EQ(client.counts().refused, 1);
}

TEST_F(ClientTest, PlansByWhatOffloadsTake) {
  // Odometry's take 20 frames instead of the profile's 4.
  VirtualOffloader slow({&depth_server_, &odometry_server_}, {FromSeconds(0.07098), FromSeconds(0.33)}, clock_);
  Client client = Make("rr", &slow);
  EXPECT_EQ(Next(client).tasks[1].latency_frames, 4);
  const std::vector<FrameReport> reports = Run(client, 600);
  EXPECT_EQ(reports.back().tasks[0].latency_frames, 5);
  EXPECT_EQ(reports.back().tasks[1].latency_frames, 20);
}

// What predictive control is for: it must lose less than taking turns where drop rates change and differ.
TEST_F(ClientTest, PredictiveControlLosesLessThanTurns) {
  const auto depth_rate = [](int64_t frame) { return frame / 300 % 2 == 0 ? 0.02 : 0.002; };
  const auto odometry_rate = [](int64_t frame) { return frame / 300 % 2 == 0 ? 0.002 : 0.02; };
  double drop[2];
  int i = 0;
  for (const char* policy : {"rr", "accumo-local"}) {
    depth_ = FakeTask("depth", depth_rate, Always(1));
    odometry_ = FakeTask("odometry", odometry_rate);
    next_ = 0;
    VirtualClock clock;
    VirtualOffloader offloader({&depth_server_, &odometry_server_}, {FromSeconds(0.07098), FromSeconds(0.06105)},
                               clock);
    auto client = Client::Make({&depth_, &odometry_}, *ParsePolicy(policy, 2), WeightedMerge({1, 1}), kProfile,
                               offloader, background_, clock);
    for (; next_ < 1200; ++next_) {
      clock.Advance(FromSeconds(static_cast<double>(next_) / 60) - clock.Now().since_epoch);
      client->OnFrame(Frame(next_));
    }
    drop[i++] = depth_.total_drop + odometry_.total_drop;
  }
  EXPECT_LT(drop[1], 0.95 * drop[0]);
}

TEST_F(ClientTest, RefusesTasksWithoutLatencies) {
  FakeTask unknown("gaze", Always(0));
  EXPECT_EQ(Client::Make({&unknown}, *ParsePolicy("rr", 1), WeightedMerge({1}), kProfile, virtual_offloader_,
                         background_, clock_)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      Client::Make({}, *ParsePolicy("rr", 1), WeightedMerge({1}), kProfile, virtual_offloader_, background_, clock_)
          .status()
          .code(),
      absl::StatusCode::kInvalidArgument);
}

TEST_F(ClientTest, RunsOnThreadsAsWell) {
  ThreadOffloader offloader({&depth_server_, &odometry_server_});
  ThreadBackground background(2);
  depth_.model_scripted = true;
  auto client =
      Client::Make({&depth_, &odometry_}, *ParsePolicy("rr+local", 2), WeightedMerge({1, 1}), kProfile, offloader,
                   background, Clock::Real(), {.frames_per_s = 60, .give_up_after = std::chrono::hours(1)});
  ASSERT_TRUE(client.ok());
  // As many frames as it takes: threads get on when they do.
  while (depth_.accepted.size() < 3 || odometry_.accepted.size() < 3 || depth_.rates_set.empty())
    client->OnFrame(Frame(next_++));
  EXPECT_EQ(client->counts().lost, 0);
  EXPECT_EQ(client->counts().refused, 0);
}

TEST(OffloadProfile, TheThesissTakesFiveAndFourFrames) {
  const OffloadProfile profile = *NamedProfile("thesis");
  EXPECT_EQ(LatencyFrames(profile.Find("depth")->offload_ms, 60), 5);
  EXPECT_EQ(LatencyFrames(profile.Find("odometry")->offload_ms, 60), 4);
  EXPECT_EQ(LatencyFrames(profile.Find("depth")->model_ms, 60), 4);
  EXPECT_EQ(profile.Find("gaze"), nullptr);
  EXPECT_EQ(NamedProfile("6g").status().code(), absl::StatusCode::kNotFound);
}

TEST(OffloadProfile, FasterServersAndSlowerLinksAreDerived) {
  const OffloadProfile thesis = *NamedProfile("thesis"), a40 = *NamedProfile("thesis-a40"),
                       fiveg = *NamedProfile("thesis-5g");
  for (const char* task : {"depth", "odometry"}) {
    EXPECT_LT(a40.Find(task)->offload_ms, thesis.Find(task)->offload_ms);
    EXPECT_GT(fiveg.Find(task)->offload_ms, thesis.Find(task)->offload_ms + 11);
  }
}

TEST(LatencyFrames, AreWholeAndAtLeastOne) {
  EXPECT_EQ(LatencyFrames(0, 60), 1);
  EXPECT_EQ(LatencyFrames(2 * kFrameMs, 60), 2);
  EXPECT_EQ(LatencyFrames(2 * kFrameMs + 0.01, 60), 3);
}

}  // namespace
}  // namespace wharf::multitask
