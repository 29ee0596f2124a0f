#include "wharf/track/drop/drop_account.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

namespace wharf::track {
namespace {

constexpr double kReference = 3;

SeenDrop OnCurve(double level, double stride, double exponent) { return {stride, level * std::pow(stride, exponent)}; }

// In proportion to the stride.
SeenDrop Straight(double level, double stride) { return OnCurve(level, stride, 1); }

TEST(DropAccount, KnowsNothingBeforeTheFirstResult) {
  DropAccount account({.exponent = 0.5});
  account.Show(0, 5);
  EXPECT_EQ(account.frames(), 1);
  EXPECT_EQ(account.Lost(), 0);
}

TEST(DropAccount, IsExactWhereDropsGrowAsExpected) {
  EXPECT_TRUE(rc::check([] {
    const double exponent = *rc::gen::inRange(0, 11) / 10.0;
    DropAccount account({.exponent = exponent});
    double lost = 0;
    int64_t frame = 0;
    for (int results = *rc::gen::inRange(1, 20); results > 0; --results) {
      const double level = *rc::gen::inRange(1, 100) / 1e3;
      for (int shown = *rc::gen::inRange(1, 12); shown > 0; --shown, ++frame) {
        const double stride = *rc::gen::inRange(0, 40);
        account.Show(frame, stride);
        lost += OnCurve(level, stride, exponent).drop - OnCurve(level, kReference, exponent).drop;
      }
      // Of the same strides: means of drops at others do not lie on the curve.
      account.Settle(frame - 1, OnCurve(level, 8, exponent), OnCurve(level, 16, exponent), kReference);
    }
    RC_ASSERT(account.frames() == static_cast<double>(frame));
    RC_ASSERT(std::abs(account.Lost() - lost) < 1e-9 * (1 + std::abs(lost)));
  }));
}

TEST(DropAccount, LearnsHowDropsGrow) {
  constexpr double kSeen = 0.8;
  DropAccount account({.exponent = 0.3});
  for (int64_t frame = 0; frame < 1000; ++frame) {
    account.Show(frame, 12);
    account.Settle(frame, OnCurve(0.01, 12, kSeen), OnCurve(0.01, 24, kSeen), kReference);
  }
  const auto loss = [](double exponent) {
    return OnCurve(0.01, 12, kSeen).drop * (1 - std::pow(kReference / 12, exponent));
  };
  EXPECT_GT(account.Lost() / 1000, loss(0.65));
  EXPECT_LT(account.Lost() / 1000, loss(kSeen));
}

// Where results say too little, what is expected counts for more.
TEST(DropAccount, BelievesResultsAsMuchAsTheCurveSays) {
  constexpr double kSeen = 0.2;
  double before = 0;
  for (const double expected_results : {1, 8, 40}) {
    DropAccount account({.exponent = 0.5, .expected_results = expected_results});
    for (int64_t frame = 0; frame < 400; ++frame) {
      account.Show(frame, 12);
      account.Settle(frame, OnCurve(0.01, 12, kSeen), OnCurve(0.01, 24, kSeen), kReference);
    }
    EXPECT_GT(account.Lost(), 1.05 * before);
    before = account.Lost();
  }
}

// A scene that becomes ten times as hard counts from the result that shows it, not when a mean has followed.
TEST(DropAccount, FollowsASceneAtOnce) {
  DropAccount account({.exponent = 1});
  account.Show(0, 6);
  account.Settle(0, Straight(0.01, 6), Straight(0.01, 12), kReference);
  EXPECT_NEAR(account.Lost(), 0.03, 1e-12);
  account.Show(1, 6);
  EXPECT_NEAR(account.Lost(), 0.06, 1e-12);
  account.Settle(1, Straight(0.1, 6), Straight(0.1, 12), kReference);
  EXPECT_NEAR(account.Lost(), 0.03 + 0.3, 1e-12);
}

TEST(DropAccount, LeavesFramesAfterTheResultOpen) {
  DropAccount account({.exponent = 1});
  for (int64_t frame = 0; frame < 4; ++frame) account.Show(frame, 6);
  account.Settle(1, Straight(0.01, 6), Straight(0.01, 12), kReference);
  EXPECT_NEAR(account.Lost(), 4 * 0.03, 1e-12);
  account.Settle(3, Straight(0.02, 6), Straight(0.02, 12), kReference);
  EXPECT_NEAR(account.Lost(), 2 * 0.03 + 2 * 0.06, 1e-12);
}

TEST(DropAccount, TakesNothingThatIsNoDrop) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  DropAccount account({.exponent = 1});
  account.Show(0, 6);
  for (const SeenDrop seen : {SeenDrop{6, nan}, {6, -1}, {6, infinite}, {0, 0.1}, {nan, 0.1}, {infinite, 0.1}}) {
    account.Settle(0, seen, {12, 0.1}, kReference);
    account.Settle(0, {3, 0.1}, seen.stride == 6 ? seen : SeenDrop{3, 0.1}, kReference);
    EXPECT_EQ(account.Lost(), 0);
  }
}

TEST(DropAccount, GoesOnWithoutResults) {
  DropAccount account({.exponent = 1});
  account.Settle(-1, Straight(0.01, 6), Straight(0.01, 12), kReference);
  for (int64_t frame = 0; frame < 100'000; ++frame) account.Show(frame, 6);
  EXPECT_EQ(account.frames(), 100'000);
  EXPECT_NEAR(account.Lost(), 3000, 1e-6);
}

TEST(DropAccount, IsFiniteWhateverIsSeen) {
  EXPECT_TRUE(rc::check([] {
    DropAccount account(
        {.exponent = *rc::gen::inRange(0, 11) / 10.0, .expected_results = *rc::gen::inRange(1, 50) * 1.0});
    for (int64_t frame = 0; frame < 30; ++frame) {
      account.Show(frame, *rc::gen::inRange(0, 100));
      const double stride = *rc::gen::inRange(1, 1000);
      account.Settle(frame, {stride, *rc::gen::inRange(0, 3) * 0.7},
                     {stride + *rc::gen::inRange(1, 9), *rc::gen::inRange(0, 3) * 0.7}, *rc::gen::inRange(1, 20));
      RC_ASSERT(std::isfinite(account.Lost()));
    }
  }));
}

}  // namespace
}  // namespace wharf::track
