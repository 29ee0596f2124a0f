#include "wharf/cli/stats_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace wharf::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kPosted[] = R"({"mode": "posted", "calls": 70, "local_calls": 40, "posted_calls": 23,
    "blocking_calls": 7, "posted_operations": 21, "blocking_round_trips": 6, "bytes_up": 2048, "bytes_down": 50,
    "device_busy_ns": 500000000, "wall_s": 2.0, "per_function": {"cudaMalloc": 3, "cudaGetDevice": 60})";
constexpr char kReplay[] = R"({"phase": "replaying", "sequence_length": 1280, "sequences_known": 2, "inferences": 20,
    "hits": 950, "changed": 40, "jumps": 5, "explicit": 5, "misses": {"sequence ended": 1, "arguments": 4, "size": 0},
    "run_ahead": 900, "undone": 12, "pushes": 33, "round_trips": 21})";

class StatsTableTest : public ::testing::Test {
 protected:
  ~StatsTableTest() override { unlink(path_.c_str()); }
  const std::string& File(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }

 private:
  const std::string path_ = testing::TempDir() + "stats_table_test_" + std::to_string(getpid());
};

TEST_F(StatsTableTest, ShowsWhatTravelledAndTheMostFrequentCalls) {
  const auto table = StatsTable(File(std::string(kPosted) + "}"));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(*table, AllOf(HasSubstr("mode posted, 2.000 s"), HasSubstr("70  (40 local, 23 posted, 7 blocking)"),
                            HasSubstr("0.500 s  (25 %)"), HasSubstr("60  cudaGetDevice"), Not(HasSubstr("replay"))));
}

TEST_F(StatsTableTest, ReplaySaysWhatItForesawAndWhatNotAndWhy) {
  const std::string text = std::string(kPosted) + R"(, "replay": )" + kReplay + "}";
  const auto summary = ReplaySummary(File(text));
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_THAT(*summary, AllOf(HasSubstr("replaying, 20 inferences"), HasSubstr("1280  operations; 2 known"),
                              HasSubstr("995  (99.5 %): 950 as known, 40 with other arguments, 5 jumps"),
                              HasSubstr("5  (arguments 4, sequence ended 1)"), HasSubstr("900  operations, 12 undone"),
                              HasSubstr("33  (21 round trips)")));
  EXPECT_THAT(StatsTable(File(text)).value(), HasSubstr(*summary));
}

TEST_F(StatsTableTest, ModesWithoutReplaySaySo) {
  EXPECT_EQ(ReplaySummary(File(std::string(kPosted) + "}")).value(), "wharf: mode posted: nothing is replayed\n");
}

TEST_F(StatsTableTest, RefusesWhatIsNotThereAndWhatIsNotCounters) {
  EXPECT_EQ(StatsTable("/nowhere").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(StatsTable(File("")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(StatsTable(File("{}")).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ReplaySummary(File(R"({"replay": {"phase": 1}})")).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace wharf::cli
