#include "wharf/cli/bench_offload_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace wharf::cli {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kCounters[] = R"({"mode": "posted", "calls": 70, "blocking_round_trips": 7, "bytes_up": 1000,
                                 "bytes_down": 50, "device_busy_ns": 9000000, "per_function": {"cudaMalloc": 3}})";

TEST(ParseRun, ReadsBothFiles) {
  const auto run = ParseRun(R"({"program": "x", "latency_ms": [5, 1.5, 2]})", kCounters);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_THAT(run->latencies_ms, ElementsAre(5, 1.5, 2));
  EXPECT_EQ(run->calls, 70u);
  EXPECT_EQ(run->blocking_round_trips, 7u);
  EXPECT_EQ(run->bytes_up, 1000u);
  EXPECT_EQ(run->bytes_down, 50u);
  EXPECT_EQ(run->device_busy_ns, 9000000u);
}

TEST(ParseRun, RefusesOtherFiles) {
  EXPECT_EQ(ParseRun("", kCounters).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ParseRun(R"({"latency_ms": "fast"})", kCounters).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ParseRun(R"({"latency_ms": [1]})", "").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ParseRun(R"({"latency_ms": [1]})", R"({"calls": 1})").status().code(), absl::StatusCode::kDataLoss);
}

TEST(MakeRow, TheDifferenceOfTwoRunsIsWhatTheInferencesCost) {
  const Scenario link{"fixed", 8e6, std::chrono::milliseconds(2)};  // a byte a microsecond
  const ProgramRun warm{{100, 9}, 1000, 50, 2000, 300, 40'000'000};
  const ProgramRun all{{90, 8, 10, 20, 30, 40}, 1400, 62, 6000, 700, 80'000'000};
  const auto row = MakeRow(warm, all, 2, link);
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ(row->inferences, 4);
  EXPECT_EQ(row->latency_ms_median, 25);
  EXPECT_EQ(row->latency_ms_p95, 40);
  EXPECT_EQ(row->calls, 100);
  EXPECT_EQ(row->blocking_round_trips, 3);
  EXPECT_EQ(row->bytes_up, 1000);
  EXPECT_EQ(row->bytes_down, 100);
  EXPECT_THAT(row->device_busy_fraction, DoubleNear(10.0 / 25.0, 1e-9));
  EXPECT_THAT(row->link_limit_ms, DoubleNear(2 + 1.1, 1e-9));
  EXPECT_THAT(row->energy_j_modelled, DoubleNear((4.25 * 7.1 + 4.04 * 17.9) / 1e3, 1e-9));
}

TEST(MakeRow, RefusesRunsOfTheWrongLength) {
  EXPECT_EQ(MakeRow({{1}}, {{1, 2}}, 2, {}).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(MakeRow({{1}}, {{1}}, 1, {}).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(ModelEnergy, LocalComputesAllTheWhile) {
  EXPECT_THAT(ModelEnergy(200, 11, 1e6, {"none", 0, {}}), DoubleNear(13.35 * 0.2, 1e-9));
}

TEST(ModelEnergy, NeverCommunicatesLongerThanItTakes) {
  const Scenario slow{"slow", 1e3, std::chrono::seconds(1)};
  EXPECT_THAT(ModelEnergy(100, 11, 1e6, slow), DoubleNear(4.25 * 0.1, 1e-9));
}

TEST(Rows, JsonIsAFlatArrayWithTheAgreedFields) {
  BenchRow row;
  row.program = "cuda_pose";
  row.mode = "posted";
  row.scenario = "indoors";
  row.inferences = 3;
  const auto json = nlohmann::json::parse(RowsAsJson({row}));
  ASSERT_TRUE(json.is_array());
  ASSERT_EQ(json.size(), 1u);
  std::vector<std::string> keys;
  for (const auto& [key, value] : json[0].items()) {
    keys.push_back(key);
    EXPECT_TRUE(value.is_primitive()) << key;
  }
  EXPECT_THAT(keys, ::testing::UnorderedElementsAre("program", "mode", "scenario", "inferences", "latency_ms_median",
                                                    "latency_ms_p95", "calls", "blocking_round_trips", "bytes_up",
                                                    "bytes_down", "device_busy_fraction", "energy_j_modelled"));
  EXPECT_EQ(json[0]["inferences"], 3);
  EXPECT_EQ(RowsAsJson({}), "[]\n");
}

TEST(Rows, TablesAndChartNameWhatIsModelled) {
  BenchRow row;
  row.mode = "posted";
  row.scenario = "indoors";
  row.latency_ms_median = 12.34;
  EXPECT_THAT(RowsAsTable({row}, TableStyle::kText), HasSubstr("energy J (modelled)"));
  EXPECT_THAT(RowsAsTable({row}, TableStyle::kMarkdown), HasSubstr("| indoors | posted |"));
  EXPECT_THAT(RowsAsChart({row}), HasSubstr("12.34 ms"));
}

}  // namespace
}  // namespace wharf::cli
