#include "wharf/multitask/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <random>

namespace wharf::multitask {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<TaskStatus> Statuses(const std::vector<double>& rates) {
  std::vector<TaskStatus> statuses;
  for (const double rate : rates) statuses.push_back({.latency_frames = 4, .stride = 8, .drop_rate = rate});
  return statuses;
}

Scheduler Make(std::string_view policy, int tasks) {
  return Scheduler(*ParsePolicy(policy, tasks), tasks, WeightedMerge(std::vector<double>(tasks, 1)));
}

// The only task of each of the next decisions, tasks as `rates` say.
std::vector<int> Decisions(Scheduler& scheduler, const std::vector<double>& rates, int count) {
  std::vector<int> decisions;
  for (int i = 0; i < count; ++i) {
    const std::vector<int> next = scheduler.Next(Statuses(rates));
    EXPECT_EQ(next.size(), 1U);
    decisions.push_back(next.at(0));
  }
  return decisions;
}

TEST(ParsePolicy, KnowsThePapersSystems) {
  EXPECT_EQ(ParsePolicy("la", 2)->mode, Mode::kLocalOnly);
  EXPECT_THAT(ParsePolicy("rr", 3)->turns, ElementsAre(1, 1, 1));
  EXPECT_THAT(ParsePolicy("wrr 3:1", 2)->turns, ElementsAre(3, 1));
  EXPECT_EQ(ParsePolicy("aao", 2)->mode, Mode::kAllAtOnce);
  EXPECT_EQ(ParsePolicy("accumo", 2)->mode, Mode::kPredictive);
}

TEST(ParsePolicy, LocalAlgorithmsAreAccuMosUnlessSaidOtherwise) {
  EXPECT_TRUE(ParsePolicy("la", 2)->local_algorithms);
  EXPECT_TRUE(ParsePolicy("accumo", 2)->local_algorithms);
  EXPECT_FALSE(ParsePolicy("accumo-local", 2)->local_algorithms);
  EXPECT_FALSE(ParsePolicy("rr", 2)->local_algorithms);
  EXPECT_TRUE(ParsePolicy("rr+local", 2)->local_algorithms);
}

TEST(ParsePolicy, RefusesWhatItDoesNotKnow) {
  for (const char* name : {"", "mpc", "rr-local", "la+local", "accumo+local", "wrr", "wrr 3", "wrr 3:1:1", "wrr 0:0",
                           "wrr 3:x", "wrr -1:2", "wrr 3:"}) {
    EXPECT_EQ(ParsePolicy(name, 2).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

TEST(Scheduler, LocalOnlyOffloadsNothing) {
  Scheduler la = Make("la", 2);
  EXPECT_THAT(la.Next(Statuses({1, 1})), IsEmpty());
}

TEST(Scheduler, RoundRobinTakesTurns) {
  Scheduler two = Make("rr", 2), three = Make("rr", 3);
  EXPECT_THAT(Decisions(two, {9, 1}, 4), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(Decisions(three, {1, 1, 1}, 4), ElementsAre(0, 1, 2, 0));
}

TEST(Scheduler, WeightedRoundRobinTakesThemInRuns) {
  Scheduler scheduler = Make("wrr 3:1", 2);
  EXPECT_THAT(Decisions(scheduler, {1, 9}, 9), ElementsAre(0, 0, 0, 1, 0, 0, 0, 1, 0));
}

TEST(Scheduler, ATaskOfWeightNoneIsNeverOffloaded) {
  Scheduler scheduler = Make("wrr 0:1", 2);
  EXPECT_THAT(Decisions(scheduler, {9, 1}, 3), ElementsAre(1, 1, 1));
}

TEST(Scheduler, AllAtOnceOffloadsAll) {
  Scheduler scheduler = Make("aao", 3);
  EXPECT_THAT(scheduler.Next(Statuses({1, 1, 1})), ElementsAre(0, 1, 2));
}

TEST(Scheduler, PredictiveControlBeginsWithEveryTask) {
  Scheduler scheduler = Make("accumo", 3);
  EXPECT_THAT(Decisions(scheduler, {0, 0, 9}, 3), ElementsAre(0, 1, 2));
}

TEST(Scheduler, PredictiveControlGoesWhereMostIsLost) {
  Scheduler scheduler = Make("accumo", 2);
  Decisions(scheduler, {1, 1}, 2);
  // At most three in a row.
  EXPECT_THAT(Decisions(scheduler, {100, 1}, 8), ElementsAre(0, 0, 0, 1, 0, 0, 0, 1));
}

TEST(Scheduler, PredictiveControlTakesTheFirstStepOfTheBestPlan) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> rate(0, 0.01);
  Scheduler scheduler = Make("accumo", 2);
  Balance balance(2, 3);
  for (int i = 0; i < 200; ++i) {
    const std::vector<TaskStatus> statuses = Statuses({rate(random), rate(random)});
    const int next = scheduler.Next(statuses).at(0);
    if (i >= 2) {
      EXPECT_EQ(next, FindBestPlan(statuses, 30, balance, WeightedMerge({1, 1})).plan[0].task);
    }
    balance.Offloaded(next);
  }
}

RC_GTEST_PROP(Scheduler, PredictiveControlKeepsTheBalance, ()) {
  const int tasks = *rc::gen::inRange(1, 4);
  Scheduler scheduler = Make("accumo", tasks);
  Balance balance(tasks, 3);
  for (int i = 0; i < 40; ++i) {
    std::vector<double> rates(tasks);
    for (double& rate : rates) rate = *rc::gen::inRange(0, 5) / 100.0;
    const int next = scheduler.Next(Statuses(rates)).at(0);
    RC_ASSERT(balance.Allows(next));
    balance.Offloaded(next);
  }
}

}  // namespace
}  // namespace wharf::multitask
