#include "wharf/multitask/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <numeric>
#include <random>
#include <utility>

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

// A decision is a part of a frame's work, so however many tasks there are and however soon they are answered, the
// frames that are simulated for it are bounded; for what the thesis has, plans look ahead as far as there.
TEST(Scheduler, PlansLookAheadAsFarAsThereIsTime) {
  int64_t simulated = 0;
  const AccuracyMerge counting = [&](std::span<const double> drops) {
    ++simulated;
    return std::accumulate(drops.begin(), drops.end(), 0.0);
  };
  std::minstd_rand random(7);
  std::uniform_real_distribution<double> rate(0.001, 0.01);
  for (int tasks = 2; tasks <= kMaxTasks; ++tasks) {
    for (const std::vector<int>& latencies : std::vector<std::vector<int>>{{1}, {2}, {5, 4}, {6, 1}, {20, 1}}) {
      Scheduler scheduler(*ParsePolicy("accumo", tasks), tasks, counting);
      for (int decision = 0; decision < tasks + 3; ++decision) {
        std::vector<TaskStatus> statuses;
        for (int t = 0; t < tasks; ++t) {
          const int latency = latencies[std::min<size_t>(t, latencies.size() - 1)];
          statuses.push_back({.latency_frames = latency, .stride = latency + t, .drop_rate = rate(random)});
        }
        simulated = 0;
        scheduler.Next(statuses);
        EXPECT_LE(simulated, 100'000) << tasks << " tasks, " << latencies.front() << ", " << latencies.back();
      }
    }
  }
}

TEST(Scheduler, TheThesissHorizonIsKeptForItsTasks) {
  int64_t simulated = 0;
  const AccuracyMerge counting = [&](std::span<const double> drops) {
    ++simulated;
    return std::accumulate(drops.begin(), drops.end(), 0.0);
  };
  for (const std::vector<int>& latencies : std::vector<std::vector<int>>{{5, 4}, {5, 4, 4}}) {
    const int tasks = static_cast<int>(latencies.size());
    Scheduler scheduler(*ParsePolicy("accumo", tasks), tasks, counting);
    Balance balance(tasks, 3);
    std::vector<TaskStatus> statuses;
    for (const int latency : latencies) statuses.push_back({.latency_frames = latency, .stride = 8, .drop_rate = 0.01});
    for (int turn = 0; turn < tasks; ++turn) {
      scheduler.Next(statuses);
      balance.Offloaded(turn);
    }
    simulated = 0;
    scheduler.Next(statuses);
    const int64_t by_scheduler = std::exchange(simulated, 0);
    FindBestPlan(statuses, 30, balance, counting);
    EXPECT_EQ(by_scheduler, simulated);
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
