// What clients are told while there is no room for them.
#include "wharf/ar/server/coordination.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <thread>

#include "wharf/ar/server/testing.h"

namespace wharf::ar {
namespace {

class CountingPeer final : public CoordinatedPeer {
 public:
  void Tell(const serving::ClientPlan& plan, bool served, std::string why) override {
    {
      absl::MutexLock lock(&mutex_);
      why_ = std::move(why);
    }
    ++told_;
    served_ = served;
    interval_ = plan.interval;
  }
  void Redirect() override { ++handed_over_; }
  void Deliver(int64_t, Finding, Nanoseconds, Nanoseconds) override { ++delivered_; }

  std::atomic<int> told_ = 0, handed_over_ = 0, interval_ = 0, delivered_ = 0;
  std::atomic<bool> served_ = false;
  std::string Why() {
    absl::MutexLock lock(&mutex_);
    return why_;
  }

 private:
  absl::Mutex mutex_;
  std::string why_ ABSL_GUARDED_BY(mutex_);
};

// A coordination whose time passes only when told.
class CoordinationInVirtualTimeTest : public ::testing::Test {
 protected:
  static constexpr auto kPeriod = std::chrono::milliseconds(200);

  CoordinationInVirtualTimeTest() { Settle(); }  // its first round

  // Returns when all that was said before has been heard.
  void Settle() {
    for (int i = 0; i < 2; ++i) {
      const uint64_t steps = coordination_.Counts().steps;
      coordination_.Leave(0);  // nobody, but it wakes the thread
      while (coordination_.Counts().steps == steps) std::this_thread::yield();
    }
  }
  void Pass(Nanoseconds time) {
    clock_.Advance(time);
    Settle();
  }

  VirtualClock clock_;
  BrightnessBatches finder_;
  Coordination coordination_{{.finder = &finder_,
                              .profile = *serving::InferenceProfile::Make("test", {{1, 10}, {4, 16}}),
                              .options = {.period = kPeriod},
                              .clock = &clock_}};
};

TEST_F(CoordinationInVirtualTimeTest, OfManyReportsTheNewestIsTaken) {
  const auto peer = std::make_shared<CountingPeer>();
  const uint64_t client = coordination_.Join(60, 0.1, DepthCoding::kHalf, peer);
  coordination_.OnPicture(client, 1, GreyPicture(64));
  Settle();
  // Any but the last would have it served.
  constexpr uint64_t kReports = 100'000;
  for (uint64_t i = 1; i < kReports; ++i) coordination_.OnReport(client, {0.001, 0.01});
  coordination_.OnReport(client, {1, 0.01});
  EXPECT_EQ(coordination_.Counts().reports_superseded, kReports - 1);
  EXPECT_EQ(coordination_.Counts().reports_taken, 0);
  Pass(kPeriod);
  EXPECT_EQ(coordination_.Counts().reports_taken, 1);
  EXPECT_EQ(coordination_.Counts().served, 0);
  coordination_.OnReport(client, {0.001, 0.01});
  Pass(kPeriod);
  EXPECT_EQ(coordination_.Counts().reports_taken, 2);
  EXPECT_EQ(coordination_.Counts().served, 1);
  EXPECT_EQ(coordination_.Counts().reports_superseded, kReports - 1);
}

// Who sends nothing is nobody whom others have to wait for.
TEST_F(CoordinationInVirtualTimeTest, SilentClientsDelayNobody) {
  constexpr size_t kSilent = 252;
  const auto join = [this] {
    return coordination_.Join(60, 0.5, DepthCoding::kHalf, std::make_shared<CountingPeer>());
  };
  std::vector<uint64_t> silent;
  for (size_t i = 0; i < kSilent; ++i) silent.push_back(join());
  const uint64_t honest = join();
  coordination_.OnPicture(honest, 1, GreyPicture(64));
  Settle();
  ASSERT_EQ(coordination_.Counts().waiting, kSilent + 1);
  Pass(kPeriod);
  EXPECT_EQ(coordination_.Counts().served, 1);
  EXPECT_EQ(coordination_.Counts().waiting, kSilent);
  // One that speaks after all is served as well.
  coordination_.OnPicture(silent.back(), 1, GreyPicture(64));
  Settle();
  Pass(kPeriod);
  EXPECT_EQ(coordination_.Counts().served, 2);
}

// Nor is anybody whom no server could serve, however much he sends.
TEST_F(CoordinationInVirtualTimeTest, HopelessClientsDelayNobody) {
  constexpr size_t kHopeless = 252;
  for (size_t i = 0; i <= kHopeless; ++i) {
    const double sla = i < kHopeless ? 1e-9 : 0.5;
    const auto peer = std::make_shared<CountingPeer>();
    coordination_.OnPicture(coordination_.Join(60, sla, DepthCoding::kHalf, peer), 1, GreyPicture(64));
  }
  Settle();
  ASSERT_EQ(coordination_.Counts().waiting, kHopeless + 1);
  Pass(kPeriod);
  EXPECT_EQ(coordination_.Counts().served, 1);
  EXPECT_EQ(coordination_.Counts().waiting, kHopeless);
}

TEST_F(CoordinationInVirtualTimeTest, WhoWaitsForLongIsToldWhy) {
  const auto silent = std::make_shared<CountingPeer>(), hopeless = std::make_shared<CountingPeer>();
  coordination_.Join(60, 0.5, DepthCoding::kHalf, silent);
  coordination_.OnPicture(coordination_.Join(60, 1e-9, DepthCoding::kHalf, hopeless), 1, GreyPicture(64));
  Settle();
  for (const auto& peer : {silent, hopeless}) {
    EXPECT_EQ(peer->told_, 1);
    EXPECT_EQ(peer->Why(), "");
  }
  Pass(std::chrono::seconds(2));
  for (const auto& peer : {silent, hopeless}) {
    EXPECT_EQ(peer->told_, 2);
    EXPECT_FALSE(peer->served_);
    EXPECT_EQ(peer->interval_, 60);
  }
  EXPECT_EQ(silent->Why(), "its pictures do not come as its camera's frames should");
  EXPECT_EQ(hopeless->Why(),
            "a drop of 1e-09 cannot be kept here, over this link and with at most 25 % of what the server can compute");
}

// Who is admitted and does not send what was planned may come again, but not at once each time.
TEST_F(CoordinationInVirtualTimeTest, WhoVanishesAgainAndAgainWaitsForLonger) {
  const uint64_t client = coordination_.Join(60, 0.5, DepthCoding::kHalf, std::make_shared<CountingPeer>());
  int64_t frame = 0;
  const auto speak = [&] {
    frame = std::max<int64_t>(frame + 1, clock_.Now().since_epoch / std::chrono::nanoseconds(16'666'667));
    coordination_.OnPicture(client, frame, GreyPicture(64));
    Settle();
  };
  const auto vanish = [&](uint64_t times) {
    while (coordination_.Counts().scheduler.vanished < times) Pass(kPeriod);
  };
  const auto served_after = [&](Nanoseconds time) {
    Pass(time);
    return coordination_.Counts().served == 1;
  };
  speak();
  EXPECT_TRUE(served_after(kPeriod));
  vanish(1);
  speak();
  EXPECT_TRUE(served_after(kPeriod));
  Nanoseconds pause = std::chrono::seconds(1);
  for (uint64_t times = 2; times < 5; ++times, pause *= 2) {
    vanish(times);
    const TimePoint since = clock_.Now();
    speak();
    EXPECT_FALSE(served_after(kPeriod));
    while (clock_.Now() + kPeriod < since + pause) EXPECT_FALSE(served_after(kPeriod));
    EXPECT_TRUE(served_after(2 * kPeriod));
  }
}

// Whatever becomes of its client and its plan, and whether the frame was asked for.
TEST_F(CoordinationInVirtualTimeTest, EveryPictureIsAnsweredOnce) {
  std::mt19937 random(7);
  std::vector<std::shared_ptr<CountingPeer>> peers;
  std::vector<uint64_t> clients;
  for (int i = 0; i < 6; ++i) {
    peers.push_back(std::make_shared<CountingPeer>());
    clients.push_back(coordination_.Join(60, 0.02 + 0.1 * i, DepthCoding::kHalf, peers.back()));
  }
  std::vector<int> sent(peers.size());
  for (int step = 0; step < 300; ++step) {
    const size_t at = random() % peers.size();
    const int64_t now = clock_.Now().since_epoch / std::chrono::nanoseconds(16'666'667);
    for (uint32_t pictures = random() % 4; pictures > 0; --pictures) {
      coordination_.OnPicture(clients[at], now + random() % 3, GreyPicture(64));  // some more than once
      ++sent[at];
    }
    Pass(std::chrono::milliseconds(random() % 60));
  }
  for (int i = 0; i < 30; ++i) Pass(kPeriod);
  for (size_t i = 0; i < peers.size(); ++i) {
    while (peers[i]->delivered_ < sent[i]) std::this_thread::yield();  // the engine has a thread of its own
    EXPECT_EQ(peers[i]->delivered_, sent[i]) << i;
  }
}

TEST(CoordinationTest, WhoDoesNotFitIsToldSoOnce) {
  BrightnessBatches finder;
  // A picture takes a minute: no accuracy can be kept.
  Coordination coordination(
      {.finder = &finder, .profile = *serving::InferenceProfile::Make("test", {{1, 60'000}}), .waiting_interval = 7});
  const auto peer = std::make_shared<CountingPeer>();
  coordination.OnPicture(coordination.Join(60, 0.05, DepthCoding::kHalf, peer), 1, GreyPicture(64));
  const uint64_t rounds = coordination.Counts().scheduler.rounds;
  // In each of them it is considered again.
  while (coordination.Counts().scheduler.rounds < rounds + 4) Clock::Real().SleepFor(std::chrono::milliseconds(1));
  EXPECT_EQ(coordination.Counts().waiting, 1);
  EXPECT_EQ(peer->told_, 1);
  EXPECT_FALSE(peer->served_);
  EXPECT_EQ(peer->interval_, 7);
}

// Frames of one client that no camera has, while others are served.
TEST(CoordinationTest, NoFrameNumbersStopTheRounds) {
  BrightnessBatches finder;
  Coordination coordination(
      {.finder = &finder, .profile = *serving::InferenceProfile::Make("test", {{1, 10}, {4, 16}})});
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  const std::vector<std::vector<int64_t>> hostile = {{1, 1'000'000'000'000}, {0, kLast}, {kLast - 1, kLast},
                                                     {int64_t{1} << 52},     {-1, 1},    {kLast, -kLast - 1, 5}};
  for (const double frames_per_s : {1.0, 60.0, 1000.0}) {
    for (const std::vector<int64_t>& frames : hostile) {
      const uint64_t client = coordination.Join(frames_per_s, 10, DepthCoding::kHalf, std::make_shared<CountingPeer>());
      for (const int64_t frame : frames) coordination.OnPicture(client, frame, GreyPicture(64));
    }
  }
  const auto good = std::make_shared<CountingPeer>();
  coordination.OnPicture(coordination.Join(60, 0.5, DepthCoding::kHalf, good), 1, GreyPicture(64));
  const uint64_t rounds = coordination.Counts().scheduler.rounds;
  while (coordination.Counts().scheduler.rounds < rounds + 4) Clock::Real().SleepFor(std::chrono::milliseconds(1));
  while (good->delivered_ == 0) Clock::Real().SleepFor(std::chrono::milliseconds(1));
}

}  // namespace
}  // namespace wharf::ar
