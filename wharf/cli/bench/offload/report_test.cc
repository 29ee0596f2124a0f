#include "wharf/cli/bench/offload/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace wharf::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

BenchRow Row() {
  BenchRow row;
  row.program = "cuda_pose";
  row.mode = "replay";
  row.scenario = "indoors";
  row.phase = "replaying";
  row.inferences = 3;
  row.latency_ms_median = 12.34;
  row.blocking_round_trips = 1;
  row.times_native = 1.021;
  row.predicted_fraction = 0.995;
  row.latencies_ms = {90, 20, 12.34};
  row.energy_j_modelled = 0.05, row.power_w_modelled = 4.11;
  return row;
}

TEST(RowsAsJson, IsAFlatArrayWithTheAgreedFields) {
  const auto json = nlohmann::json::parse(RowsAsJson({Row()}));
  ASSERT_TRUE(json.is_array());
  ASSERT_EQ(json.size(), 1u);
  std::vector<std::string> keys;
  for (const auto& [key, value] : json[0].items()) {
    keys.push_back(key);
    EXPECT_TRUE(value.is_primitive()) << key;
  }
  EXPECT_THAT(
      keys, UnorderedElementsAre("program", "mode", "scenario", "phase", "programs", "inferences", "latency_ms_median",
                                 "latency_ms_p95", "calls", "blocking_round_trips", "bytes_up", "bytes_down",
                                 "device_busy_fraction", "power_w_modelled", "energy_j_modelled"));
  EXPECT_EQ(json[0]["inferences"], 3);
  EXPECT_EQ(json[0]["phase"], "replaying");
  EXPECT_EQ(RowsAsJson({}), "[]\n");
}

TEST(RowsAsTable, NamesWhatIsModelledAndComparesWithNative) {
  EXPECT_THAT(RowsAsTable({Row()}, TableStyle::kText),
              AllOf(HasSubstr("power W (modelled)"), HasSubstr("4.11"), HasSubstr("energy J (modelled)"),
                    HasSubstr("× native"), HasSubstr("1.021"), HasSubstr("99.5 %")));
  EXPECT_THAT(RowsAsTable({Row()}, TableStyle::kMarkdown), HasSubstr("| indoors | replay |"));
}

TEST(RowsAsTable, LeavesEmptyWhatAModeDoesNotHave) {
  BenchRow row = Row();
  row.phase = "none", row.times_native = 0, row.predicted_fraction = 0;
  EXPECT_THAT(RowsAsTable({row}, TableStyle::kText), AllOf(Not(HasSubstr("none")), Not(HasSubstr("0.000"))));
}

TEST(RowsAsChart, ShowsTheMedian) { EXPECT_THAT(RowsAsChart({Row()}), HasSubstr("12.34 ms")); }

TEST(CallsAsTable, MostFrequentInTheLoopFirstWithSharesOfEachStage) {
  const CallStages stages{
      {{"cudaMalloc", 30}, {"cudaGetDevice", 70}}, {{"cudaGetDevice", 9}}, {{"cudaGetDevice", 8}, {"cudaFree", 2}}};
  const std::string table = CallsAsTable(stages, TableStyle::kMarkdown);
  EXPECT_THAT(table, AllOf(HasSubstr("| cudaGetDevice | 70 (70.00 %) | 9 (100.00 %) | 8 (80.00 %) |"),
                           HasSubstr("| all | 100 | 9 | 10 |")));
  EXPECT_LT(table.find("cudaFree"), table.find("cudaMalloc"));
}

TEST(RowsAsPage, IsOnePageWithEveryPicture) {
  const CallStages stages{{{"cudaMalloc", 30}}, {}, {}};
  const std::string page = RowsAsPage({Row()}, &stages);
  EXPECT_THAT(
      page, AllOf(HasSubstr("What offloading cuda_pose costs"), HasSubstr("Latency of every inference, link: indoors"),
                  HasSubstr("Blocking round trips"), HasSubstr("(modelled)"), HasSubstr("cudaMalloc")));
  EXPECT_THAT(RowsAsPage({Row()}, nullptr), Not(HasSubstr("Calls by function")));
  EXPECT_THAT(RowsAsPage({}, nullptr), HasSubstr("</html>"));
}

}  // namespace
}  // namespace wharf::cli
