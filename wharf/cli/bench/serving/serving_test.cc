#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "wharf/cli/bench/serving/report.h"
#include "wharf/serving/testing.h"

namespace wharf::cli {
namespace {

using serving::System;
using testing::HasSubstr;

// A short run of two systems on made-up videos.
class BenchServingTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ServingBenchOptions options;
    options.seconds = 15;
    options.seeds = 2;
    const ServingCase setting{.figure = "3.13", .systems = {System::kChameleon, System::kArise}};
    rows_ = *RunServingCase(setting, serving::MadeUpTables(4), serving::ProfileOf({9, 13, 18, 22}), options,
                            [](const std::string& what) { heard_.push_back(what); });
  }

  static std::vector<ServingRow> rows_;
  static std::vector<std::string> heard_;
};
std::vector<ServingRow> BenchServingTest::rows_;
std::vector<std::string> BenchServingTest::heard_;

TEST_F(BenchServingTest, HasARowForEachSystem) {
  ASSERT_EQ(rows_.size(), 2);
  EXPECT_THAT(heard_, testing::ElementsAre(HasSubstr("chameleon, seed 1"), HasSubstr("arise, seed 1"),
                                           HasSubstr("chameleon, seed 2"), HasSubstr("arise, seed 2")));
  const ServingRow* arise = FindServingRow(rows_, rows_[0], System::kArise);
  ASSERT_EQ(arise, &rows_[1]);
  EXPECT_EQ(FindServingRow(rows_, rows_[0], System::kStatic), nullptr);
  EXPECT_GT(arise->metrics.at("clients").mean, rows_[0].metrics.at("clients").mean);
  EXPECT_GT(arise->metrics.at("batch").mean, 1);
  EXPECT_TRUE(arise->metrics.contains("late_batches"));
  EXPECT_FALSE(rows_[0].metrics.contains("late_batches"));  // nothing was planned
  EXPECT_EQ(arise->first.samples.size(), 50);
  EXPECT_GT(arise->metrics.at("bound").mean, arise->metrics.at("clients").mean);
  EXPECT_GT(arise->metrics.at("arrival_deviation_ms").mean, 0);
}

TEST_F(BenchServingTest, JsonIsFlat) {
  const nlohmann::json json = nlohmann::json::parse(ServingRowsAsJson(rows_));
  ASSERT_EQ(json.size(), 2);
  for (const nlohmann::json& row : json) {
    EXPECT_EQ(row["sla"], "0.02");
    EXPECT_EQ(row["seeds"], (std::vector<int>{1, 2}));
    EXPECT_TRUE(row["clients"].is_number());
    EXPECT_TRUE(row["clients_spread"].is_number());
  }
  EXPECT_EQ(json[1]["system"], "arise");
  EXPECT_EQ(json[1]["engine"], "emulated");
  EXPECT_EQ(json[1]["profile_ms"], (std::vector<double>{9, 13, 18, 22}));
  EXPECT_NEAR(json[1]["stretch"].get<double>(), 1, 0.01);
}

TEST_F(BenchServingTest, TablesSayHowManyTimesAsMany) {
  const double ratio = rows_[1].metrics.at("clients").mean / rows_[0].metrics.at("clients").mean;
  const std::string text = ServingClientsTable(rows_).Text();
  EXPECT_THAT(text, HasSubstr(fmt::format("{:.2f}", ratio)));
  EXPECT_THAT(text, HasSubstr("<= 6.9"));
  EXPECT_THAT(ServingQualityTable(rows_).Text(), HasSubstr("chameleon"));
}

TEST_F(BenchServingTest, DistributionsAreOfClientsAndOfVideos) {
  const serving::EmulationResult& first = rows_[1].first;
  const std::vector<double> drops = ClientDrops(first, 60), errors = EstimateErrors(first);
  ASSERT_FALSE(drops.empty());
  EXPECT_TRUE(std::ranges::is_sorted(drops));
  EXPECT_LE(drops.size(), first.clients.size());
  ASSERT_FALSE(errors.empty());
  EXPECT_LE(errors.size(), 4u) << "one a video";
  const auto metric = [&](const char* name) { return rows_[1].metrics.at(name).mean; };
  EXPECT_LE(metric("client_drop_p5"), metric("client_drop_p50"));
  EXPECT_LE(metric("client_drop_p95"), metric("client_drop_p100"));
  EXPECT_LE(metric("client_drop_p100"), 0.02 + metric("worst_excess") + 1e-12) << "one SLA for all";
  EXPECT_LE(metric("estimate_error_p10"), metric("estimate_error_p90"));
  EXPECT_THAT(ServingDistributionsTable(rows_).Text(), HasSubstr(fmt::format("{:.4f}", metric("client_drop_p50"))));
  report::HtmlPage page("page", {});
  AddServingCharts(rows_, page);
  EXPECT_THAT(page.Text(), HasSubstr("Clients' mean drops, from the least"));
  EXPECT_THAT(page.Text(), HasSubstr("percent of the videos"));
}

TEST(ServingTotalsTest, AddUpSeedBySeed) {
  const auto client = [](int64_t frames, double drop_each, double sla) {
    serving::ClientOutcome one;
    one.sla = sla;
    one.account.frames = frames;
    one.account.drop = drop_each * static_cast<double>(frames);
    return one;
  };
  serving::EmulationResult first, second;
  first.clients = {client(36000, 0.01, 0.02), client(60, 0.05, 0.02)};       // within; above, too short to count
  second.clients = {client(18000, 0.05, 0.02), client(18000, 0.02, 0.025)};  // above by 0.03; within
  ServingRow row;
  AddToTotals(first, 60, row.totals);
  AddToTotals(second, 60, row.totals);
  EXPECT_NEAR(row.totals.client_hours, (600 + 1 + 300 + 300) / 3600.0, 1e-12);
  EXPECT_NEAR(row.totals.hours_above, (1 + 300) / 3600.0, 1e-12);
  EXPECT_EQ(row.totals.clients, 3);
  EXPECT_EQ(row.totals.above, 1);
  EXPECT_NEAR(row.totals.worst_excess, 0.03, 1e-12);
  EXPECT_THAT(ServingAdherenceTable({row}).Text(), testing::AllOf(HasSubstr("66.667 %"), HasSubstr("+0.0300")));
}

TEST_F(BenchServingTest, TotalsAreOfAllSeeds) {
  const ServingRow& row = rows_[1];
  const double hours = row.metrics.at("clients").mean * 15 * 2 / 3600;  // two seeds of 15 s
  EXPECT_NEAR(row.totals.client_hours, hours, 0.2 * hours) << "warming up counts here, not there";
  ServingTotals of_first;
  AddToTotals(row.first, 60, of_first);
  EXPECT_GT(row.totals.client_hours, of_first.client_hours);
  EXPECT_GE(row.totals.worst_excess, of_first.worst_excess);
  const nlohmann::json json = nlohmann::json::parse(ServingRowsAsJson(rows_));
  EXPECT_EQ(json[1]["clients_counted"], row.totals.clients);
}

// Needs no time of its own, and counts.
class InstantEngine final : public serving::BatchEngine {
 public:
  void Start(std::vector<serving::VideoFrame> batch) override {
    ++batches;
    frames += batch.size();
    running_ = true;
  }
  absl::StatusOr<std::optional<Nanoseconds>> Wait(TimePoint deadline) override {
    if (fails) return Internal("tired");
    if (std::exchange(running_, false)) return std::optional(Nanoseconds(1));
    Clock::Real().SleepUntil(deadline);
    return std::optional<Nanoseconds>();
  }
  size_t batches = 0, frames = 0;
  bool fails = false;

 private:
  bool running_ = false;
};

TEST(RunServingCaseTest, HasBatchesComputedByTheEngine) {
  InstantEngine engine;
  ServingBenchOptions options{.seconds = 0.5, .seeds = 1, .real = true, .engine = &engine};
  const ServingCase setting{.figure = "3.13", .systems = {System::kArise}};
  const auto run = [&] {
    return RunServingCase(setting, serving::MadeUpTables(4), serving::ProfileOf({9, 13}), options, [](const auto&) {});
  };
  const auto rows = run();
  ASSERT_TRUE(rows.ok()) << ToString(rows.status());
  EXPECT_EQ(nlohmann::json::parse(ServingRowsAsJson(*rows))[0]["engine"], "exec");
  EXPECT_GE(engine.frames, engine.batches);
  engine.fails = true;
  EXPECT_EQ(run().status().code(), absl::StatusCode::kInternal);
}

TEST(HalfByDropRateTest, TellsHardVideosFromEasyOnes) {
  const std::vector<serving::DropTable> tables = serving::MadeUpTables(4);
  const auto hard = HalfByDropRate(tables, true), easy = HalfByDropRate(tables, false);
  ASSERT_EQ(hard.size(), 2);
  ASSERT_EQ(easy.size(), 2);
  EXPECT_EQ(easy[0].data().video, tables[0].data().video);
  EXPECT_EQ(hard[1].data().video, tables[3].data().video);
}

TEST(ServingCaseTest, NamesItsSlas) {
  EXPECT_EQ((ServingCase{.sla_from = 0.02, .sla_to = 0.02}.Sla()), "0.02");
  EXPECT_EQ((ServingCase{.sla_from = 0.02, .sla_to = 0.06}.Sla()), "0.02-0.06");
}

}  // namespace
}  // namespace wharf::cli
