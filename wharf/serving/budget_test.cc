#include "wharf/serving/budget.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace wharf::serving {
namespace {

constexpr BudgetOptions kOptions{.reserve_s = 2, .horizon_s = 8, .repay_s = 1, .least = 0.25, .most = 2};

ClientModel Client(double frames, double lost) {
  return {.fps = 60, .sla = 0.04, .drop_rate = 0.01, .network_s = 0.02, .frames = frames, .lost = lost};
}

TEST(Budget, WhoComesIsServedBetterThanAgreed) { EXPECT_DOUBLE_EQ(Allowance(Client(0, 0), kOptions), 0.75 * 0.04); }

TEST(Budget, WhoHasItsReserveMayLoseWhatWasAgreed) {
  EXPECT_DOUBLE_EQ(Allowance(Client(600, 0.04 * 480), kOptions), 0.04);
}

TEST(Budget, WhatIsOwedIsPaidBackSooner) {
  const double saved = 0.04 - Allowance(Client(600, 0.04 * 600), kOptions);   // no reserve left
  const double repaid = 0.04 - Allowance(Client(600, 0.04 * 615), kOptions);  // a quarter of a second owed
  EXPECT_NEAR(saved, 0.25 * 0.04, 1e-12);
  EXPECT_NEAR(repaid, 0.5 * 0.04, 1e-12);
}

TEST(Budget, IsWithinItsBounds) {
  EXPECT_DOUBLE_EQ(Allowance(Client(600, 600), kOptions), 0.25 * 0.04);
  EXPECT_DOUBLE_EQ(Allowance(Client(600, -600), kOptions), 2 * 0.04);
}

TEST(Budget, OwesWhoHasLostMoreThanAgreed) {
  EXPECT_FALSE(Owes(Client(0, 0)));
  EXPECT_FALSE(Owes(Client(100, 4)));
  EXPECT_TRUE(Owes(Client(100, 4.001)));
}

// Whatever it lost before, a client that loses its allowance from now on ends within its SLA, unless it owes so much
// that the least allowance does not pay it back in the time.
TEST(Budget, WhoKeepsToItsAllowanceKeepsItsSla) {
  EXPECT_TRUE(rc::check([] {
    const double before = *rc::gen::inRange(0, 6000);
    ClientModel client = Client(before, before * *rc::gen::inRange(-10, 80) / 1e3);
    for (int frame = 0; frame < 60 * 60; ++frame) {
      client.lost += Allowance(client, kOptions);
      ++client.frames;
    }
    const double debt = before * 0.04, paid = 0.75 * 0.04 * 60 * 60;
    if (debt < paid) RC_ASSERT(!Owes(client));
  }));
}

}  // namespace
}  // namespace wharf::serving
