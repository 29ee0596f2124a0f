#include "wharf/pipeline/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "wharf/pipeline/planner/testing.h"

namespace wharf::pipeline {
namespace {

using ::testing::HasSubstr;

// Four slow GPUs in front of a fast one, the link between them as narrow as the stages are fast.
class CheckerTest : public ::testing::Test {
 protected:
  CheckerTest() {
    const Cluster cluster = MakeCluster({{"fast", 1, 3}, {"slow"}}, {1, 4});
    profiles = {MakeProfile(cluster, {{100, 100}, {400, 2000}}, {100'000, 0})};
    const std::vector<Demand> demands = {{&profiles[0], 1000, 300, 1, 0.0}};
    plan = *MakePlan(cluster, demands, {});
  }
  // What is said of the plan after `change`.
  std::string Complaint(const std::function<void(Plan&)>& change,
                        absl::StatusCode code = absl::StatusCode::kFailedPrecondition) const {
    Plan changed = plan;
    change(changed);
    const absl::Status status = CheckPlan(changed, profiles);
    EXPECT_EQ(status.code(), code);
    return std::string(Message(status));
  }

  std::vector<ModelProfile> profiles;
  Plan plan;
};

TEST_F(CheckerTest, APlanAsMadeIsFine) {
  EXPECT_EQ(plan.pipelines.size(), 1u);
  EXPECT_EQ(plan.pipelines[0].stages.size(), 2u);
  EXPECT_EQ(CheckPlan(plan, profiles), absl::OkStatus());
}

TEST_F(CheckerTest, EveryBrokenPromiseIsNamed) {
  const auto front = [](Plan& changed) -> Stage& { return changed.pipelines[0].stages[0]; };
  EXPECT_THAT(Complaint([&](Plan& changed) { front(changed).latency_us[0] = 399; }), HasSubstr("says 399.0 µs"));
  EXPECT_THAT(Complaint([&](Plan& changed) { front(changed).output_bytes = 1; }), HasSubstr("sends 1 bytes"));
  EXPECT_THAT(Complaint([&](Plan& changed) { front(changed).transfer_us = 1; }), HasSubstr("for a transfer of"));
  EXPECT_THAT(Complaint([](Plan& changed) { changed.models[0].margin_us = 500; }), HasSubstr("more than the SLO"));
  EXPECT_THAT(Complaint([&](Plan& changed) { front(changed).vgpus = 3; }), HasSubstr("its slowest stage makes 7500"));
  EXPECT_THAT(Complaint([](Plan& changed) { changed.pipelines[0].throughput *= 1.01; }), HasSubstr("promises 10100"));
  EXPECT_THAT(Complaint([](Plan& changed) { changed.models[0].throughput -= 1; }), HasSubstr("its pipelines"));
  EXPECT_THAT(Complaint([](Plan& changed) { changed.value += 1; }), HasSubstr("the value is 10000.000, not 10001.000"));
  EXPECT_THAT(Complaint([](Plan& changed) { changed.bound /= 2; }), HasSubstr("out of order"));
  EXPECT_THAT(Complaint([](Plan& changed) { changed.linear_bound /= 2; }), HasSubstr("out of order"));
}

TEST_F(CheckerTest, ANarrowLinkBoundsTheThroughput) {
  const auto narrow = [](Plan& changed) {
    changed.cluster.hosts[0].link_bits_per_s = 7.9e9;  // 10 000 times 100 000 bytes are 8 Gbit
    changed.pipelines[0].stages[0].transfer_us = 100'000 * 8 / 7.9e3;
  };
  EXPECT_THAT(Complaint(narrow), HasSubstr("its slowest stage makes 9875"));
}

TEST_F(CheckerTest, AnUnknownModelIsNoBrokenPromise) {
  EXPECT_THAT(Complaint([](Plan& changed) { changed.models[0].name = "other"; }, absl::StatusCode::kInvalidArgument),
              HasSubstr("there is no profile of other"));
  EXPECT_THAT(
      Complaint([](Plan& changed) { changed.pipelines[0].stages[1].vgpus = 2; }, absl::StatusCode::kInvalidArgument),
      HasSubstr("2 virtual GPUs of the 1"));
}

TEST_F(CheckerTest, OfLeastCostEveryModelHasItsRate) {
  const auto short_of = [](Plan& changed) {
    changed.objective = Objective::kCost;
    changed.models[0].weight = 10'001;
    changed.value = 7;
    changed.bound = changed.linear_bound = 6;
  };
  EXPECT_THAT(Complaint(short_of), HasSubstr("gets 10000.000 of 10001.000"));
}

}  // namespace
}  // namespace wharf::pipeline
