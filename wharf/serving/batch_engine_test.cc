#include "wharf/serving/batch_engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

namespace wharf::serving {
namespace {

constexpr auto kForever = std::chrono::hours(1);

TimePoint Never() { return Clock::Real().Now() + kForever; }

TEST(ThreadedEngineTest, RunsBatchesOneAfterTheOther) {
  std::vector<std::string> run;  // of the engine's thread, until Wait has said that it is done
  const auto engine = MakeThreadedEngine(
      [&](std::span<const VideoFrame> batch) {
        for (const VideoFrame& one : batch) run.push_back(std::string(one.video) + std::to_string(one.frame));
        run.emplace_back("|");
        return absl::OkStatus();
      },
      Clock::Real());
  for (FrameId frame = 0; frame < 20; ++frame) {
    engine->Start({{"a", frame}, {"b", frame}});
    const auto took = engine->Wait(Never());
    ASSERT_TRUE(took.ok()) << ToString(took.status());
    ASSERT_TRUE(took->has_value());
    EXPECT_GE(**took, Nanoseconds(0));
  }
  ASSERT_EQ(run.size(), 60);
  EXPECT_EQ(run[0], "a0");
  EXPECT_EQ(run[1], "b0");
  EXPECT_EQ(run[2], "|");
  EXPECT_EQ(run[58], "b19");
}

TEST(ThreadedEngineTest, WaitsNoLongerThanTheDeadline) {
  std::atomic<bool> go = false;
  const auto engine = MakeThreadedEngine(
      [&](std::span<const VideoFrame>) {
        go.wait(false);
        return absl::OkStatus();
      },
      Clock::Real());
  engine->Start({{"a", 0}});
  const TimePoint soon = Clock::Real().Now() + std::chrono::milliseconds(5);
  const auto none = engine->Wait(soon);
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
  EXPECT_GE(Clock::Real().Now(), soon);
  EXPECT_FALSE((*engine->Wait(TimePoint{})).has_value());  // only asks
  go = true;
  go.notify_all();
  EXPECT_TRUE((*engine->Wait(Never())).has_value());
  EXPECT_FALSE((*engine->Wait(TimePoint{})).has_value());  // said once
}

TEST(ThreadedEngineTest, SaysWhatFailed) {
  const auto engine =
      MakeThreadedEngine([](std::span<const VideoFrame>) { return Internal("no such network"); }, Clock::Real());
  engine->Start({{"a", 0}});
  EXPECT_EQ(engine->Wait(Never()).status().code(), absl::StatusCode::kInternal);
}

TEST(ThreadedEngineTest, EndsAfterTheBatchThatRuns) {
  std::atomic<int> runs = 0;
  {
    const auto engine = MakeThreadedEngine(
        [&](std::span<const VideoFrame>) {
          ++runs;
          return absl::OkStatus();
        },
        Clock::Real());
    engine->Start({{"a", 0}});
  }
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace wharf::serving
