#include "wharf/base/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

namespace wharf {
namespace {

using nlohmann::json;
using std::chrono::microseconds;

class TraceTest : public ::testing::Test {
 protected:
  std::string Path() const { return testing::TempDir() + "trace_test_" + std::to_string(getpid()) + ".json"; }
  void TearDown() override { unlink(Path().c_str()); }

  // The file's events, without those about names.
  static std::vector<json> Events(Trace& trace, const std::string& path) {
    EXPECT_EQ(trace.Flush(), absl::OkStatus());
    std::ifstream file(path);
    std::vector<json> events;
    for (const json& event : json::parse(file)) {
      if (event.at("ph") != "M") events.push_back(event);
    }
    return events;
  }

  VirtualClock clock_;
  Trace trace_{Path(), Trace::kDefaultLimit, clock_};
};

TEST_F(TraceTest, ASpanLastsAsLongAsItsScope) {
  clock_.Advance(Nanoseconds(2'000'500));
  {
    TraceSpan span("upload", "offload", &trace_);
    span.Add("bytes", 7u).Add("ratio", 0.5).Add("whole", true).Add("to", "ser\"ver\n");
    clock_.Advance(microseconds(30));
  }
  const auto events = Events(trace_, Path());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["ph"], "X");
  EXPECT_EQ(events[0]["name"], "upload");
  EXPECT_EQ(events[0]["cat"], "offload");
  EXPECT_EQ(events[0]["ts"], 2000.5);
  EXPECT_EQ(events[0]["dur"], 30);
  EXPECT_EQ(events[0]["pid"], getpid());
  EXPECT_EQ(events[0]["args"], json({{"bytes", 7}, {"ratio", 0.5}, {"whole", true}, {"to", "ser\"ver\n"}}));
  EXPECT_EQ(events[1]["name"], "end of trace");
  EXPECT_EQ(events[1]["args"]["dropped events"], 0);
}

TEST_F(TraceTest, InstantsAndCountersStandAtTheirTime) {
  clock_.Advance(microseconds(5));
  trace_.Instant("miss", "offload", TraceArgs().Add("reason", "size").Add("worst", INFINITY));
  trace_.Counter("run ahead", "offload", 3);
  const auto events = Events(trace_, Path());
  EXPECT_EQ(events[0]["ph"], "i");
  EXPECT_EQ(events[0]["ts"], 5);
  EXPECT_EQ(events[0]["args"], json({{"reason", "size"}, {"worst", nullptr}}));
  EXPECT_EQ(events[1]["ph"], "C");
  EXPECT_EQ(events[1]["args"]["value"], 3);
}

TEST_F(TraceTest, TheNameOfTheProcessIsInTheFile) {
  ASSERT_EQ(trace_.Flush(), absl::OkStatus());
  std::ifstream file(Path());
  const json events = json::parse(file);
  EXPECT_EQ(events[0]["name"], "process_name");
}

TEST_F(TraceTest, EventsOfAnotherThreadHaveAnotherNumber) {
  trace_.Instant("tick", "test");
  std::thread([&] { trace_.Instant("tick", "test"); }).join();
  const auto events = Events(trace_, Path());
  ASSERT_EQ(events.size(), 3u);  // and how many were dropped
  EXPECT_NE(events[0]["tid"], events[1]["tid"]);
}

TEST_F(TraceTest, KeepsTheFirstEventsAndSaysHowManyItDropped) {
  Trace small(Path(), 1000, clock_);
  for (int i = 0; i < 100; ++i) small.Instant("tick", "test", TraceArgs().Add("i", i));
  const auto events = Events(small, Path());
  ASSERT_GT(events.size(), 2u);
  const uint64_t kept = events.size() - 1;
  for (uint64_t i = 0; i < kept; ++i) EXPECT_EQ(events[i]["args"]["i"], i);
  EXPECT_EQ(small.dropped(), 100 - kept);
  EXPECT_EQ(events.back()["args"]["dropped events"], 100 - kept);
}

TEST_F(TraceTest, ThreadsTraceAtOnceAndFlushingKeepsWhatWasThere) {
  constexpr int kThreads = 4, kEach = 5000;  // more than a chunk
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) TraceSpan("work", "test", &trace_).Add("i", i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Events(trace_, Path()).size(), kThreads * kEach + 1u);
  trace_.Instant("later", "test");
  EXPECT_EQ(Events(trace_, Path()).size(), kThreads * kEach + 2u);
  EXPECT_EQ(trace_.dropped(), 0u);
}

TEST_F(TraceTest, SaysWhyAFileCannotBeWritten) {
  EXPECT_EQ(Trace("/nowhere/trace.json").Flush().code(), absl::StatusCode::kNotFound);
}

// The process's own trace follows the environment it first looked at: asked in a process of its own.
int ExitCodeOf(int (*body)()) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST(ProcessTraceTest, IsOffUnlessTheEnvironmentNamesAFile) {
  EXPECT_EQ(ExitCodeOf([] {
              unsetenv("WHARF_TRACE");
              return Trace::Get() == nullptr ? 0 : 1;
            }),
            0);
  EXPECT_EQ(ExitCodeOf([] {
              setenv("WHARF_TRACE", "/dev/null", 1);
              return Trace::Get() != nullptr && Trace::Get() == Trace::Get() ? 0 : 1;
            }),
            0);
}

TEST(ProcessTraceTest, AForkedChildDoesNotTraceIntoItsParentsFile) {
  EXPECT_EQ(ExitCodeOf([] {
              setenv("WHARF_TRACE", "/dev/null", 1);
              if (Trace::Get() == nullptr) return 1;
              const bool child_is_off = ExitCodeOf([] { return Trace::Get() == nullptr ? 0 : 1; }) == 0;
              return child_is_off && Trace::Get() != nullptr ? 0 : 2;
            }),
            0);
}

}  // namespace
}  // namespace wharf
