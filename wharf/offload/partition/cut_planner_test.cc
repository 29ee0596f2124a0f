#include "wharf/offload/partition/cut_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::offload {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr Side kLocal = Side::kLocal, kRemote = Side::kRemote;
constexpr uint64_t kMegabyte = 1'000'000;

// A program whose inference is: input (1 MB), two layers of which the first leaves 0.1 MB, output (1 kB).
class CutPlannerTest : public ::testing::Test {
 protected:
  static Access Of(std::vector<MemoryRange> needs, std::vector<MemoryRange> writes) {
    Access access;
    access.named = needs;
    access.named.insert(access.named.end(), writes.begin(), writes.end());
    access.needs = std::move(needs);
    access.writes = std::move(writes);
    return access;
  }

  Side Make(const StepOp& op, const Access& access) {
    if (planner_.WantsTimes()) planner_.NoteTimes(std::exchange(times_, {}));
    const Side side = planner_.Next(op, access);
    if (const auto token = planner_.Timed()) {
      const bool local = side == kLocal && !access.only_remote;
      times_.push_back({*token, local ? kLocal : kRemote, local ? local_s_ : remote_s_});
    }
    return side;
  }
  Side Layer(uint64_t function, MemoryRange from, MemoryRange to, bool only_remote = false) {
    Launch launch;
    launch.function = function;
    launch.config.grid.x = ++launches_;  // another one every time
    Access access = Of({from, to}, {to});
    access.only_remote = only_remote;
    return Make(launch, access);
  }
  // Where the layers ran.
  std::vector<Side> Infer(bool second_only_remote = false) {
    Make(CopyToDevice{}, Of({}, {kInput}));
    std::vector<Side> sides;
    sides.push_back(Layer(1, kInput, kMiddle));
    sides.push_back(Layer(2, kMiddle, kOutput, second_only_remote));
    Make(CopyToHost{}, Of({kOutput}, {}));
    return sides;
  }
  // Until the planner has what it wants to know.
  void Learn(bool second_only_remote = false) {
    constexpr int kFindAndTime = 3 + 2 + 2;
    for (int i = 0; i < kFindAndTime; ++i) Infer(second_only_remote);
  }
  void SetLink(double megabits, double round_trip_s) { link_ = {0, megabits * 1e6, FromSeconds(round_trip_s)}; }

  const MemoryRange kInput{0x1000'0000, kMegabyte}, kMiddle{0x2000'0000, kMegabyte / 10},
      kOutput{0x3000'0000, kMegabyte / 1000};
  double local_s_ = 0.02, remote_s_ = 0.001;
  link::LinkEstimate link_;
  CutPlanner planner_{[this] { return link_; }};
  std::vector<MeasuredTime> times_;
  uint32_t launches_ = 0;
};

TEST_F(CutPlannerTest, TimesTheSequenceThereAndHereOnceItIsFound) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Infer(), Each(kRemote));
    EXPECT_TRUE(times_.empty());
  }
  for (int i = 0; i < 2; ++i) EXPECT_THAT(Infer(), Each(kRemote));
  for (int i = 0; i < 2; ++i) EXPECT_THAT(Infer(), Each(kLocal));
  EXPECT_EQ(times_.size(), 2u);
}

TEST_F(CutPlannerTest, TheCutFollowsTheLink) {
  SetLink(800, 0.002);
  Learn();
  EXPECT_THAT(Infer(), ElementsAre(kRemote, kRemote));
  SetLink(80, 0.002);  // the input takes 100 ms
  EXPECT_THAT(Infer(), ElementsAre(kLocal, kRemote));
  SetLink(8, 0.002);
  EXPECT_THAT(Infer(), ElementsAre(kLocal, kLocal));
  SetLink(800, 0.002);
  EXPECT_THAT(Infer(), ElementsAre(kRemote, kRemote));
}

TEST_F(CutPlannerTest, NothingIsPlannedForALinkNobodyKnows) {
  SetLink(0, 0);
  Learn();
  EXPECT_THAT(Infer(), Each(kRemote));
  EXPECT_TRUE(planner_.TakeProbe());
  EXPECT_FALSE(planner_.TakeProbe());
}

TEST_F(CutPlannerTest, WhatCanOnlyRunThereStaysRemote) {
  SetLink(8, 0.002);
  Learn(/*second_only_remote=*/true);
  EXPECT_THAT(Infer(/*second_only_remote=*/true), ElementsAre(kLocal, kRemote));
}

TEST_F(CutPlannerTest, APlanIsKeptIfAnotherSavesLittle) {
  local_s_ = 0.0108;
  SetLink(800, 0.002);  // the input takes 10 ms: as long as the first layer here
  Learn();
  const std::vector<Side> before = Infer();
  SetLink(700, 0.002);
  EXPECT_EQ(Infer(), before);
}

TEST_F(CutPlannerTest, OffTheSequenceOperationsRunRemote) {
  SetLink(8, 0.002);
  Learn();
  EXPECT_THAT(Infer(), Each(kLocal));
  Make(CopyToDevice{}, Of({}, {kInput}));
  EXPECT_EQ(Layer(3, kInput, kOutput), kRemote);
  EXPECT_EQ(Layer(2, kMiddle, kOutput), kRemote);
  Make(CopyToHost{}, Of({kOutput}, {}));
  EXPECT_THAT(Infer(), Each(kLocal));
}

}  // namespace
}  // namespace wharf::offload
