#include "wharf/pipeline/planner/slack.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "wharf/pipeline/checker.h"
#include "wharf/pipeline/planner/testing.h"

namespace wharf::pipeline {
namespace {

RC_GTEST_PROP(SlackProperty, NothingIsWorseForIt, ()) {
  const Cluster cluster = ArbitraryCluster(10);
  std::vector<ModelProfile> profiles;
  const int models = *rc::gen::inRange(1, 3);
  for (int i = 0; i < models; ++i) profiles.push_back(ArbitraryProfile(cluster, fmt::format("net{}", i)));
  std::vector<Demand> demands;
  for (const ModelProfile& profile : profiles) demands.push_back(ArbitraryDemand(profile));
  PlannerOptions options;
  options.rules.unify_batches = *rc::gen::arbitrary<bool>();
  const auto made = MakePlan(cluster, demands, options);
  if (!made.ok()) return;
  const Plan& before = *made;
  Plan after = before;
  SpendSlack(demands, after);
  RC_ASSERT(CheckPlan(after, profiles) == absl::OkStatus());
  RC_ASSERT(after.value == before.value);
  for (size_t p = 0; p < before.pipelines.size(); ++p) {
    const Pipeline &old = before.pipelines[p], &now = after.pipelines[p];
    RC_ASSERT(now.throughput == old.throughput);
    for (size_t i = 0; i < old.stages.size(); ++i) {
      RC_ASSERT(StageRate(cluster, now, i) >= StageRate(cluster, old, i) * (1 - 1e-6));
      RC_ASSERT(now.stages[i].Batch() == old.stages[i].Batch());
      for (size_t b = 0; b < old.stages[i].latency_us.size(); ++b) {
        RC_ASSERT(now.stages[i].latency_us[b] <= old.stages[i].latency_us[b]);
      }
    }
  }
  for (int c = 0; c < static_cast<int>(cluster.classes.size()); ++c) {
    const bool used = before.GpusUsed(c) > 0;
    RC_ASSERT(after.GpusUsed(c) == (used ? cluster.Gpus(c) : 0));
  }
}

// Two slow GPUs as four halves feed the fast one at its rate; six are idle, and whole ones have a batch done sooner.
TEST(SpendSlack, GivesIdleGpusAndDividesLess) {
  const Cluster cluster = MakeCluster({{"fast"}, {"slow", 2}}, {1, 8});
  ModelProfile net{"net", {1000, 0}, {}};
  net.vgpus = {{"fast", 1, {{100, 100}}}, {"slow", 1, {{250, 9000}}}, {"slow", 2, {{400, 9000}}}};
  const std::vector<Demand> demands = {{&net, 1000, 0, 1, 0.0}};
  Plan plan = *MakePlan(cluster, demands, {});
  ASSERT_EQ(plan.pipelines.size(), 1u);
  const Stage& slow = plan.pipelines[0].stages[0];
  EXPECT_EQ(slow.vgpus_per_gpu, 2);
  EXPECT_EQ(slow.vgpus, 4);
  SpendSlack(demands, plan);
  EXPECT_EQ(slow.vgpus_per_gpu, 1);
  EXPECT_EQ(slow.vgpus, 8);
  EXPECT_DOUBLE_EQ(slow.latency_us[0], 250);
  EXPECT_DOUBLE_EQ(plan.value, 10'000);
  EXPECT_EQ(CheckPlan(plan, {&net, 1}), absl::OkStatus());
  // By itself the division stays: three whole GPUs would do, two do not.
  Plan tight = *MakePlan(MakeCluster({{"fast"}, {"slow", 2}}, {1, 2}), demands, {});
  const Plan before = tight;
  SpendSlack(demands, tight);
  EXPECT_EQ(tight, before);
}

}  // namespace
}  // namespace wharf::pipeline
