#include "wharf/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>

namespace wharf {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

std::string StandardErrorOf(const std::function<void()>& work) {
  testing::internal::CaptureStderr();
  work();
  return testing::internal::GetCapturedStderr();
}

class LogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("WHARF_LOG") != nullptr) GTEST_SKIP() << "WHARF_LOG decides what is written";
  }
  void TearDown() override { SetDefaultLogLevel(LogLevel::kWarning); }
};

TEST_F(LogTest, ALineHasTimeLevelEventAndFields) {
  const std::string line = StandardErrorOf([] {
    Log(LogLevel::kWarning, "session opened", {{"session", 7}, {"peer", "a b"}, {"why", "\"x\"\n\\"}, {"none", ""}});
  });
  EXPECT_THAT(line, MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3} warning session "
                                 "opened session=7 peer=\"a b\" why=\"\\\\\"x\\\\\"\\\\n\\\\\\\\\" none=\"\"\n"));
}

TEST_F(LogTest, ControlCharactersAreWritten) {
  const std::string line = StandardErrorOf([] {
    Log(LogLevel::kWarning, "control characters", {{"a", "\x1b[2J"}, {"b", "x\r\x7f"}, {"c", "\xc2\x9b\xc3\xa4"}});
  });
  EXPECT_THAT(line, HasSubstr(" a=\"\\x1b[2J\" b=\"x\\x0d\\x7f\" c=\"\\xc2\\x9b\xc3\xa4\"\n"));
}

TEST_F(LogTest, WhatIsBelowTheLevelIsNotWritten) {
  const auto log_all = [] {
    for (const LogLevel level : {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
      Log(level, "levels of a test");
    }
  };
  EXPECT_THAT(StandardErrorOf(log_all), MatchesRegex("[^ ]+ warning levels of a test\n[^ ]+ error levels of a test\n"));
  SetDefaultLogLevel(LogLevel::kError);
  EXPECT_THAT(StandardErrorOf(log_all), MatchesRegex("[^ ]+ error levels of a test\n"));
  EXPECT_FALSE(LogEnabled(LogLevel::kWarning));
  SetDefaultLogLevel(LogLevel::kDebug);
  EXPECT_THAT(StandardErrorOf(log_all), MatchesRegex("[^ ]+ debug levels[^\n]+\n[^ ]+ info levels[^\n]+\n[^ ]+ warning "
                                                     "levels[^\n]+\n[^ ]+ error levels[^\n]+\n"));
}

}  // namespace
}  // namespace wharf
