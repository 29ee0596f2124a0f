#include "wharf/base/clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace wharf {
namespace {

using std::chrono::milliseconds;

TEST(VirtualClockTest, StandsStillUntilAdvanced) {
  VirtualClock clock;
  const TimePoint start = clock.Now();
  EXPECT_EQ(clock.Now(), start);
  clock.Advance(milliseconds(5));
  EXPECT_EQ(clock.Now() - start, milliseconds(5));
}

TEST(VirtualClockTest, SleeperWakesWhenItsDeadlineIsReached) {
  VirtualClock clock;
  const TimePoint deadline = clock.Now() + milliseconds(10);
  TimePoint woke;
  std::thread sleeper([&] {
    clock.SleepUntil(deadline);
    woke = clock.Now();
  });
  clock.Advance(milliseconds(4));
  clock.Advance(milliseconds(6));
  sleeper.join();
  EXPECT_EQ(woke, deadline);
}

TEST(RealClockTest, NeverGoesBackAndSleepsAtLeastAsLongAsAsked) {
  Clock& clock = Clock::Real();
  const TimePoint start = clock.Now();
  clock.SleepFor(milliseconds(2));
  EXPECT_GE(clock.Now() - start, milliseconds(2));
}

}  // namespace
}  // namespace wharf
