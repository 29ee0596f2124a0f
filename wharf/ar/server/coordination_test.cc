// What clients are told while there is no room for them.
#include "wharf/ar/server/coordination.h"

#include <gtest/gtest.h>

#include <limits>

#include "wharf/ar/server/testing.h"

namespace wharf::ar {
namespace {

class CountingPeer final : public CoordinatedPeer {
 public:
  void Tell(const serving::ClientPlan& plan, bool served) override {
    ++told_;
    served_ = served;
    interval_ = plan.interval;
  }
  void Redirect() override { ++handed_over_; }
  void Deliver(int64_t, Finding, Nanoseconds, Nanoseconds) override { ++delivered_; }

  std::atomic<int> told_ = 0, handed_over_ = 0, interval_ = 0, delivered_ = 0;
  std::atomic<bool> served_ = false;
};

TEST(CoordinationTest, WhoDoesNotFitIsToldSoOnce) {
  BrightnessBatches finder;
  // A picture takes a minute: no accuracy can be kept.
  Coordination coordination(
      {.finder = &finder, .profile = *serving::InferenceProfile::Make("test", {{1, 60'000}}), .waiting_interval = 7});
  const auto peer = std::make_shared<CountingPeer>();
  coordination.Join(60, 0.05, DepthCoding::kHalf, peer);
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
