#include "wharf/pipeline/dataplane/deployment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace wharf::pipeline {
namespace {

using std::chrono::microseconds;

// Two hosts of two fast GPUs each and four hosts of one slow GPU; two pipelines whose second stages are fast.
Plan SmallPlan() {
  Plan plan;
  plan.cluster = {"lab", {{"L4", 4}, {"P4"}}, {{0, 2, 2, 10e9}, {1, 4, 1, 6e9}}};
  plan.models = {{.name = "a", .blocks = 2, .slo_us = 100'000, .weight = 0.25, .throughput = 100},
                 {.name = "b", .blocks = 2, .slo_us = 50'000, .weight = 0.75, .throughput = 200}};
  plan.pipelines = {{0, 2, {{0, 1, 1, 1, 2, {900, 1000}, 4000, 10}, {1, 2, 0, 2, 4, {500, 400}}}, 100},
                    {1, 1, {{0, 1, 1, 1, 2, {700}, 100, 1}, {1, 2, 0, 1, 2, {300}}}, 200}};
  return plan;
}

TEST(Deploy, PutsEveryStagesGpusOnHostsOfItsClass) {
  const auto deployment = Deploy(SmallPlan());
  ASSERT_TRUE(deployment.ok()) << deployment.status();
  ASSERT_EQ(deployment->hosts.size(), 6u);
  EXPECT_EQ(deployment->pipelines[0].stages[1].vgpus.size(), 4u);
  std::map<int, double> used;  // GPUs, by host
  for (const DeployedPipeline& pipeline : deployment->pipelines) {
    for (size_t s = 0; s < pipeline.stages.size(); ++s) {
      for (const int vgpu : pipeline.stages[s].vgpus) {
        EXPECT_EQ(deployment->vgpus[vgpu].gpu_class, s == 0 ? 1 : 0);
        used[deployment->vgpus[vgpu].host] += deployment->vgpus[vgpu].share;
      }
    }
  }
  EXPECT_EQ(used, (std::map<int, double>{{0, 2}, {1, 2}, {2, 1}, {3, 1}, {4, 1}, {5, 1}}));
}

TEST(Deploy, SpreadsTheHeaviestTraffic) {
  const auto deployment = Deploy(SmallPlan());
  ASSERT_TRUE(deployment.ok());
  std::vector<int> hosts;
  for (const int vgpu : deployment->pipelines[0].stages[1].vgpus) hosts.push_back(deployment->vgpus[vgpu].host);
  EXPECT_THAT(hosts, testing::ElementsAre(0, 0, 1, 1));  // two virtual GPUs of one GPU in each host
}

TEST(Deploy, InOrderAHostIsFilledBeforeTheNext) {
  const auto deployment = Deploy(SmallPlan(), Placement::kInOrder);
  ASSERT_TRUE(deployment.ok());
  std::vector<int> hosts;
  for (const int vgpu : deployment->pipelines[0].stages[1].vgpus) hosts.push_back(deployment->vgpus[vgpu].host);
  EXPECT_THAT(hosts, testing::ElementsAre(0, 0, 0, 0));  // both GPUs of the first host
}

TEST(Deploy, TakesTimesAndRatesFromThePlan) {
  const auto deployment = Deploy(SmallPlan());
  ASSERT_TRUE(deployment.ok());
  EXPECT_THAT(deployment->pipelines[0].stages[0].compute, testing::ElementsAre(microseconds(900), microseconds(1000)));
  // What was measured shorter for two than for one cannot be relied on.
  EXPECT_THAT(deployment->pipelines[0].stages[1].compute, testing::ElementsAre(microseconds(500), microseconds(500)));
  EXPECT_EQ(deployment->pipelines[0].stages[1].input_bytes, 4000);
  EXPECT_EQ(deployment->models[1].slo, microseconds(50'000));
  EXPECT_NEAR(deployment->models[0].planned_rate, 200 / 0.75 * 0.25, 1e-9);
  EXPECT_NEAR(deployment->models[1].planned_rate, 200, 1e-9);
}

// Three quarters of one stage and one of another make the GPU that there is; the second half of it is nobody's.
TEST(Deploy, StagesOfAModelShareAGpu) {
  Plan plan;
  plan.cluster = {"lab", {{"L4", 4}}, {{0, 1, 2, 10e9}}};
  plan.models = {{.name = "a", .blocks = 2, .slo_us = 100'000, .weight = 1, .throughput = 100}};
  plan.pipelines = {{0, 1, {{0, 1, 0, 4, 3, {900}, 4000, 10}, {1, 2, 0, 4, 1, {500}}}, 60},
                    {0, 1, {{0, 2, 0, 2, 1, {3000}}}, 40}};
  const auto deployment = Deploy(plan);
  ASSERT_TRUE(deployment.ok()) << deployment.status();
  ASSERT_EQ(deployment->vgpus.size(), 5u);
  std::map<int, double> used;  // of each GPU
  for (const VirtualGpu& vgpu : deployment->vgpus) used[vgpu.gpu] += vgpu.share;
  ASSERT_EQ(used.size(), 2u);
  EXPECT_DOUBLE_EQ(used[0] + used[1], 1.5);
  EXPECT_LE(std::max(used[0], used[1]), 1);
  plan.cluster.hosts[0].gpus_per_host = 1;
  EXPECT_EQ(Deploy(plan).status().code(), absl::StatusCode::kInvalidArgument) << "one GPU is too few";
}

TEST(Deploy, RefusesAPlanThatDoesNotHoldTogether) {
  Plan plan = SmallPlan();
  plan.pipelines[0].stages[0].vgpus = 3;
  EXPECT_EQ(Deploy(plan).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Deployment, TransfersTakeWhatTheSlowerLinkTakes) {
  const auto deployment = Deploy(SmallPlan());
  ASSERT_TRUE(deployment.ok());
  EXPECT_EQ(deployment->TransferTime(2, 0, 6e6), std::chrono::milliseconds(8));
  EXPECT_EQ(deployment->TransferTime(0, 0, 6e6).count(), 0);
}

}  // namespace
}  // namespace wharf::pipeline
