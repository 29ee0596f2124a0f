#include "wharf/base/log_limit.h"

#include <gtest/gtest.h>

namespace wharf {
namespace {

constexpr int kLines = LogLimit::kLinesPerSecond;

class LogLimitTest : public testing::Test {
 protected:
  int Written(std::string_view event, int lines) {
    int written = 0;
    for (int i = 0; i < lines; ++i) written += limit_.Ask(event, clock_.Now()).write ? 1 : 0;
    return written;
  }
  VirtualClock clock_;
  LogLimit limit_;
};

TEST_F(LogLimitTest, SoManyLinesOfAnEventASecond) {
  EXPECT_EQ(Written("refused", 1000), kLines);
  clock_.Advance(std::chrono::milliseconds(999));
  EXPECT_EQ(Written("refused", 1000), 0);
  clock_.Advance(std::chrono::milliseconds(1));
  EXPECT_EQ(Written("refused", 1000), kLines);
}

TEST_F(LogLimitTest, EventsDoNotCountForEachOther) {
  EXPECT_EQ(Written("refused", 1000), kLines);
  EXPECT_EQ(Written("opened", 5), 5);
}

TEST_F(LogLimitTest, TheNextLineSaysHowManyWereLeftOut) {
  EXPECT_EQ(Written("refused", kLines + 7), kLines);
  clock_.Advance(std::chrono::seconds(5));
  const LogLimit::Verdict verdict = limit_.Ask("refused", clock_.Now());
  EXPECT_TRUE(verdict.write);
  EXPECT_EQ(verdict.left_out, 7u);
  EXPECT_EQ(limit_.Ask("refused", clock_.Now()).left_out, 0u);
}

}  // namespace
}  // namespace wharf
