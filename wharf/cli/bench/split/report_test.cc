#include "wharf/cli/bench/split/report.h"
#include "wharf/cli/bench/split/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace wharf::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

SplitBenchRow Row(const std::string& scenario, const std::string& system, double mean_ms) {
  SplitBenchRow row;
  row.model = "vgg", row.scenario = scenario, row.system = system, row.encoding = "f32";
  row.inferences = 10;
  row.latency_ms_mean = mean_ms;
  row.lower_bound_ms = 40;
  return row;
}

TEST(SplitRowsAsJson, AreFlatWithTheAgreedFields) {
  const auto json = nlohmann::json::parse(SplitRowsAsJson({Row("indoors", "dsccs", 80)}));
  ASSERT_EQ(json.size(), 1u);
  for (const char* field : {"model",
                            "scenario",
                            "system",
                            "encoding",
                            "latency_ms_mean",
                            "latency_ms_std",
                            "latency_ms_p95",
                            "latency_ms_p99",
                            "device_ms_mean",
                            "server_ms_mean",
                            "link_ms_mean",
                            "link_ms_std",
                            "transmission_share",
                            "power_w_modelled",
                            "power_w_modelled_std",
                            "energy_j",
                            "energy_j_modelled_std",
                            "energy_is_modelled",
                            "lost_inferences",
                            "lower_bound_ms"}) {
    EXPECT_TRUE(json[0].contains(field)) << field;
  }
  for (const auto& [key, value] : json[0].items()) EXPECT_TRUE(value.is_primitive()) << key;
  EXPECT_EQ(json[0]["simulated"], true);
  EXPECT_EQ(json[0]["energy_is_modelled"], true);
}

TEST(SplitRowsAsJson, AMeasuredEnergyTakesTheModelledOnesPlace) {
  SplitBenchRow row = Row("indoors", "dsccs", 80);
  row.energy_j = 2;
  row.measured = MeasuredSplit{};
  EXPECT_EQ(nlohmann::json::parse(SplitRowsAsJson({row}))[0]["energy_j"], 2.0);
  row.measured->energy_j = 3;
  const auto json = nlohmann::json::parse(SplitRowsAsJson({row}));
  EXPECT_EQ(json[0]["energy_j"], 3.0);
  EXPECT_EQ(json[0]["energy_is_modelled"], false);
  EXPECT_EQ(json[0]["simulated"], false);
}

constexpr const char* kInferences = R"([
  {"latency_ms": 10, "planned_ms": 8, "bound_ms": 40, "device_ms": 4, "server_ms": 2, "link_ms": 5,
   "messages": 2, "message_error_ms_mean": 3, "lost": ""},
  {"latency_ms": 30, "planned_ms": 8, "bound_ms": 40, "device_ms": 20, "server_ms": 0, "link_ms": 3,
   "messages": 0, "message_error_ms_mean": 0, "lost": "the link is silent"}])";

TEST(SplitTables, SeparateWhatPredictingLosesFromWhatPlanningDoes) {
  const std::vector<SplitBenchRow> rows = {Row("indoors", "dsccs", 100), Row("indoors", "dsccs+known-rates", 55),
                                           Row("indoors", "intra-dp", 80), Row("indoors", "intra-dp+known-rates", 60)};
  const std::string losses = SplitLossesAsTable(rows).Markdown();
  EXPECT_THAT(losses, HasSubstr("| dsccs | 100.0 | 55.0 | 40.0 | 45.0 % | 15.0 % |"));
  EXPECT_THAT(losses, HasSubstr("| intra-dp | 80.0 | 60.0 | 40.0 | 25.0 % | 25.0 % |"));
  // No system is compared with one that knows more than it does.
  EXPECT_THAT(SplitGainsAsTable(rows).Markdown(), HasSubstr("| dsccs | 100.0 | 80.0 | 20.0 % |"));
}

TEST(SummariseSplit, TakesMeansAndCountsWhatTheDeviceHadToFinish) {
  const SplitBenchRow row = SummariseSplit({kInferences, kInferences}, 2).value();
  EXPECT_EQ(row.inferences, 4);
  EXPECT_EQ(row.lost_inferences, 0);
  EXPECT_DOUBLE_EQ(row.latency_ms_mean, 20);
  EXPECT_DOUBLE_EQ(row.latency_ms_std, 10);
  EXPECT_DOUBLE_EQ(row.device_ms_mean, 12);
  EXPECT_DOUBLE_EQ(row.server_ms_mean, 1);
  EXPECT_DOUBLE_EQ(row.link_ms_mean, 4);
  EXPECT_DOUBLE_EQ(row.transmission_share, 0.2);
  EXPECT_NEAR(row.energy_j, (13.35 * 12 + 4.04 * 8 + 0.21 * 4) / 1e3, 1e-12);
  EXPECT_NEAR(row.power_w, row.energy_j / 0.02, 1e-9);
  EXPECT_DOUBLE_EQ(row.measured->message_error_ms_mean, 3);
  EXPECT_DOUBLE_EQ(row.measured->largest_share_of_bound, 0.75);
  EXPECT_EQ(row.measured->finished_alone, 2);
  EXPECT_EQ(row.measured->energy_j, std::nullopt);
}

TEST(SummariseSplit, CountsWhatWasAskedForAndIsNotThere) {
  EXPECT_EQ(SummariseSplit({kInferences, kInferences}, 5)->lost_inferences, 6);
  const SplitBenchRow row = SummariseSplit({kInferences}, std::nullopt).value();
  EXPECT_EQ(row.lost_inferences, 0);
  SplitBenchRow lossy = row;
  lossy.lost_inferences = 3;
  EXPECT_EQ(nlohmann::json::parse(SplitRowsAsJson({lossy}))[0]["lost_inferences"], 3);
}

TEST(SummariseSplit, RefusesWhatIsNoLogOfInferences) {
  for (const char* text : {"", "[]", "{}", "[1]", R"([{"latency_ms": "soon"}])"}) {
    EXPECT_EQ(SummariseSplit({text}, 1).status().code(), absl::StatusCode::kDataLoss) << text;
  }
}

TEST(NameOfModel, IsTheDirectorysWhereTheFilesSaysNothing) {
  EXPECT_EQ(NameOfModel("out/models/vgg19/model.onnx"), "vgg19");
  EXPECT_EQ(NameOfModel("out/pose.onnx"), "pose");
  EXPECT_EQ(NameOfModel("model.onnx"), "model");
}

TEST(SplitGainsAsTable, ComparesWithTheBestOfTheOthersOnTheSameLinkAndEncoding) {
  SplitBenchRow bytes = Row("indoors", "server-only", 10);
  bytes.encoding = "u8";
  const std::string text = SplitGainsAsTable({Row("indoors", "dsccs", 80), Row("indoors", "server-only", 100), bytes,
                                              Row("outdoors", "dsccs", 50), Row("indoors", "intra-dp", 60)})
                               .Markdown();
  EXPECT_THAT(text, HasSubstr("| vgg | indoors | f32 | dsccs | 80.0 | 60.0 | 25.0 % | 40.0 | 50.0 % |"));
  EXPECT_THAT(text, Not(HasSubstr("outdoors")));
}

TEST(SplitRowsAsTable, SaysNeverWhereNothingArrives) {
  const std::string text =
      SplitRowsAsTable({Row("0 Mbit/s", "server-only", std::numeric_limits<double>::infinity())}).Markdown();
  EXPECT_THAT(text, HasSubstr("never"));
}

TEST(SplitPhasesAsTable, HasTimesPowerAndEnergyWithTheirSpread) {
  SplitBenchRow row = Row("indoors", "dsccs", 80);
  row.device_ms_mean = 10, row.server_ms_mean = 5, row.link_ms_mean = 60, row.link_ms_std = 7;
  row.transmission_share = 0.75, row.power_w = 5.432, row.power_w_std = 0.3, row.energy_j = 0.4346;
  row.energy_j_std = 0.05;
  const std::string text = SplitPhasesAsTable({row, Row("indoors", "intra-dp", 70)}).Markdown();
  EXPECT_THAT(
      text,
      HasSubstr("| vgg | indoors | f32 | dsccs | 10.0 | 5.0 | 60.0 | 7.0 | 75 % | 5.43 | 0.30 | 0.435 | 0.050 |"));
  EXPECT_THAT(text, HasSubstr("|  |  |  | intra-dp |"));
}

TEST(AddSplitCharts, DrawsLinesForFixedLinksAndBarsForTraces) {
  report::HtmlPage page("title", {});
  AddSplitCharts({Row("20 Mbit/s", "dsccs", 80), Row("20 Mbit/s", "intra-dp", 70), Row("indoors", "dsccs", 80)}, page);
  EXPECT_THAT(page.Text(), HasSubstr(">Mbit/s (logarithmic scale)<"));
  EXPECT_THAT(page.Text(), HasSubstr(">20<"));
  EXPECT_THAT(page.Text(), HasSubstr(">bound<"));
  EXPECT_THAT(page.Text(), HasSubstr("mean latency"));
}

}  // namespace
}  // namespace wharf::cli
