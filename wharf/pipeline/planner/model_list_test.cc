#include "wharf/pipeline/planner/model_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wharf/pipeline/planner/testing.h"

namespace wharf::pipeline {
namespace {

using ::testing::HasSubstr;

std::string Complaint(std::string_view yaml) {
  const auto list = ParseModelList(yaml);
  EXPECT_EQ(list.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(Message(list.status()));
}

TEST(ModelListTest, WhatIsNotSaidIsAsInTheThesis) {
  const auto list = ParseModelList("profiles: data\nmodels: [{name: net}, {name: other, weight: 2, slo_ms: 7}]");
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->profiles, "data");
  EXPECT_EQ(list->slo_scale, 5);
  EXPECT_EQ(list->margin, 0.4);
  ASSERT_EQ(list->models.size(), 2u);
  EXPECT_EQ(list->models[0].weight, 1);
  EXPECT_EQ(list->models[0].slo_us, std::nullopt);
  EXPECT_EQ(list->models[1].weight, 2);
  EXPECT_EQ(list->models[1].slo_us, 7'000);
}

TEST(ModelListTest, DemandsScaleTheFastestGpu) {
  const Cluster cluster = MakeCluster({{"fast"}, {"slow"}}, {1, 1});
  const std::vector<ModelProfile> profiles = {MakeProfile(cluster, {{10, 20}, {100, 200}}, {1000, 0})};
  ModelList list{"data", 4, 0.25, {{"net", 3, std::nullopt, 55.0}}};
  const auto scaled = MakeDemands(list, profiles);
  ASSERT_TRUE(scaled.ok()) << scaled.status();
  EXPECT_EQ(scaled->front().profile, &profiles[0]);
  EXPECT_EQ(scaled->front().slo_us, 120);
  EXPECT_EQ(scaled->front().margin_us, 30);
  EXPECT_EQ(scaled->front().weight, 3);
  EXPECT_EQ(scaled->front().expected_rate, 55);
  list.models[0].slo_us = 1'000;
  EXPECT_EQ(MakeDemands(list, profiles)->front().slo_us, 1'000);
  list.models[0].name = "unknown";
  const absl::Status unknown = MakeDemands(list, profiles).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(Message(unknown)), HasSubstr("there are: net"));
}

TEST(ModelListTest, MistakesGetOneLine) {
  EXPECT_THAT(Complaint("models: []"), HasSubstr("has no \"profiles\""));
  EXPECT_THAT(Complaint("profiles: data"), HasSubstr("no list \"models\""));
  EXPECT_THAT(Complaint("profiles: data\nmodels: []"), HasSubstr("empty"));
  EXPECT_THAT(Complaint("profiles: data\nmodels: [net]"), HasSubstr("models[0] of the list of models is no map"));
  EXPECT_THAT(Complaint("profiles: data\nmodels: [{name: net, slo: 3}]"), HasSubstr("\"slo\", which is none of"));
  EXPECT_THAT(Complaint("profiles: data\nmodels: [{name: net, slo_ms: 0}]"), HasSubstr("\"slo_ms\""));
  EXPECT_THAT(Complaint("profiles: data\nmodels: [{name: net, weight: -1}]"), HasSubstr("\"weight\""));
  EXPECT_THAT(Complaint("profiles: data\nmodels: [{name: net}, {name: net}]"), HasSubstr("net is there twice"));
  EXPECT_THAT(Complaint("profiles: data\nmargin: 1\nmodels: [{name: net}]"), HasSubstr("the margin is 1"));
  EXPECT_THAT(Complaint("profiles: data\nslo_scale: 0\nmodels: [{name: net}]"), HasSubstr("\"slo_scale\""));
}

}  // namespace
}  // namespace wharf::pipeline
