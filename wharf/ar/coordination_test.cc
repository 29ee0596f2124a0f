// What clients are told while there is no room for them.
#include "wharf/ar/coordination.h"

#include <gtest/gtest.h>

#include "wharf/ar/testing.h"

namespace wharf::ar {
namespace {

class CountingPeer final : public CoordinatedPeer {
 public:
  void Tell(const serving::ClientPlan& plan, bool served) override {
    ++told_;
    served_ = served;
    interval_ = plan.interval;
  }
  void HandOver() override { ++handed_over_; }
  void Deliver(int64_t, Finding, Nanoseconds, Nanoseconds) override {}

  std::atomic<int> told_ = 0, handed_over_ = 0, interval_ = 0;
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

}  // namespace
}  // namespace wharf::ar
