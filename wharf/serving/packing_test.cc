#include "wharf/serving/packing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "wharf/serving/settings.h"
#include "wharf/serving/testing.h"

namespace wharf::serving {
namespace {

constexpr double kFps = 60;
TimePoint AtFrame(double frames) { return {FromSeconds(frames / kFps)}; }
double InFrames(TimePoint time) { return Seconds(time.since_epoch) * kFps; }

// Clients whose last frames arrived when the figure says, on an engine whose times are given in frames.
class PackingTest : public testing::Test {
 protected:
  PackingTest() { predictors_.reserve(kMostClients); }

  static InferenceProfile ProfileInFrames(std::vector<double> frames) {
    for (double& one : frames) one *= 1e3 / kFps;
    return ProfileOf(frames);
  }

  void AddClient(int interval, int batch, FrameId frame, double arrival, double drop_rate = 0.001) {
    predictors_.emplace_back(kFps).Add(frame, AtFrame(arrival));
    clients_.push_back({.id = clients_.size(),
                        .model = {kFps, 0.02, drop_rate, 1 / kFps},
                        .settings = {interval, batch},
                        .arrivals = &predictors_.back(),
                        .last_frame = frame,
                        .newest = {frame, frame + 2}});
  }

  static constexpr size_t kMostClients = 100;
  std::vector<ArrivalPredictor> predictors_;
  std::vector<PlanningClient> clients_;
};

// A client whose numbers would have it offload for ever.
TEST_F(PackingTest, SimulatesNoMoreThanACameraHas) {
  for (const FrameId jump : {FrameId{1'000'000'000'000}, ArrivalPredictor::kMostFrame}) {
    AddClient(1, 1, 1, 1);
    predictors_.back().Add(jump, AtFrame(2));
    clients_.back().last_frame = predictors_.back().last_frame();
  }
  AddClient(1, 1, ArrivalPredictor::kMostFrame, 1);
  EXPECT_LE(SimulateRequests(clients_, AtFrame(60), AtFrame(120)).size(), 3u * 62);
}

// The clients of thesis Figure 3.10 as far as its text tells them: client 1's frame 6 arrived at 8, its interval is 3.
TEST_F(PackingTest, SimulatesOnFromTheLastFrame) {
  AddClient(3, 2, 6, 8);
  AddClient(5, 2, 9, 8.5);
  const auto requests = SimulateRequests(clients_, AtFrame(9), AtFrame(18));
  ASSERT_EQ(requests.size(), 4);
  EXPECT_EQ(requests[0].frame, 9);
  EXPECT_NEAR(InFrames(requests[0].arrival), 11, 1e-3);
  EXPECT_EQ(requests[1].client, 1);
  EXPECT_EQ(requests[1].frame, 14);
  EXPECT_EQ(requests[2].frame, 12);
  EXPECT_EQ(requests[3].frame, 15);
}

TEST_F(PackingTest, WhoIsBehindOffloadsItsNewestFrame) {
  AddClient(3, 2, 6, 8);
  const auto requests = SimulateRequests(clients_, AtFrame(13.5), AtFrame(17));
  ASSERT_EQ(requests.size(), 2);
  EXPECT_EQ(requests[0].frame, 11);  // 9 should have come at 11
  EXPECT_EQ(requests[0].arrival, AtFrame(13.5));
  EXPECT_EQ(requests[1].frame, 14);
  EXPECT_NEAR(InFrames(requests[1].arrival), 16, 1e-3);
}

TEST_F(PackingTest, PacksUpToTheSmallestLimitAndMovesFrames) {
  AddClient(4, 3, 0, 2);
  AddClient(4, 3, 0, 2.5);
  AddClient(4, 1, 0, 3);
  AddClient(4, 3, 0, 3.5);
  const InferenceProfile profile = ProfileInFrames({1, 1.5, 2});
  const BatchPlan plan =
      PackRequests(clients_, SimulateRequests(clients_, AtFrame(5), AtFrame(8)), profile, 0.1, AtFrame(6));
  ASSERT_EQ(plan.size(), 3);
  ASSERT_EQ(plan[0].requests.size(), 2);
  EXPECT_NEAR(InFrames(plan[0].arrival), 6, 1e-3);
  EXPECT_NEAR(InFrames(plan[0].start), 6.15, 1e-3);
  EXPECT_NEAR(InFrames(plan[0].end), 7.65, 1e-3);
  EXPECT_EQ(plan[0].requests[0].frame, 4);  // there at 6
  EXPECT_EQ(plan[0].requests[1].frame, 3);  // 4 would be there at 6.5
  ASSERT_EQ(plan[1].requests.size(), 1);
  EXPECT_EQ(plan[1].requests[0].client, 2);
  EXPECT_EQ(plan[1].arrival, plan[0].end);
  ASSERT_EQ(plan[2].requests.size(), 1);
}

TEST_F(PackingTest, AnIdleEngineDoesNotMakeAClientOffloadMoreThanTwiceAsOften) {
  AddClient(6, 4, 0, 1);
  const InferenceProfile profile = ProfileInFrames({0.1, 0.1, 0.1, 0.1});
  const BatchPlan plan =
      PackRequests(clients_, SimulateRequests(clients_, AtFrame(2), AtFrame(60)), profile, 0.1, AtFrame(2));
  ASSERT_EQ(plan.size(), 9);
  FrameId last = 0;
  for (const PlannedBatch& batch : plan) {
    ASSERT_EQ(batch.requests.size(), 1);
    EXPECT_EQ(batch.requests[0].frame, last + 3);
    last = batch.requests[0].frame;
  }
}

TEST_F(PackingTest, EstimatesStridesFrameByFrame) {
  AddClient(4, 1, 0, 1, 0.01);  // its frames arrive a frame later; half of the network is the way back
  clients_[0].newest = {0, 3};
  const InferenceProfile profile = ProfileInFrames({1});
  // Frame 4 arrives at 5, is done at 6, so its result is there at 4 + 1 + (6 - 5) = 6; of frame 8 at 10.
  const BatchPlan plan = {{AtFrame(5), AtFrame(5), AtFrame(6), {{0, 4}}},
                          {AtFrame(9), AtFrame(9), AtFrame(10), {{0, 8}}}};
  // Frames 3 to 5 have strides 3, 4, 5; frames 6 to 9 have 2 to 5. The reference: 2, each frame.
  const double mean = (3 + 4 + 5 + 2 + 3 + 4 + 5) / 7.0;
  EXPECT_NEAR(EstimateDrops(clients_, plan, profile, AtFrame(1))[0], 0.01 * (mean - 2), 1e-9);
  // What has been shown does not count: LatestBy(6) is frame 5.
  EXPECT_NEAR(EstimateDrops(clients_, plan, profile, AtFrame(6))[0], 0.01 * ((5 + 2 + 3 + 4 + 5) / 5.0 - 2), 1e-9);
}

TEST_F(PackingTest, RemovesWhoAsksForTheMost) {
  AddClient(4, 2, 0, 1);
  AddClient(2, 2, 0, 1);
  AddClient(1, 1, 0, 1);
  const InferenceProfile profile = ProfileInFrames({2, 3});
  EXPECT_EQ(ClientToRemove(clients_, {0.02, 0.01, 0.02}, profile, false), std::nullopt);
  EXPECT_EQ(ClientToRemove(clients_, {0.02, 0.01, 0.02}, profile, true), std::nullopt);
  EXPECT_EQ(ClientToRemove(clients_, {0.03, 0.021, 0.02}, profile, false), 1);
  EXPECT_EQ(ClientToRemove(clients_, {0.03, 0.021, 0.02}, profile, true), 2);
  clients_[1].owes = clients_[2].owes = true;
  EXPECT_EQ(ClientToRemove(clients_, {0.03, 0.021, 0.02}, profile, false), 0);
  EXPECT_EQ(ClientToRemove(clients_, {0.02, 0.021, 0.02}, profile, false), 1) << "no other can";
  EXPECT_EQ(FarthestAbove(clients_, {0.02, 0.01, 0.02}), std::nullopt);
  EXPECT_EQ(FarthestAbove(clients_, {0.03, 0.021, 0.02}), 0);
}

class RandomClients {
 public:
  RandomClients() {
    predictors_.reserve(40);
    double ms = 0;
    for (int b = *rc::gen::inRange(1, 9); b > 0; --b) batch_ms_.push_back(ms += *rc::gen::inRange(1, 15));
    for (int n = *rc::gen::inRange(0, 40); n > 0; --n) {
      const FrameId frame = *rc::gen::inRange(0, 1000);
      const double fps = *rc::gen::element(30, 60, 90);
      predictors_.emplace_back(fps).Add(frame, now_ - std::chrono::milliseconds(*rc::gen::inRange(0, 300)));
      clients_.push_back({.id = clients_.size(),
                          .model = {fps, 0.02, *rc::gen::inRange(0, 100) * 1e-4, *rc::gen::inRange(1, 60) * 1e-3},
                          .settings = {*rc::gen::inRange(1, 30), *rc::gen::inRange(1, 9)},
                          .arrivals = &predictors_.back(),
                          .last_frame = frame,
                          .newest = {frame, frame + *rc::gen::inRange(1, 6)}});
    }
  }

  const TimePoint now_{std::chrono::seconds(20)};
  std::vector<double> batch_ms_;
  std::vector<ArrivalPredictor> predictors_;
  std::vector<PlanningClient> clients_;
};

RC_GTEST_PROP(PackingPropertyTest, ThePlanKeepsItsPromises, ()) {
  const RandomClients random;
  const InferenceProfile profile = ProfileOf(random.batch_ms_);
  const auto requests = SimulateRequests(random.clients_, random.now_, random.now_ + std::chrono::seconds(1));
  const BatchPlan plan = PackRequests(random.clients_, requests, profile, 0.1, random.now_);
  size_t planned = 0;
  TimePoint free_at = random.now_;
  std::map<int, FrameId> last;
  for (const PlannedBatch& batch : plan) {
    const auto size = static_cast<int>(batch.requests.size());
    RC_ASSERT(size >= 1 && size <= profile.MaxBatch());
    RC_ASSERT(batch.arrival >= free_at && batch.start >= batch.arrival);  // the engine is never booked twice
    RC_ASSERT(batch.end - batch.start >= profile.Latency(size) - std::chrono::nanoseconds(1));
    free_at = batch.end;
    std::set<int> in_batch;
    for (const auto& [client, frame] : batch.requests) {
      const PlanningClient& one = random.clients_[client];
      RC_ASSERT(in_batch.insert(client).second);
      RC_ASSERT(size <= one.settings.batch);
      RC_ASSERT(one.arrivals->At(frame) <= batch.arrival + std::chrono::microseconds(1));
      const FrameId before = last.contains(client) ? last[client] : one.last_frame;
      RC_ASSERT(frame >= before + (one.settings.interval + 1) / 2);
      last[client] = frame;
    }
    planned += batch.requests.size();
  }
  RC_ASSERT(planned == requests.size());
  for (size_t i = 1; i < requests.size(); ++i) {
    RC_ASSERT(requests[i].arrival >= requests[i - 1].arrival - std::chrono::microseconds(100));
  }
}

// Figure 3.10, without coordination: one that comes alone is a batch of one, of three that are there two fit.
TEST_F(PackingTest, GroupsWhatHasCome) {
  for (int i = 0; i < 4; ++i) AddClient(6, 2, 0, 1);
  const std::vector<SimulatedRequest> requests = {
      {0, 6, AtFrame(11)}, {1, 6, AtFrame(12)}, {2, 6, AtFrame(12)}, {3, 6, AtFrame(12.5)}, {0, 12, AtFrame(30)}};
  const BatchPlan plan = GroupRequests(clients_, requests, ProfileInFrames({2, 3}), AtFrame(0));
  ASSERT_EQ(plan.size(), 4);
  EXPECT_EQ(plan[0].requests.size(), 1);
  EXPECT_EQ(plan[0].start, AtFrame(11));
  EXPECT_EQ(plan[1].requests.size(), 2);
  EXPECT_NEAR(InFrames(plan[1].start), 13, 1e-3);
  EXPECT_EQ(plan[2].requests.size(), 1);
  EXPECT_NEAR(InFrames(plan[2].start), 16, 1e-3);
  EXPECT_NEAR(InFrames(plan[3].end), 32, 1e-3);
}

RC_GTEST_PROP(PackingPropertyTest, GroupsNeverWaitForWhatIsNotThere, ()) {
  const RandomClients random;
  const InferenceProfile profile = ProfileOf(random.batch_ms_);
  const auto requests = SimulateRequests(random.clients_, random.now_, random.now_ + std::chrono::seconds(1));
  TimePoint free_at = random.now_;
  size_t next = 0;
  for (const PlannedBatch& batch : GroupRequests(random.clients_, requests, profile, free_at)) {
    const auto size = static_cast<int>(batch.requests.size());
    RC_ASSERT(size >= 1 && size <= profile.MaxBatch());
    RC_ASSERT(batch.start == std::max(free_at, requests[next].arrival));
    RC_ASSERT(batch.end == batch.start + profile.Latency(size));
    for (const auto& [client, frame] : batch.requests) {
      RC_ASSERT(requests[next].client == client && requests[next].frame == frame);
      RC_ASSERT(requests[next++].arrival <= batch.start && size <= random.clients_[client].settings.batch);
    }
    free_at = batch.end;
  }
  RC_ASSERT(next == requests.size());
}

RC_GTEST_PROP(PackingPropertyTest, DropsAreThoseOfEveryFrameByItself, ()) {
  const RandomClients random;
  const InferenceProfile profile = ProfileOf(random.batch_ms_);
  const auto requests = SimulateRequests(random.clients_, random.now_, random.now_ + std::chrono::seconds(1));
  const BatchPlan plan = PackRequests(random.clients_, requests, profile, 0.1, random.now_);
  const std::vector<double> drops = EstimateDrops(random.clients_, plan, profile, random.now_);
  for (int i = 0; i < static_cast<int>(random.clients_.size()); ++i) {
    const PlanningClient& client = random.clients_[i];
    std::vector<track::Offload> results = {client.newest};
    for (const PlannedBatch& batch : plan) {
      for (const auto& [index, frame] : batch.requests) {
        if (index == i)
          results.push_back({frame, std::max(results.back().usable,
                                             FirstUse(client, frame, batch.arrival + (batch.end - batch.start)))});
      }
    }
    if (results.size() == 1) continue;
    double sum = 0;
    int frames = 0;
    for (FrameId f = std::max(client.newest.usable, client.arrivals->LatestBy(random.now_)); f < results.back().usable;
         ++f) {
      FrameId source = client.newest.frame;
      for (const track::Offload& result : results) {
        if (result.usable <= f) source = result.frame;
      }
      sum += client.model.drop_rate * static_cast<double>(f - source);
      ++frames;
    }
    const double reference = track::MeanDrop(client.model.drop_rate, ReferenceOf(client.model, profile));
    RC_ASSERT(std::abs(drops[i] - (frames == 0 ? 0 : sum / frames - reference)) < 1e-9);
  }
}

}  // namespace
}  // namespace wharf::serving
