#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "wharf/cli/bench/multitask/kept.h"
#include "wharf/cli/bench/multitask/report.h"
#include "wharf/cli/bench/multitask/rows.h"
#include "wharf/cli/common/files.h"

namespace wharf::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

multitask::SystemResult Result(double abs_rel, double t_err) {
  multitask::SystemResult result;
  result.score.abs_rel = abs_rel;
  result.score.t_err = t_err;
  return result;
}

class MultitaskRows : public ::testing::Test {
 protected:
  const multitask::OffloadProfile profile_ = *multitask::NamedProfile("thesis");
  const std::vector<multitask::System> systems_ = {{"rr", {}, profile_}, {"accumo", {1, 1}, profile_}};
  const std::vector<Weights> weights_ = {{3, 1}, {1, 1}};
  const std::vector<MultitaskVideo> videos_ = {{"L/L", 7, {Result(0.2, 0.1), Result(0.1, 0.1)}},
                                               {"H/H", 8, {Result(0.3, 0.5), Result(0.2, 0.3)}},
                                               {"L/L", 9, {Result(0.4, 0.1), Result(0.1, 0.1)}}};
  const std::vector<MultitaskRow> rows_ = Summarise(systems_, weights_, videos_);
};

TEST_F(MultitaskRows, AreMeansAndSpreadsOverVideos) {
  const MultitaskRow* const row = FindRow(rows_, "L/L", "rr", "3:1");
  ASSERT_NE(row, nullptr);
  EXPECT_THAT(row->seeds, ElementsAre(7, 9));
  EXPECT_DOUBLE_EQ(row->metrics.at("abs_rel").mean, 0.3);
  EXPECT_NEAR(row->metrics.at("abs_rel").spread, 0.1414, 1e-4);
  EXPECT_NEAR(row->metrics.at("overall").mean, (3 * 0.3 + 0.1) / 4, 1e-12);
  EXPECT_EQ(FindRow(rows_, "H/H", "rr", "3:1")->metrics.at("abs_rel").spread, 0);
}

TEST_F(MultitaskRows, WhatPlansByWeightsHasRowsForItsOwnOnly) {
  EXPECT_EQ(FindRow(rows_, "L/L", "accumo", "3:1"), nullptr);
  ASSERT_NE(FindRow(rows_, "L/L", "accumo", "1:1"), nullptr);
  EXPECT_EQ(FindRow(rows_, "L/L", "accumo", "1:1", "thesis-5g"), nullptr);
}

TEST_F(MultitaskRows, TheWholeIsTheMeanOfTheCategories) {
  const MultitaskRow* const row = FindRow(rows_, "all", "rr", "1:1");
  ASSERT_NE(row, nullptr);
  EXPECT_DOUBLE_EQ(row->metrics.at("t_err").mean, 0.3);  // not weighed by how many videos each has
  EXPECT_THAT(row->seeds, ElementsAre(7, 9, 8));
}

TEST_F(MultitaskRows, AreFlatAsJson) {
  const nlohmann::json json = nlohmann::json::parse(RowsAsJson(rows_, true));
  ASSERT_EQ(json.size(), rows_.size());
  for (const auto& row : json) {
    EXPECT_TRUE(row["oracle"].get<bool>());
    EXPECT_TRUE(row["abs_rel"].is_number() && row["abs_rel_spread"].is_number());
  }
}

TEST_F(MultitaskRows, TheGainIsAgainstTheBestBaseline) {
  for (const TitledTable& one : MultitaskTables(rows_, weights_)) {
    if (one.title.find("best baseline") == std::string::npos) continue;
    // L/L: 0.2 to 0.1; H/H: 0.4 to 0.25.
    EXPECT_THAT(one.table.Text(), HasSubstr("+50.0 %"));
    EXPECT_THAT(one.table.Text(), HasSubstr("+37.5 %"));
    EXPECT_THAT(one.table.Text(), HasSubstr("+14.3 %"));  // the thesis's
  }
}

TEST_F(MultitaskRows, AccumosWithAndWithoutCorrectionHaveTablesOfTheirOwn) {
  const std::vector<multitask::System> systems = {
      {"rr", {}, profile_}, {"accumo", {1, 1}, profile_}, {"accumo-published", {1, 1}, profile_}};
  const std::vector<MultitaskVideo> videos = {{"L/L", 7, {Result(0.2, 0.2), Result(0.1, 0.1), Result(0.19, 0.19)}}};
  std::vector<std::string> gains;
  for (const TitledTable& one : MultitaskTables(Summarise(systems, {{1, 1}}, videos), {{1, 1}})) {
    if (one.title.find("best baseline") != std::string::npos) gains.push_back(one.title + one.table.Text());
  }
  EXPECT_THAT(gains, ElementsAre(AllOf(HasSubstr("accumo-published"), HasSubstr("+5.0 %")),
                                 AllOf(HasSubstr("accumo "), HasSubstr("+50.0 %"))));
}

TEST_F(MultitaskRows, OtherLatenciesHaveATableOfTheirOwn) {
  const auto links_of = [&](const std::vector<multitask::System>& systems, const MultitaskVideo& video) {
    for (const TitledTable& one : MultitaskTables(Summarise(systems, {{1, 1}}, {video}), {{1, 1}})) {
      if (one.title.find("Table 2.5") != std::string::npos) return one.table.Markdown();
    }
    return std::string();
  };
  const multitask::OffloadProfile a40 = *multitask::NamedProfile("thesis-a40");
  const MultitaskVideo video = {"H/H", 8, {Result(0.3, 0.5), Result(0.2, 0.4), Result(0.1, 0.3)}};
  const std::string text =
      links_of({{"rr", {}, profile_}, {"accumo-published", {1, 1}, profile_}, {"rr", {}, a40}}, video);
  EXPECT_THAT(text, HasSubstr("| H/H thesis rr | 0.300 (0.239) | 0.500 (0.125) |"));
  EXPECT_THAT(text, HasSubstr("| H/H thesis accumo-published | 0.200 (0.216) | 0.400 (0.083) |"));
  EXPECT_THAT(text, HasSubstr("| H/H thesis-a40 rr | 0.100 (0.217) | 0.300 (0.105) |"));
  EXPECT_EQ(links_of({{"rr", {}, profile_}, {"accumo", {1, 1}, profile_}}, {"H/H", 8, {Result(1, 1), Result(1, 1)}}),
            "");
}

TEST_F(MultitaskRows, TheThesisStandsInBrackets) {
  const std::vector<TitledTable> tables = MultitaskTables(rows_, weights_);
  ASSERT_THAT(tables, Not(IsEmpty()));
  EXPECT_THAT(tables[0].table.Text(), HasSubstr("(0.168)"));  // rr's depth on L/L
}

class Kept : public MultitaskRows {
 protected:
  const std::string folder_ = ::testing::TempDir();
  const KeptVideos kept_{folder_, "all as it was"};
  const MultitaskVideo video_{"L/H", 4711, {Result(0.1, 1.0 / 3)}};
};

TEST_F(Kept, VideosAreFoundAgain) {
  ASSERT_EQ(kept_.Keep(video_), absl::OkStatus());
  const auto found = kept_.Find("L/H", 4711);
  ASSERT_TRUE(found.ok() && found->has_value()) << found.status();
  ASSERT_EQ((*found)->results.size(), 1);
  for (const multitask::ScoreField& field : multitask::ScoreFields())
    EXPECT_EQ((*found)->results[0].score.*field.value, video_.results[0].score.*field.value) << field.name;
  EXPECT_FALSE(kept_.Find("L/H", 4712).value().has_value());
  EXPECT_FALSE(KeptVideos("", "all as it was").Find("L/H", 4711).value().has_value());
}

TEST_F(Kept, VideosOfOtherConditionsAreNotTaken) {
  ASSERT_EQ(kept_.Keep(video_), absl::OkStatus());
  EXPECT_EQ(KeptVideos(folder_, "another network").Find("L/H", 4711).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(Kept, WhatIsNoVideoIsRefused) {
  for (const char* text : {"", "[]", R"({"conditions": "all as it was"})",
                           R"({"conditions": "all as it was", "scores": [{"abs_rel": 1}]})"}) {
    ASSERT_EQ(WriteFile(folder_ + "/L-H-4713.json", text), absl::OkStatus());
    EXPECT_EQ(kept_.Find("L/H", 4713).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(Timelines, ShowEstimatesBesideTheTruthAndErrorsBesideOthers) {
  const std::vector<double> line(16, 0.1);
  std::vector<double> sampled(16, -1);
  sampled[0] = sampled[8] = 0.12;
  multitask::Timeline accumo;
  accumo.depth_rate = accumo.odometry_rate = accumo.tracker_drop = accumo.lite_drop = line;
  accumo.tracker_lost = accumo.lite_lost = sampled;
  accumo.offload_ratio = accumo.lite = accumo.abs_rel = line;
  multitask::Timeline other;
  other.abs_rel = line;
  report::HtmlPage page("title", {});
  AddTimelines("a video", accumo, {{"rr", &other}, {"la", &other}}, page);
  for (const char* text : {">a video<", ">estimated<", ">in truth<", ">rr", ">la"})
    EXPECT_THAT(page.Text(), HasSubstr(text));
}

TEST_F(MultitaskRows, NothingMeasuredIsNoTables) { EXPECT_THAT(MultitaskTables({}, weights_), IsEmpty()); }

}  // namespace
}  // namespace wharf::cli
