#include "wharf/multitask/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <deque>

namespace wharf::multitask {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int> Latencies(const std::vector<TaskStatus>& tasks) {
  std::vector<int> latencies;
  for (const TaskStatus& task : tasks) latencies.push_back(task.latency_frames);
  return latencies;
}

std::vector<Plan> AllPlans(const std::vector<int>& latencies, int horizon, const Balance& balance) {
  std::vector<Plan> plans;
  PlanEnumerator plan(latencies, horizon, balance);
  while (const Plan* next = plan.Next()) plans.push_back(*next);
  return plans;
}

// Algorithm 1 word for word.
BestPlan TryAll(const std::vector<TaskStatus>& tasks, int horizon, const Balance& balance, const AccuracyMerge& merge) {
  BestPlan best;
  best.drop = std::numeric_limits<double>::infinity();
  PlanEnumerator plan(Latencies(tasks), horizon, balance);
  while (const Plan* next = plan.Next()) {
    const double drop = SimulatePlan(*next, tasks, horizon, merge);
    if (drop < best.drop) best = {*next, drop, 0};
  }
  return best;
}

// The rule in words, for a whole history: between two offloads of one task, or before its first or after its last, no
// other is offloaded more than `limit` times.
bool Balanced(const std::vector<int>& history, int tasks, int limit) {
  for (int waiting = 0; waiting < tasks; ++waiting) {
    std::vector<int> since(tasks);
    for (const int task : history) {
      if (task == waiting) {
        since.assign(tasks, 0);
      } else if (++since[task] > limit) {
        return false;
      }
    }
  }
  return true;
}

// Every sequence of tasks, by counting, that fills the horizon and keeps the balance after `history`.
std::vector<Plan> ByCounting(const std::vector<int>& latencies, int horizon, const std::vector<int>& history,
                             int limit) {
  std::vector<Plan> complete;
  std::deque<Plan> open = {{}};
  while (!open.empty()) {
    const Plan plan = open.front();
    open.pop_front();
    const int frame = plan.empty() ? 0 : plan.back().frame + latencies[plan.back().task];
    std::vector<int> all = history;
    for (const PlannedOffload& offload : plan) all.push_back(offload.task);
    if (!Balanced(all, static_cast<int>(latencies.size()), limit)) continue;
    if (frame >= horizon) {
      complete.push_back(plan);
      continue;
    }
    for (int task = 0; task < static_cast<int>(latencies.size()); ++task) {
      open.push_back(plan);
      open.back().push_back({frame, task});
    }
  }
  return complete;
}

Balance After(const std::vector<int>& history, int tasks, int limit) {
  Balance balance(tasks, limit);
  for (const int task : history) balance.Offloaded(task);
  return balance;
}

// A history that keeps the balance itself.
std::vector<int> SomeHistory(int tasks, int limit) {
  Balance balance(tasks, limit);
  std::vector<int> history;
  for (int i = *rc::gen::inRange(0, 12); i > 0; --i) {
    const int task = *rc::gen::inRange(0, tasks);
    if (!balance.Allows(task)) continue;
    balance.Offloaded(task);
    history.push_back(task);
  }
  return history;
}

std::vector<TaskStatus> SomeTasks(int count) {
  std::vector<TaskStatus> tasks;
  for (int t = 0; t < count; ++t) {
    TaskStatus task;
    task.latency_frames = *rc::gen::inRange(1, 7);
    task.stride = *rc::gen::inRange(0, 25);
    task.drop_rate = *rc::gen::inRange(0, 20) / 1000.0;
    if (*rc::gen::arbitrary<bool>()) task.local_drop = *rc::gen::inRange(0, 20) / 100.0;
    if (*rc::gen::arbitrary<bool>()) task.exponent = *rc::gen::inRange(1, 15) / 10.0;
    tasks.push_back(task);
  }
  return tasks;
}

// Thesis, Figure 2.5: two tasks of two frames' latency, four frames; frame -4 was offloaded for task 1, frame -2 for
// task 2.
class WorkedExample : public ::testing::Test {
 protected:
  static std::vector<TaskStatus> Tasks(double r1, double d1, double r2, double d2) {
    return {{.latency_frames = 2, .stride = 4, .drop_rate = r1, .local_drop = d1},
            {.latency_frames = 2, .stride = 2, .drop_rate = r2, .local_drop = d2}};
  }
  static double Sum(std::span<const double> drops) { return drops[0] + drops[1]; }
};

TEST_F(WorkedExample, HasFourValidPlans) {
  const Plan p11 = {{0, 0}, {2, 0}}, p12 = {{0, 0}, {2, 1}}, p21 = {{0, 1}, {2, 0}}, p22 = {{0, 1}, {2, 1}};
  EXPECT_THAT(AllPlans({2, 2}, 4, After({0, 1}, 2, 3)), ElementsAre(p11, p12, p21, p22));
}

TEST_F(WorkedExample, SimulatesAsThePictureShows) {
  const Plan plan = {{0, 1}, {2, 0}};  // [2, 0, 1, 0]
  const double r1 = 3, r2 = 5, none = kNoLocalAlgorithm;
  EXPECT_EQ(SimulatePlan(plan, Tasks(r1, none, r2, none), 4, Sum), (4 + 5 + 6 + 7) * r1 + (2 + 3 + 2 + 3) * r2);
  const double d1 = 14, d2 = 11;  // of 12, 15, 18, 21 and of 10, 15, 10, 15
  EXPECT_EQ(SimulatePlan(plan, Tasks(r1, d1, r2, d2), 4, Sum), 12 + 14 + 14 + 14 + 10 + 11 + 10 + 11);
}

TEST(TaskStatus, ATrackersDropGrowsWithAPowerOfTheStride) {
  const TaskStatus task = {.drop_rate = 0.02, .local_drop = 0.05, .exponent = 0.5};
  EXPECT_DOUBLE_EQ(task.TrackerDrop(4), 0.04);
  EXPECT_DOUBLE_EQ(task.Drop(4), 0.04);
  EXPECT_DOUBLE_EQ(task.TrackerDrop(9), 0.06);
  EXPECT_DOUBLE_EQ(task.Drop(9), 0.05);
  EXPECT_EQ(task.Drop(0), 0);
}

TEST_F(WorkedExample, GoesToTheTaskThatLosesMore) {
  const Balance balance = After({0, 1}, 2, 3);
  EXPECT_EQ(FindBestPlan(Tasks(9, kNoLocalAlgorithm, 1, kNoLocalAlgorithm), 4, balance, Sum).plan[0].task, 0);
  EXPECT_EQ(FindBestPlan(Tasks(1, kNoLocalAlgorithm, 9, kNoLocalAlgorithm), 4, balance, Sum).plan[0].task, 1);
  // The first task's local algorithm is as good as the server: an offload gains nothing.
  EXPECT_EQ(FindBestPlan(Tasks(9, 0, 1, kNoLocalAlgorithm), 4, balance, Sum).plan[0].task, 1);
}

TEST(Balance, TheOtherTaskIsNextAfterThreeInARow) {
  Balance balance(2, 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(balance.Allows(0));
    balance.Offloaded(0);
  }
  EXPECT_FALSE(balance.Allows(0));
  EXPECT_TRUE(balance.Allows(1));
  balance.Offloaded(1);
  EXPECT_TRUE(balance.Allows(0));
}

TEST(Balance, ATaskThatIsAloneIsAlwaysAllowed) {
  Balance balance(1, 3);
  for (int i = 0; i < 300; ++i) balance.Offloaded(0);
  EXPECT_TRUE(balance.Allows(0));
}

TEST(Balance, NoThirdTaskStarves) {
  Balance balance(3, 2);
  for (const int task : {0, 1, 0, 1}) balance.Offloaded(task);
  EXPECT_FALSE(balance.Allows(0));
  EXPECT_FALSE(balance.Allows(1));
  EXPECT_TRUE(balance.Allows(2));
}

RC_GTEST_PROP(Balance, AllowsExactlyWhatKeepsIt, ()) {
  const int tasks = *rc::gen::inRange(1, 5), limit = *rc::gen::inRange(1, 5);
  std::vector<int> history = SomeHistory(tasks, limit);
  const Balance balance = After(history, tasks, limit);
  bool any = false;
  for (int task = 0; task < tasks; ++task) {
    history.push_back(task);
    RC_ASSERT(balance.Allows(task) == Balanced(history, tasks, limit));
    any = any || balance.Allows(task);
    history.pop_back();
  }
  RC_ASSERT(any);
}

TEST(WeightedMerge, IsTheWeightedAverage) {
  const std::vector<double> drops = {0.2, 0.6};
  EXPECT_DOUBLE_EQ(WeightedMerge({3, 1})(drops), 0.3);
}

RC_GTEST_PROP(PlanEnumerator, GivesWhatCountingGives, ()) {
  const int tasks = *rc::gen::inRange(1, 4), limit = *rc::gen::inRange(1, 4), horizon = *rc::gen::inRange(1, 14);
  std::vector<int> latencies(tasks);
  for (int& latency : latencies) latency = *rc::gen::inRange(2, 7);
  const std::vector<int> history = SomeHistory(tasks, limit);
  std::vector<Plan> plans = AllPlans(latencies, horizon, After(history, tasks, limit));
  const auto tasks_of = [](const Plan& plan) {
    std::vector<int> list;
    for (const PlannedOffload& offload : plan) list.push_back(offload.task);
    return list;
  };
  const auto lexical = [&](const Plan& a, const Plan& b) { return tasks_of(a) < tasks_of(b); };
  RC_ASSERT(std::is_sorted(plans.begin(), plans.end(), lexical));
  std::vector<Plan> expected = ByCounting(latencies, horizon, history, limit);
  std::sort(expected.begin(), expected.end(), lexical);
  RC_ASSERT(plans == expected);
}

RC_GTEST_PROP(PlanEnumerator, OneOffloadAtATimeWithoutGaps, ()) {
  const std::vector<int> latencies = {*rc::gen::inRange(2, 7), *rc::gen::inRange(2, 7), *rc::gen::inRange(2, 7)};
  const int horizon = *rc::gen::inRange(1, 18);
  for (const Plan& plan : AllPlans(latencies, horizon, Balance(3, 3))) {
    int free = 0;
    for (const PlannedOffload& offload : plan) {
      RC_ASSERT(offload.frame == free);
      RC_ASSERT(free < horizon);
      free += latencies[offload.task];
    }
    RC_ASSERT(free >= horizon);
  }
}

RC_GTEST_PROP(FindBestPlan, FindsWhatTryingAllFinds, ()) {
  const int count = *rc::gen::inRange(1, 4), limit = *rc::gen::inRange(1, 5);
  const std::vector<TaskStatus> tasks = SomeTasks(count);
  const std::vector<int> latencies = Latencies(tasks);
  const int horizon = *rc::gen::inRange(1, 5 * *std::min_element(latencies.begin(), latencies.end()) + 1);
  std::vector<double> weights;
  for (int t = 0; t < count; ++t) weights.push_back(*rc::gen::inRange(1, 5));
  const std::vector<AccuracyMerge> merges = {
      WeightedMerge(weights),
      [](std::span<const double> drops) { return *std::max_element(drops.begin(), drops.end()); },
      [](std::span<const double>) { return 1.0; }};  // all plans alike: the first
  const Balance balance = After(SomeHistory(count, limit), count, limit);
  for (const AccuracyMerge& merge : merges) {
    const BestPlan expected = TryAll(tasks, horizon, balance, merge),
                   found = FindBestPlan(tasks, horizon, balance, merge);
    RC_ASSERT(found.plan == expected.plan);
    RC_ASSERT(found.drop == expected.drop);  // bit for bit
  }
}

TEST(FindBestPlan, LeavesOutMostOfWhatCannotWin) {
  const std::vector<TaskStatus> tasks = {{5, 9, 0.004, 0.08}, {4, 5, 0.003, kNoLocalAlgorithm}, {4, 13, 0.002, 0.06}};
  const Balance balance(3, 3);
  const AccuracyMerge merge = WeightedMerge({1, 1, 1});
  const BestPlan found = FindBestPlan(tasks, 30, balance, merge), expected = TryAll(tasks, 30, balance, merge);
  EXPECT_EQ(found.plan, expected.plan);
  EXPECT_EQ(found.drop, expected.drop);
  EXPECT_LT(found.segments, static_cast<int64_t>(AllPlans({5, 4, 4}, 30, balance).size()));
}

TEST(PlanEnumerator, AHorizonOfOneFrameIsOneOffload) {
  const Plan first = {{0, 0}}, second = {{0, 1}};
  EXPECT_THAT(AllPlans({5, 4}, 1, Balance(2, 3)), ElementsAre(first, second));
}

}  // namespace
}  // namespace wharf::multitask
