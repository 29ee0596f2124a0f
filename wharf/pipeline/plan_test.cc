#include "wharf/pipeline/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

namespace wharf::pipeline {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// Two models on hc3-small: one cut in two, one whole.
Plan SomePlan() {
  Plan plan;
  plan.cluster = *BuiltInCluster("hc3-small");
  plan.models = {{"fcn", 10, 33'300, 13'320, 0.4, 700, 1050}, {"gfl", 9, 100'000, 40'000, 0.6, 0, 40}};
  Stage front{0, 6, 1, 1, 11, {9'000, 17'000}, 1'050'000, 2'800};
  Stage back{6, 10, 0, 3, 6, {5'000, 9'000}, 0, 0};
  plan.pipelines.push_back({0, 2, {front, back}, 1050});
  plan.pipelines.push_back({1, 1, {{0, 9, 0, 2, 3, {50'000}, 0, 0}}, 40});
  plan.value = 66.6;
  plan.bound = 70;
  plan.linear_bound = 71;
  plan.solve_s = 0.01;
  return plan;
}

std::string ComplaintOf(std::string_view text) {
  const auto plan = ParsePlan(text);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(Message(plan.status()));
  EXPECT_EQ(message.find('\n'), std::string::npos);
  return message;
}

// What ParsePlan says of SomePlan after `change`.
std::string Complaint(const std::function<void(json&)>& change) {
  json object = json::parse(ToJson(SomePlan()));
  change(object);
  return ComplaintOf(object.dump());
}

std::string StructureComplaint(const std::function<void(Plan&)>& change) {
  Plan plan = SomePlan();
  change(plan);
  const absl::Status status = CheckStructure(plan);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(Message(status));
}

TEST(PlanTest, JsonKeepsEverything) {
  Plan plan = SomePlan();
  const auto parsed = ParsePlan(ToJson(plan));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, plan);
  plan.objective = Objective::kCost;
  EXPECT_EQ(ParsePlan(ToJson(plan))->objective, Objective::kCost);
}

TEST(PlanTest, StagesMayHaveSmallerBatches) {
  Plan plan = SomePlan();
  EXPECT_TRUE(plan.pipelines[0].HasUnifiedBatches());
  plan.pipelines[0].stages[1].latency_us.pop_back();
  EXPECT_FALSE(plan.pipelines[0].HasUnifiedBatches());
  EXPECT_EQ(CheckStructure(plan), absl::OkStatus());
  EXPECT_EQ(*ParsePlan(ToJson(plan)), plan);
}

TEST(PlanTest, GpusAreCountedByClass) {
  EXPECT_EQ(SomePlan().GpusUsed(0), 4);
  EXPECT_EQ(SomePlan().GpusUsed(1), 11);
}

TEST(PlanTest, TheGapIsAShareOfTheBetterOne) {
  Plan plan = SomePlan();
  plan.value = 63;
  EXPECT_DOUBLE_EQ(plan.Gap(), 0.1);
  plan.objective = Objective::kCost;
  EXPECT_DOUBLE_EQ(plan.Gap(), 0) << "cheaper than the bound";
  plan.value = 140;
  EXPECT_DOUBLE_EQ(plan.Gap(), 0.5);
}

TEST(PlanTest, BatchesWaitForTheirFurtherRequests) {
  const ServedModel model = SomePlan().models[0];
  EXPECT_EQ(model.BatchBuildingUs(1), 0);
  EXPECT_DOUBLE_EQ(model.BatchBuildingUs(3), 1.3 * 2e6 / 700);
  EXPECT_DOUBLE_EQ(model.BudgetUs(3), 33'300 - 13'320 - 1.3 * 2e6 / 700);
  EXPECT_EQ(SomePlan().models[1].BatchBuildingUs(8), 0) << "no rate expected";
}

TEST(PlanTest, MistakesInTextGetOneLine) {
  EXPECT_THAT(ComplaintOf(""), HasSubstr("no JSON of a plan"));
  EXPECT_THAT(ComplaintOf("[]"), HasSubstr("the plan is no object"));
  EXPECT_THAT(ComplaintOf(std::string(100, '[')), HasSubstr("no JSON"));
  EXPECT_THAT(Complaint([](json& plan) { plan["more"] = 1; }), HasSubstr("has 10 members, not 9"));
  EXPECT_THAT(Complaint([](json& plan) { plan["format"] = "x"; }), HasSubstr("the format is \"x\""));
  EXPECT_THAT(Complaint([](json& plan) { plan["objective"] = "x"; }), HasSubstr("the objective is \"x\""));
  EXPECT_THAT(Complaint([](json& plan) { plan["value"] = "1"; }), HasSubstr("\"value\" of the plan is no number"));
  EXPECT_THAT(Complaint([](json& plan) { plan["pipelines"] = 1; }), HasSubstr("no array \"pipelines\""));
  EXPECT_THAT(Complaint([](json& plan) { plan["pipelines"][0]["batch"] = -1; }),
              HasSubstr("\"batch\" of pipelines[0] is no whole number"));
  EXPECT_THAT(Complaint([](json& plan) { plan["pipelines"][0]["batch"] = 1.5; }), HasSubstr("\"batch\""));
  EXPECT_THAT(Complaint([](json& plan) { plan["pipelines"][0]["stages"][0].erase("vgpus"); }),
              HasSubstr("stages[0] has 7 members"));
  EXPECT_THAT(Complaint([](json& plan) { plan["pipelines"][0]["stages"][0]["latency_us"][0] = "x"; }),
              HasSubstr("\"latency_us\" of stages[0]"));
  EXPECT_THAT(Complaint([](json& plan) { plan["cluster"]["hosts"][0]["class"] = 7; }), HasSubstr("the plan's cluster"));
  EXPECT_THAT(Complaint([](json& plan) { plan["models"][0]["name"] = 3; }), HasSubstr("models[0] has no text"));
}

TEST(PlanTest, WhatDoesNotHoldTogetherIsRefused) {
  const auto stage = [](Plan& plan) -> Stage& { return plan.pipelines[0].stages[0]; };
  EXPECT_THAT(StructureComplaint([](Plan& plan) { plan.models.clear(); }), HasSubstr("0 models"));
  EXPECT_THAT(StructureComplaint([](Plan& plan) { plan.models[1].blocks = 0; }), HasSubstr("gfl has 0 blocks"));
  EXPECT_THAT(StructureComplaint([](Plan& plan) { plan.models[1].weight = 0; }), HasSubstr("gfl is out of range"));
  EXPECT_THAT(StructureComplaint([](Plan& plan) { plan.pipelines[1].model = 2; }),
              HasSubstr("pipeline 1 is of a model"));
  EXPECT_THAT(StructureComplaint([](Plan& plan) { plan.pipelines[0].batch = 0; }), HasSubstr("batches of 0"));
  EXPECT_THAT(StructureComplaint([](Plan& plan) { plan.pipelines[0].stages.clear(); }), HasSubstr("0 stages"));
  EXPECT_THAT(StructureComplaint([](Plan& plan) { plan.pipelines[0].throughput = -1; }), HasSubstr("throughput"));
  EXPECT_THAT(StructureComplaint([](Plan& plan) { plan.pipelines[0].stages.pop_back(); }),
              HasSubstr("ends at block 6"));
  EXPECT_THAT(StructureComplaint([&](Plan& plan) { stage(plan).first_block = 1; }), HasSubstr("block 0 comes next"));
  EXPECT_THAT(StructureComplaint([&](Plan& plan) { stage(plan).end_block = 0; }), HasSubstr("block 0 comes next"));
  EXPECT_THAT(StructureComplaint([&](Plan& plan) { stage(plan).gpu_class = 2; }), HasSubstr("class that is not there"));
  EXPECT_THAT(StructureComplaint([&](Plan& plan) { stage(plan).vgpus_per_gpu = 2; }), HasSubstr("divides a P4 in 2"));
  EXPECT_THAT(StructureComplaint([&](Plan& plan) { stage(plan).vgpus = 13; }), HasSubstr("13 virtual GPUs of the 12"));
  EXPECT_THAT(StructureComplaint([](Plan& plan) { plan.pipelines[1].stages[0].vgpus = 5; }), HasSubstr("uses 5 GPUs"));
  const auto shorten = [](Plan& plan) {
    for (Stage& each : plan.pipelines[0].stages) each.latency_us.pop_back();
  };
  EXPECT_THAT(StructureComplaint(shorten), HasSubstr("no stage with batches of 2"));
  EXPECT_THAT(StructureComplaint([&](Plan& plan) { stage(plan).latency_us.push_back(9000); }),
              HasSubstr("1 to 2 of them at most"));
  EXPECT_THAT(StructureComplaint([&](Plan& plan) { stage(plan).latency_us.clear(); }),
              HasSubstr("1 to 2 of them at most"));
  EXPECT_THAT(StructureComplaint([&](Plan& plan) { stage(plan).latency_us[1] = 0; }), HasSubstr("a latency above 0"));
  EXPECT_THAT(StructureComplaint([&](Plan& plan) { stage(plan).transfer_us = -1; }), HasSubstr("transfer"));
  EXPECT_THAT(StructureComplaint([](Plan& plan) { plan.pipelines[1].stages[0].output_bytes = 1; }),
              HasSubstr("behind its last stage"));
}

}  // namespace
}  // namespace wharf::pipeline
