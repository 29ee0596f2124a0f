#include "wharf/cli/pipeline/example_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wharf/pipeline/checker.h"
#include "wharf/pipeline/planner/model_list.h"
#include "wharf/pipeline/planner/planner.h"

namespace wharf::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Two blocks of `us` each, for single requests on whole GPUs of each class.
pipeline::ModelProfile Measured(const std::string& model, const std::vector<std::pair<std::string, double>>& classes) {
  pipeline::ModelProfile profile{model, {1000, 0}, {}};
  for (const auto& [name, us] : classes) profile.vgpus.push_back({name, 1, {{us, us}}});
  return profile;
}

pipeline::Plan PlanWith(const ExampleFiles& files, const std::vector<pipeline::ModelProfile>& profiles) {
  const auto cluster = pipeline::ParseCluster(files.cluster);
  const auto list = pipeline::ParseModelList(files.models);
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  EXPECT_TRUE(list.ok()) << list.status();
  if (!cluster.ok() || !list.ok()) return {};
  const auto demands = pipeline::MakeDemands(*list, profiles);
  EXPECT_TRUE(demands.ok()) << demands.status();
  const auto plan = pipeline::MakePlan(*cluster, *demands, {});
  EXPECT_TRUE(plan.ok()) << plan.status();
  if (!plan.ok()) return {};
  EXPECT_TRUE(pipeline::CheckPlan(*plan, profiles).ok());
  return *plan;
}

TEST(ExampleFilesTest, WhatWharfBringsCanBePlannedAsItIs) {
  const auto profiles = pipeline::LoadModelProfiles(WHARF_PIPELINE_DATA);
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  const auto files = MakeExampleFiles(*profiles, WHARF_PIPELINE_DATA);
  ASSERT_TRUE(files.ok()) << files.status();
  const pipeline::Plan plan = PlanWith(*files, *profiles);
  EXPECT_EQ(plan.models.size(), 2u);
  EXPECT_GT(plan.value, 0);
  EXPECT_EQ(pipeline::ParseModelList(files->models)->profiles, WHARF_PIPELINE_DATA);
}

TEST(ExampleFilesTest, TheFastestAndTheSlowestClassAreThere) {
  const std::vector<pipeline::ModelProfile> profiles = {Measured("net", {{"slow", 9}, {"fast", 1}, {"middle", 3}})};
  const auto files = MakeExampleFiles(profiles, "lab");
  ASSERT_TRUE(files.ok()) << files.status();
  const pipeline::Plan plan = PlanWith(*files, profiles);
  ASSERT_EQ(plan.cluster.classes.size(), 2u);
  EXPECT_EQ(plan.cluster.classes[0].name, "fast");
  EXPECT_EQ(plan.cluster.classes[1].name, "slow");
  EXPECT_THAT(files->cluster, HasSubstr("Measured: fast, middle, slow."));
}

TEST(ExampleFilesTest, OneClassAndNamesThatYamlWouldTakeForSomethingElse) {
  const std::string folder = "it's: a #folder";
  const std::vector<pipeline::ModelProfile> profiles = {Measured("a: model's", {{"1.0", 5}}),
                                                        Measured("b", {{"1.0", 5}}), Measured("- c", {{"1.0", 5}})};
  const auto files = MakeExampleFiles(profiles, folder);
  ASSERT_TRUE(files.ok()) << files.status();
  const pipeline::Plan plan = PlanWith(*files, profiles);
  ASSERT_EQ(plan.models.size(), 2u);
  EXPECT_EQ(plan.models[0].name, "a: model's");
  EXPECT_EQ(plan.cluster.classes.size(), 1u);
  EXPECT_EQ(pipeline::ParseModelList(files->models)->profiles, folder);
  EXPECT_THAT(files->models, HasSubstr("#  - name: '- c'"));
}

TEST(ExampleFilesTest, ThereMustBeSomethingToPlanWith) {
  EXPECT_EQ(MakeExampleFiles({}, "lab").status().code(), absl::StatusCode::kInvalidArgument);
  const std::vector<pipeline::ModelProfile> nowhere = {Measured("net", {})};
  EXPECT_EQ(MakeExampleFiles(nowhere, "lab").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace wharf::cli
