#include "wharf/cli/pipeline/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace wharf::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// One model cut in two on hc3-small.
pipeline::Plan SomePlan() {
  pipeline::Plan plan;
  plan.cluster = *pipeline::BuiltInCluster("hc3-small");
  plan.models = {{"fcn_r101", 10, 33'300, 13'320, 0.5, 700, 1050}};
  plan.pipelines = {{0, 1, {{0, 6, 1, 1, 11, {9'000}, 1'050'000, 1'400}, {6, 10, 0, 2, 6, {5'000}}}, 1050}};
  plan.value = plan.bound = 2100;
  plan.linear_bound = 2200;
  plan.solve_s = 0.0125;
  return plan;
}

TEST(PipelineTablesTest, APlanShowsPoolsCutsAndBounds) {
  const std::string text = PlanAsText(SomePlan());
  EXPECT_THAT(text, HasSubstr("0–5"));
  EXPECT_THAT(text, HasSubstr("11 P4"));
  EXPECT_THAT(text, HasSubstr("6–9"));
  EXPECT_THAT(text, HasSubstr("3 V100 as 6 × 1/2"));
  EXPECT_THAT(text, HasSubstr("1.40"));
  EXPECT_THAT(text, HasSubstr("1050.0"));
  EXPECT_THAT(text, HasSubstr("3 of 4 V100, 11 of 12 P4 in use"));
  EXPECT_THAT(text, HasSubstr("least throughput / weight 2100.0 requests/s, which is the best there is"));
  EXPECT_THAT(text, HasSubstr("not above 2200.0 even if"));
}

TEST(PipelineTablesTest, AGapIsNotCalledTheBest) {
  pipeline::Plan plan = SomePlan();
  plan.bound = 2200;
  EXPECT_THAT(PlanAsText(plan), HasSubstr("at most 4.55 % from the best there is (bound 2200.0)"));
  EXPECT_THAT(PlanAsText(plan), Not(HasSubstr("which is the best")));
}

TEST(PipelineTablesTest, ACostIsCalledOne) {
  pipeline::Plan plan = SomePlan();
  plan.objective = pipeline::Objective::kCost;
  plan.value = plan.bound = 14;
  plan.linear_bound = 13.2;
  EXPECT_THAT(PlanAsText(plan), HasSubstr("cost 14, which is the best there is"));
  EXPECT_THAT(PlanAsText(plan), HasSubstr("not below 13.2"));
}

TEST(PipelineTablesTest, AComparisonSumsUp) {
  const std::vector<ComparedPlan> compared = {{"v4", 2000, SomePlan()}, {"bl", 2100, SomePlan()}};
  const std::string text = ComparisonAsText(compared, false);
  EXPECT_THAT(text, HasSubstr("1.0500"));
  EXPECT_THAT(text, HasSubstr("2 cases; least ours/published 1.0000; largest gap 0.00 %"));
  EXPECT_THAT(text, HasSubstr("12.5 ms on average"));
  EXPECT_THAT(ComparisonAsText(compared, true), HasSubstr("| v4 | hc3-small | fcn | 2000.0 |"));
}

TEST(PipelineTablesTest, JsonRowsAreFlat) {
  const auto rows = nlohmann::json::parse(ComparisonAsJson({{"v4", 2000, SomePlan()}}));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["dnns"], "fcn_r101");
  EXPECT_EQ(rows[0]["weights"], "0.5");
  EXPECT_EQ(rows[0]["algorithm"], "v4");
  EXPECT_EQ(rows[0]["ratio"], 1.05);
  EXPECT_EQ(rows[0]["planned_xput"], 2100);
  EXPECT_EQ(rows[0]["bound_xput"], 2100);
  EXPECT_EQ(rows[0]["gap"], 0);
  EXPECT_EQ(rows[0]["linear_bound_xput"], 2200);
}

}  // namespace
}  // namespace wharf::cli
