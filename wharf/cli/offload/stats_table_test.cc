#include "wharf/cli/offload/stats_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "wharf/cli/common/text.h"

namespace wharf::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kCounters[] = R"("calls": 70, "local_calls": 40, "posted_calls": 23,
    "blocking_calls": 7, "compiler_calls": 2, "posted_operations": 21, "blocking_round_trips": 6, "bytes_up": 2048, "bytes_down": 50,
    "device_busy_ns": 500000000, "wall_s": 2.0, "per_function": {"cudaMalloc": 3, "cudaGetDevice": 60})";
constexpr char kReplay[] = R"({"phase": "replaying", "sequence_length": 1280, "sequences_known": 2, "inferences": 20,
    "hits": 950, "changed": 40, "jumps": 5, "explicit": 5, "misses": {"sequence ended": 1, "arguments": 4, "size": 0},
    "run_ahead": 900, "undone": 12, "pushes": 33, "round_trips": 21})";

std::string Counters(const std::string& mode) { return "{\"mode\": \"" + mode + "\", " + kCounters; }

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
  const auto table = StatsTable(File(Counters("posted") + "}"));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(*table, AllOf(HasSubstr("mode posted, 2.000 s"),
                            HasSubstr("70  (40 local, 23 posted, 7 that may wait; besides them 2 of the compiler's)"),
                            HasSubstr("0.500 s  (25 %)"), HasSubstr("60  cudaGetDevice"), Not(HasSubstr("replay"))));
}

TEST_F(StatsTableTest, SaysWhichCallsWaitedTheLongestFirst) {
  const std::string text = Counters("posted") + R"(, "waits": {
      "cudaFree": {"round_trips": 5, "ms": 0.25}, "cudaMemcpy": {"round_trips": 1, "ms": 12.5}}})";
  EXPECT_THAT(StatsTable(File(text)).value(), HasSubstr("6  waits for the server\n"
                                                        "                           1  in cudaMemcpy, 12.500 ms\n"
                                                        "                           5  in cudaFree, 0.250 ms\n"));
}

TEST_F(StatsTableTest, SaysWhatCompressingSaved) {
  const std::string text = Counters("posted") + R"(, "compression": {
      "up": {"plain": {"payloads": 1, "bytes_before": 9, "bytes_after": 9},
             "lz4": {"payloads": 2, "bytes_before": 1500, "bytes_after": 40},
             "zstd": {"payloads": 3, "bytes_before": 500, "bytes_after": 10}, "differences": 4, "processor_ms": 7.1},
      "down": {"plain": {"payloads": 0, "bytes_before": 0, "bytes_after": 0},
               "lz4": {"payloads": 0, "bytes_before": 0, "bytes_after": 0},
               "zstd": {"payloads": 0, "bytes_before": 0, "bytes_after": 0}, "differences": 0, "processor_ms": 0}}})";
  const std::string expected = fmt::format("{} became {} (LZ4 2, zstd 3, of these 4 as differences) in 7 ms",
                                           FormatBytes(2000), FormatBytes(50));
  EXPECT_THAT(StatsTable(File(text)).value(),
              AllOf(HasSubstr("compressed up   " + expected), HasSubstr("compressed down      nothing")));
}

TEST_F(StatsTableTest, SumsTheCallsOfFunctionsThatItDoesNotName) {
  std::string text = Counters("posted") + "}";
  std::string many = R"("per_function": {)";
  for (int i = 0; i < 15; ++i) many += fmt::format(R"("cudaF{}": {}, )", i, 100 - i);
  text.replace(text.find(R"("per_function": {)"), std::string_view(R"("per_function": {)").size(), many);
  EXPECT_THAT(StatsTable(File(text)).value(),
              AllOf(HasSubstr("89  cudaF11"), HasSubstr(fmt::format("{}  of 5 others", 88 + 87 + 86 + 60 + 3))));
}

TEST_F(StatsTableTest, ReplaySaysWhatItForesawAndWhatNotAndWhy) {
  const std::string text = Counters("replay") + R"(, "replay": )" + kReplay + "}";
  const auto summary = ReplaySummary(File(text));
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_THAT(*summary,
              AllOf(HasSubstr("replay, replaying: 995 of 1000 operations for the server predicted (99.5 %)"),
                    HasSubstr("950  as known"), HasSubstr("40  with other arguments"), HasSubstr("5  sent whole"),
                    HasSubstr("5  misses (arguments 4, sequence ended 1)"), HasSubstr("12  of them undone"),
                    HasSubstr("1280  operations in the sequence"), Not(HasSubstr("operations known"))));
  EXPECT_THAT(StatsTable(File(text)).value(), HasSubstr(*summary));
}

TEST_F(StatsTableTest, ModesWithoutReplaySaySo) {
  const std::string with_zeros = Counters("posted") + R"(, "replay": {"hits": 0}})";
  EXPECT_EQ(ReplaySummary(File(with_zeros)).value(), "wharf: mode posted: nothing is replayed\n");
}

TEST_F(StatsTableTest, RefusesWhatIsNotThereAndWhatIsNotCounters) {
  EXPECT_EQ(StatsTable("/nowhere").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(StatsTable(File("")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(StatsTable(File("{}")).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ReplaySummary(File(R"({"mode": "replay", "replay": {"phase": 1}})")).status().code(),
            absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace wharf::cli
