#include "wharf/cli/bench_split_report.h"

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
  for (const char* field : {"model", "scenario", "system", "encoding", "latency_ms_mean", "latency_ms_std",
                            "latency_ms_p95", "latency_ms_p99", "transmission_share", "energy_j", "energy_is_modelled",
                            "lost_inferences", "lower_bound_ms"}) {
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

TEST(AddSplitCharts, DrawsLinesForFixedLinksAndBarsForTraces) {
  report::HtmlPage page("title");
  AddSplitCharts({Row("20 Mbit/s", "dsccs", 80), Row("20 Mbit/s", "intra-dp", 70), Row("indoors", "dsccs", 80)}, page);
  EXPECT_THAT(page.Text(), HasSubstr("fixed links: 20 Mbit/s"));
  EXPECT_THAT(page.Text(), HasSubstr("mean latency"));
}

}  // namespace
}  // namespace wharf::cli
