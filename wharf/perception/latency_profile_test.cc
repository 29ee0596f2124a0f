#include "wharf/perception/latency_profile.h"

#include <gmock/gmock.h>

namespace wharf::perception {
namespace {

using ::testing::ElementsAre;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// A network whose batches take as long as they are told, by a clock that only it moves.
class Device {
 public:
  const Clock& Time() const { return clock_; }
  absl::Status Run(int batch, int ms) {
    ran.push_back(batch);
    clock_.Advance(std::chrono::milliseconds(ms));
    return absl::OkStatus();
  }
  std::vector<int> ran;

 private:
  VirtualClock clock_;
};

LatencyProfile Sample() { return {"depth", "a machine, 1 thread", {{1, 16.25}, {2, 28.5}, {8, 101}}}; }

std::string Changed(const std::string& from, const std::string& to) {
  std::string text = ToJson(Sample());
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << text;
  return text.replace(at, from.size(), to);
}

TEST(MeasureLatency, IsTheMedianWithoutTheFirstRound) {
  Device device;
  int round = 0;
  const auto latencies = MeasureLatency(
      [&](int batch) {
        return device.Run(batch, std::vector<int>{900, 5, 100, 7}.at(round++));
      },
      {.batches = {1}, .rounds = 3}, device.Time());
  ASSERT_TRUE(latencies.ok()) << ToString(latencies.status());
  EXPECT_THAT(*latencies, ElementsAre(BatchLatency{1, 7}));
}

TEST(MeasureLatency, LetsBatchesTakeTurns) {
  Device device;
  const auto latencies = MeasureLatency([&](int batch) { return device.Run(batch, 3 + 2 * batch); },
                                        {.batches = {1, 4}, .rounds = 2}, device.Time());
  ASSERT_TRUE(latencies.ok()) << ToString(latencies.status());
  EXPECT_THAT(*latencies, ElementsAre(BatchLatency{1, 5}, BatchLatency{4, 11}));
  EXPECT_THAT(device.ran, ElementsAre(1, 4, 1, 4, 1, 4));
}

TEST(MeasureLatency, PassesOnWhatGoesWrong) {
  Device device;
  const auto full = [](int) { return ResourceExhausted("full"); };
  EXPECT_EQ(MeasureLatency(full, {}, device.Time()).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(MeasureLatency(full, {.batches = {}}, device.Time()).status().code(), kInvalid);
  EXPECT_EQ(MeasureLatency(full, {.rounds = 0}, device.Time()).status().code(), kInvalid);
}

TEST(LatencyProfile, ComesBackFromJson) {
  const auto parsed = ParseLatencyProfile(ToJson(Sample()));
  ASSERT_TRUE(parsed.ok()) << ToString(parsed.status());
  EXPECT_EQ(*parsed, Sample());
}

TEST(LatencyProfile, RefusesWhatItDidNotWrite) {
  for (const std::string& text : {
           std::string("{"),
           std::string("[]"),
           std::string(size_t{1} << 20, ' '),
           Changed("profile/1", "profile/2"),
           Changed("\"network\"", "\"model\""),
           Changed("\"batches\"", "\"sizes\""),
           Changed("\"batch\": 2", "\"batch\": 1"),
           Changed("\"batch\": 1", "\"batch\": 0"),
           Changed("\"batch\": 8", "\"batch\": 9000000000"),
           Changed("\"batch\": 8", "\"batch\": 8.5"),
           Changed("28.5", "-1"),
           Changed("28.5", "null"),
           ToJson({"depth", "no batches", {}}),
       }) {
    EXPECT_EQ(ParseLatencyProfile(text).status().code(), kInvalid) << text.substr(0, 200);
  }
}

}  // namespace
}  // namespace wharf::perception
