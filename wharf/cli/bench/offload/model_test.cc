#include "wharf/cli/bench/offload/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::cli {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

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
  EXPECT_THAT(run->per_function, ElementsAre(Pair("cudaMalloc", 3)));
  EXPECT_FALSE(run->replays);
}

TEST(ParseRun, ReadsWhatReplayForesaw) {
  const std::string counters =
      R"({"mode": "replay", "calls": 70, "blocking_round_trips": 7, "bytes_up": 1, "bytes_down": 5,
      "device_busy_ns": 9, "per_function": {}, "replay": {"hits": 10, "changed": 3, "jumps": 1, "explicit": 2}})";
  const auto run = ParseRun(R"({"latency_ms": [1]})", counters);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_TRUE(run->replays);
  EXPECT_EQ(run->prediction.predicted, 14u);
  EXPECT_EQ(run->prediction.sent_whole, 2u);
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
  const auto row = MakeRow({{warm, all}}, 2, link);
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
  EXPECT_THAT(row->power_w_modelled, DoubleNear(row->energy_j_modelled / 0.025, 1e-9));
}

TEST(MakeRow, TellsTheShareThatWasPredictedInTheMeasuredInferences) {
  const Scenario link{"fixed", 8e6, std::chrono::milliseconds(2)};
  ProgramRun warm{{1}}, all{{1, 2, 3}};
  warm.replays = all.replays = true;
  warm.prediction = {0, 500};
  all.prediction = {198, 502};
  const auto row = MakeRow({{warm, all}}, 1, link);
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ(row->phase, "replaying");
  EXPECT_THAT(row->predicted_fraction, DoubleNear(0.99, 1e-9));
  all.prediction = {1, 510};
  EXPECT_EQ(MakeRow({{warm, all}}, 1, link)->phase, "recording");
}

TEST(MakeRow, WithoutALinkNothingTravels) {
  ProgramRun warm{{1}, 10, 5, 100, 100}, all{{1, 2}, 30, 9, 900, 900};
  all.replays = true;
  const auto row = MakeRow({{warm, all}}, 1, {"none", 0, {}});
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ(row->calls, 20);
  EXPECT_EQ(row->blocking_round_trips, 0);
  EXPECT_EQ(row->bytes_up + row->bytes_down, 0);
  EXPECT_EQ(row->phase, "none");
}

TEST(MakeRow, RefusesRunsOfTheWrongLength) {
  EXPECT_EQ(MakeRow({{ProgramRun{{1}}, ProgramRun{{1, 2}}}}, 2, {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(MakeRow({{ProgramRun{{1}}, ProgramRun{{1}}}}, 1, {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(MakeRow, PoolsTheRoundsThatWereMeasuredInTurns) {
  const Scenario link{"fixed", 8e6, std::chrono::milliseconds(2)};
  const ProgramRun warm{{9}, 10, 1, 100, 0}, quick{{9, 1, 2}, 30, 3, 300, 0}, slow{{8, 5, 6}, 30, 5, 300, 0};
  const auto row = MakeRow({{warm, quick}, {warm, slow}}, 1, link);
  ASSERT_EQ(row.status(), absl::OkStatus());
  EXPECT_EQ(row->inferences, 4);
  EXPECT_EQ(row->latency_ms_median, 3.5);
  EXPECT_EQ(row->calls, 10);
  EXPECT_EQ(row->blocking_round_trips, 1.5);
  EXPECT_THAT(row->latencies_ms, ElementsAre(9, 1, 2));
  EXPECT_EQ(MakeRow({}, 1, link).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(ModelEnergy, LocalComputesAllTheWhile) {
  EXPECT_THAT(ModelEnergy(200, 11, 1e6, {"none", 0, {}}), DoubleNear(13.35 * 0.2, 1e-9));
}

TEST(ModelEnergy, NeverCommunicatesLongerThanItTakes) {
  const Scenario slow{"slow", 1e3, std::chrono::seconds(1)};
  EXPECT_THAT(ModelEnergy(100, 11, 1e6, slow), DoubleNear(4.25 * 0.1, 1e-9));
}

TEST(CompareWithNative, EachScenarioHasItsOwnYardstick) {
  std::vector<BenchRow> rows(5);
  const char* const names[][2] = {
      {"none", "device_only"}, {"a", "replay"}, {"a", "native"}, {"b", "native"}, {"b", "posted"}};
  const double medians[] = {30, 51, 50, 20, 60};
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].scenario = names[i][0], rows[i].mode = names[i][1], rows[i].latency_ms_median = medians[i];
  }
  CompareWithNative(rows);
  std::vector<double> ratios;
  for (const BenchRow& row : rows) ratios.push_back(row.times_native);
  EXPECT_THAT(ratios, ElementsAre(0, 1.02, 1, 1, 3));
}

TEST(StagesOfCalls, AreTheDifferencesOfTheRuns) {
  ProgramRun none, one, warm, all;
  none.per_function = {{"cudaMalloc", 5}};
  one.per_function = {{"cudaMalloc", 6}, {"cudaLaunchKernel", 20}};
  warm.latencies_ms.resize(2), warm.per_function = {{"cudaMalloc", 6}, {"cudaLaunchKernel", 39}};
  all.latencies_ms.resize(6), all.per_function = {{"cudaMalloc", 6}, {"cudaLaunchKernel", 115}, {"cudaFree", 2}};
  const CallStages stages = StagesOfCalls(none, one, warm, all);
  EXPECT_THAT(stages.load, ElementsAre(Pair("cudaMalloc", 5)));
  EXPECT_THAT(stages.first, UnorderedElementsAre(Pair("cudaMalloc", 1), Pair("cudaLaunchKernel", 20)));
  EXPECT_THAT(stages.loop, UnorderedElementsAre(Pair("cudaLaunchKernel", 19), Pair("cudaFree", 0.5)));
}

TEST(ParseRun, OfAPartitionWhatCrossedTheLinkCounts) {
  const auto run =
      ParseRun(R"({"latency_ms": [1.0]})",
               R"({"mode": "posted", "calls": 70, "blocking_round_trips": 7, "bytes_up": 1000, "bytes_down": 2000,
          "device_busy_ns": 5, "per_function": {}, "replay": {}, "partition": {"operations_local": 3,
          "there": {"blocking_round_trips": 1, "bytes_up": 10, "bytes_down": 20, "device_busy_ns": 30}}})");
  ASSERT_EQ(run.status(), absl::OkStatus());
  EXPECT_EQ(run->calls, 70u);
  EXPECT_EQ(run->blocking_round_trips, 1u);
  EXPECT_EQ(run->bytes_up, 10u);
  EXPECT_EQ(run->bytes_down, 20u);
  EXPECT_EQ(run->device_busy_ns, 30u);
}

TEST(BenchModes, AreFoundByNameAndLocalIsDeviceOnly) {
  EXPECT_EQ(FindBenchMode("replay")->options, (std::vector<std::string>{"--mode", "replay"}));
  EXPECT_EQ(FindBenchMode("local")->name, "device_only");
  EXPECT_EQ(FindBenchMode("fast").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace wharf::cli
