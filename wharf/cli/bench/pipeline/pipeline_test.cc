#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "wharf/cli/bench/pipeline/real.h"
#include "wharf/cli/bench/pipeline/report.h"
#include "wharf/cli/bench/pipeline/times.h"
#include "wharf/cli/bench/pipeline/unification.h"

namespace wharf::cli {
namespace {

using testing::HasSubstr;

// One model of two blocks: early ones are as fast on the slow class, late ones are not.
pipeline::ModelProfile TwoBlocks() {
  pipeline::ModelProfile profile{"tiny", {1'000'000, 0}, {}};
  profile.vgpus.push_back({"L4", 1, {{4000, 4000}, {6000, 6000}}});
  profile.vgpus.push_back({"P4", 1, {{5000, 40'000}, {8000, 80'000}}});
  return profile;
}

PipelineCase SmallCase(const pipeline::ModelProfile& profile, double slo_us) {
  PipelineCase one;
  one.cluster = {"lab", {{"L4"}, {"P4"}}, {{0, 2, 1, 10e9}, {1, 4, 1, 10e9}}};
  one.demands = {{&profile, slo_us, 0.4 * slo_us, 1, std::nullopt}};
  return one;
}

pipeline::LoadSearch ShortSearch() {
  pipeline::LoadSearch search;
  search.seconds = 5;
  search.seeds = 1;
  return search;
}

PipelineAlgorithm Algorithm(const char* name) { return *ParsePipelineAlgorithm(name); }

TEST(PipelineAlgorithm, IsAnAlgorithmWithVariants) {
  EXPECT_EQ(Algorithm("np").mode, pipeline::Mode::kNoPartitioning);
  EXPECT_EQ(Algorithm("dart-r+uncut-sharing").sharing, pipeline::Sharing::kFastestAsUncut);
  EXPECT_FALSE(Algorithm("ours+whole-gpus").share_gpus);
  const PipelineAlgorithm basic = Algorithm("reactive+own-batches+undivided");
  EXPECT_FALSE(basic.unify_batches);
  EXPECT_FALSE(basic.divide_gpus);
  EXPECT_TRUE(Algorithm("ours+slack").spend_slack);
  const PipelineAlgorithm reactive = Algorithm("reactive+in-order+idle-only+packed+eager");
  EXPECT_EQ(reactive.scheduler, pipeline::SchedulerKind::kReactive);
  EXPECT_EQ(reactive.rules.choice, pipeline::ReactiveRules::Choice::kInOrder);
  EXPECT_EQ(reactive.rules.ahead, 1);
  EXPECT_FALSE(reactive.rules.waits);
  EXPECT_EQ(reactive.placement, pipeline::Placement::kInOrder);
}

TEST(PipelineAlgorithm, HasNoOtherNamesThanItsOwn) {
  for (const char* name : {"", "oracle", "ours+in-order", "np+uncut-sharing", "np+whole-gpus", "dart-r+own-batches",
                           "np+slack", "reactive+", "reactive+fast"}) {
    EXPECT_EQ(ParsePipelineAlgorithm(name).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

TEST(PipelineCase, ServesMoreWherePartsRunOnSlowGpus) {
  const pipeline::ModelProfile profile = TwoBlocks();
  const auto rows = RunPipelineCase(SmallCase(profile, 50'000), {Algorithm("np"), Algorithm("ours")}, ShortSearch());
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 2u);
  const PipelineBenchRow &np = (*rows)[0], &ours = (*rows)[1];
  EXPECT_EQ(ours.algorithm, "ours");
  EXPECT_GT(ours.planned_xput, 1.3 * np.planned_xput);
  EXPECT_GT(ours.max_load_factor_99, 1.2 * np.max_load_factor_99);
  EXPECT_GT(ours.util_low, np.util_low);
  EXPECT_LE(ours.max_load_factor_99, 1.2);  // of the plan itself: rounding leaves it a little room
}

TEST(PipelineCase, AnSloThatCannotBeMetIsARowOfNothing) {
  const pipeline::ModelProfile profile = TwoBlocks();
  const auto rows = RunPipelineCase(SmallCase(profile, 5000), {Algorithm("ours")}, ShortSearch());
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ((*rows)[0].planned_xput, 0);
  EXPECT_EQ((*rows)[0].max_load_factor_99, 0);
}

// The fast GPU takes as long for two as for one, the slow ones do not, and there is no time for two on them.
TEST(PipelineUnification, CostsWhereStagesWantOtherBatches) {
  pipeline::ModelProfile profile{"tiny", {1000, 0}, {}};
  profile.vgpus.push_back({"L4", 1, {{4000, 2000}, {8000, 2000}}});
  profile.vgpus.push_back({"P4", 1, {{2000, 40'000}, {4000, 80'000}}});
  PipelineCase one = SmallCase(profile, 8500);
  one.cluster.hosts[0].hosts = 1;
  one.demands[0].expected_rate = 0;
  const auto row = PlanUnification(one);
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_THAT(row->planned, testing::ElementsAre(testing::DoubleEq(500), testing::DoubleEq(1000),
                                                 testing::DoubleEq(500), testing::DoubleEq(1000)));
  EXPECT_THAT(row->proven, testing::Each(true));
  const std::string means = UnificationMeansAsTable({*row, {"lab", "none", {}}}).Markdown();
  EXPECT_THAT(means, HasSubstr("| lab | one batch size | 1 | 100.0 % | 0 | 0 |"));
  EXPECT_THAT(means, HasSubstr("|  | own batch sizes (4.A) |  | 200.0 % | 1 | 0 |"));
  const auto json = nlohmann::json::parse(UnificationAsJson({*row}));
  ASSERT_EQ(json.size(), 4u);
  EXPECT_EQ(json[1]["planned_xput"], 1000);
  EXPECT_EQ(json[1]["unify_batches"], false);
}

std::vector<PipelineBenchRow> TwoGroups() {
  std::vector<PipelineBenchRow> rows;
  for (const char* dnns : {"a|b", "c|d"}) {
    PipelineBenchRow row{"", dnns, "0.5-0.5", "hc1", "np", 600, 600, 0, 0.1, 0.5, {0.4, 0.6}, 0.1, 0.9};
    rows.push_back(row);
    row.algorithm = "ours";
    row.planned_xput = 1000;
    row.max_load_factor_99 = dnns[0] == 'a' ? 0.9 : 1.0;
    row.util_low = 0.8;
    rows.push_back(row);
  }
  return rows;
}

TEST(PipelineReport, JsonRowsAreFlatAndNamedAsAskedFor) {
  const auto json = nlohmann::json::parse(PipelineRowsAsJson(TwoGroups()));
  ASSERT_EQ(json.size(), 4u);
  EXPECT_EQ(json[0]["dnns"], "a|b");
  EXPECT_EQ(json[0]["max_load_factor_99"], 0.5);
  for (const char* key :
       {"weights", "cluster", "algorithm", "planned_xput", "bound_xput", "gap", "solve_s", "util_low", "util_high"}) {
    EXPECT_TRUE(json[0].contains(key)) << key;
  }
}

TEST(PipelineReport, MeansAreOverTheGroupsOfACluster) {
  const std::string text = PipelineMeansAsTable(TwoGroups()).Text();
  EXPECT_THAT(text, HasSubstr("60.0 %"));  // planned, of ours
  EXPECT_THAT(text, HasSubstr("0.950"));
  EXPECT_THAT(text, HasSubstr("90.0 %"));  // ours is more than np by
}

TEST(PipelineReport, ChartsHaveABarForEachAlgorithm) {
  report::HtmlPage page("page", {});
  std::vector<PipelineBenchRow> rows = TwoGroups();
  rows[1].attainment = {1, 0.5};
  AddPipelineCharts(rows, page);
  EXPECT_THAT(page.Text(), HasSubstr("load in percent of our plan's; a, b"));
  EXPECT_THAT(page.Text(), HasSubstr("Maximum load factor at 99 % attainment"));
  EXPECT_THAT(page.Text(), HasSubstr("Utilisation of the slower GPUs"));
}

// Ten requests a second for ten seconds, those sent in [from, until) not on time.
std::vector<SentRequest> Sent(double from, double until) {
  std::vector<SentRequest> requests;
  for (int i = 0; i < 100; ++i) requests.push_back({0.1 * i, 0.1 * i < from || 0.1 * i >= until});
  return requests;
}

TEST(RealPipeline, RecoveryIsWhenTheLastBadSecondBegan) {
  EXPECT_EQ(RecoveryTime(Sent(20, 20), 3), 0);
  EXPECT_EQ(RecoveryTime(Sent(0, 2), 3), 0);  // what was before the fault does not count
  EXPECT_EQ(RecoveryTime({}, 3), 0);
  EXPECT_NEAR(RecoveryTime(Sent(3, 5), 3), 1.8, 1e-9);  // of the ten requests from 4.8 s on two are bad
  EXPECT_NEAR(RecoveryTime(Sent(8, 20), 3), 6.9, 1e-9);
}

TEST(RealPipeline, TheDifferenceIsTheLargerOfTheTwo) {
  RealPipelineResult result;
  RealPipelineRow& row = result.rows.emplace_back();
  row.load = 0.5;
  row.real = {0.9, 45, 10, 20, 12, 1, 10, 0.5};
  row.simulated = {1.0, 60, 10, 20, 12, 1, 10, 0.5};
  EXPECT_NEAR(row.Difference(), 0.25, 1e-9);
  EXPECT_THAT(RealRowsAsTable(result).Text(), HasSubstr("25.0 %"));
  const auto json = nlohmann::json::parse(RealPipelineAsJson(result));
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["simulated"], false);
  EXPECT_EQ(json[1]["on_time_per_s"], 60);
}

TEST(PipelineTimes, AreOfWholeModelsAndOfTheirBlocks) {
  // Another that was measured on one class only.
  pipeline::ModelProfile half{"half", {0}, {}};
  half.vgpus.push_back({"L4", 1, {{1000}, {1500}}});
  half.vgpus.push_back({"L4", 2, {{3000}, {4500}}});
  const std::vector<pipeline::ModelProfile> profiles = {TwoBlocks(), half};
  const std::string times = ModelTimesAsTable(profiles, 2).Markdown();
  EXPECT_THAT(times, HasSubstr("| model | L4 ms | P4 ms | P4 / L4 |"));
  EXPECT_THAT(times, HasSubstr("| tiny | 12.0 | 88.0 | 7.3 |"));
  EXPECT_THAT(times, HasSubstr("| half | 1.5 |  |  |"));
  const std::string ratios = BlockRatiosAsTable(profiles, 2).Markdown();
  EXPECT_THAT(ratios, HasSubstr("| tiny | P4 / L4 | 1.33 | 13.33 |"));
  EXPECT_EQ(ratios.find("half"), std::string::npos);
}

TEST(PipelineTimes, BatchesThatNobodyMeasuredAreNoTimes) {
  const std::vector<pipeline::ModelProfile> profiles = {TwoBlocks()};
  EXPECT_EQ(ModelTimesAsTable(profiles, 3).Markdown().find("P4"), std::string::npos);
  EXPECT_EQ(BlockRatiosAsTable(profiles, 3).Markdown().find("tiny"), std::string::npos);
}

}  // namespace
}  // namespace wharf::cli
