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

TEST(ProcessorTimeTest, AThreadsIsPartOfItsProcesssAndNotAnotherThreads) {
  const TimePoint real = Clock::Real().Now(), process = Clock::OfProcess().Now(), thread = Clock::OfThread().Now();
  Nanoseconds computed{0};
  std::thread([&computed] {
    while (computed < milliseconds(5)) computed = Clock::OfThread().Now().since_epoch;
  }).join();
  const Nanoseconds waited = Clock::OfThread().Now() - thread;
  EXPECT_GE(Clock::OfProcess().Now() - process, computed + waited);
  EXPECT_LE(waited, Clock::Real().Now() - real - computed);
}

}  // namespace
}  // namespace wharf
