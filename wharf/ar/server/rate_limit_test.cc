#include "wharf/ar/server/rate_limit.h"

#include <gtest/gtest.h>

namespace wharf::ar {
namespace {

TEST(RateLimitTest, ABurstThenAtItsRate) {
  RateLimit limit(4, 3);
  TimePoint now{std::chrono::hours(1)};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limit.Allows(now));
  EXPECT_FALSE(limit.Allows(now));
  EXPECT_FALSE(limit.Allows(now + std::chrono::milliseconds(249)));
  EXPECT_TRUE(limit.Allows(now + std::chrono::milliseconds(250)));
  EXPECT_FALSE(limit.Allows(now + std::chrono::milliseconds(250)));
}

TEST(RateLimitTest, WhatIsNotUsedIsKeptUpToABurst) {
  RateLimit limit(4, 3);
  const TimePoint begin, later{std::chrono::hours(1)};
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(limit.Allows(begin));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limit.Allows(later));
  EXPECT_FALSE(limit.Allows(later));
}

}  // namespace
}  // namespace wharf::ar
