#include "wharf/report/scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace wharf::report {
namespace {

using ::testing::ElementsAre;

TEST(Scale, LinearOnesBeginAtZeroAndEndAtARoundNumber) {
  const Scale scale({3, 87}, false);
  EXPECT_THAT(scale.Ticks(), ElementsAre(0, 20, 40, 60, 80, 100));
  EXPECT_DOUBLE_EQ(scale.Share(50), 0.5);
}

TEST(Scale, LinearOnesReachBelowZeroForWhatIsThere) {
  const Scale scale({-7, 12}, false);
  EXPECT_THAT(scale.Ticks(), ElementsAre(-10, -5, 0, 5, 10, 15));
  EXPECT_DOUBLE_EQ(scale.Share(0), 0.4);
  EXPECT_THAT(Scale({-30, -12}, false).Ticks(), ElementsAre(-30, -20, -10, 0));
}

TEST(Scale, LogarithmicOnesHaveTicksBetweenThePowersOfTenIfTheyAreFew) {
  EXPECT_THAT(Scale({30, 150}, true).Ticks(), ElementsAre(20, 50, 100, 200));
  EXPECT_THAT(Scale({2, 15000}, true).Ticks(), ElementsAre(1, 10, 100, 1000, 10000, 100000));
}

TEST(Scale, WhatIsNotANumberIsLeftOut) {
  const Scale scale({0, INFINITY, std::numeric_limits<double>::quiet_NaN(), -3, 5}, true);
  EXPECT_FALSE(scale.Shows(0));
  EXPECT_FALSE(scale.Shows(INFINITY));
  EXPECT_TRUE(scale.Shows(5));
  EXPECT_TRUE(Scale({}, false).Shows(0));
}

RC_GTEST_PROP(Scale, EveryValueIsOnTheAxisAndEveryTickIsRound, ()) {
  const bool logarithmic = *rc::gen::arbitrary<bool>();
  const auto exponents = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(-60, 90)));
  std::vector<double> values;
  for (const int exponent : exponents) values.push_back(std::pow(10, exponent / 10.0));
  if (!logarithmic && *rc::gen::arbitrary<bool>()) values.front() *= -1;
  const Scale scale(values, logarithmic);
  for (const double value : values) RC_ASSERT(scale.Share(value) > -1e-9 && scale.Share(value) < 1 + 1e-9);
  RC_ASSERT(scale.Ticks().size() >= 2 && scale.Ticks().size() <= 20);
  RC_ASSERT(std::abs(scale.Share(scale.Ticks().back()) - 1) < 1e-9);
  RC_ASSERT(std::abs(scale.Share(scale.Ticks().front())) < 1e-9);
}

TEST(WrapText, BreaksAtBlanksAndLosesNothing) {
  EXPECT_THAT(WrapText("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(WrapText("extraordinarily long", 4), ElementsAre("extr", "aord", "inar", "ily", "long"));
  EXPECT_THAT(WrapText("", 4), ElementsAre());
}

}  // namespace
}  // namespace wharf::report
