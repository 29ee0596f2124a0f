#include "wharf/report/line_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(LineChart, LinearLinesRunFromZeroToTheLargestValue) {
  const std::string svg = LineChart{"t", "n", "ms", false, 0, {{"a", {0, 5, 10}}}}.Svg();
  EXPECT_THAT(svg, HasSubstr("points=\"70.0,306.0 330.0,176.0 590.0,46.0 \""));
}

TEST(LineChart, LogarithmicDecadesAreEqualAndValuesNotAboveZeroAreLeftOut) {
  const std::string svg = LineChart{"t", "n", "ms", true, 0, {{"a", {1, 0, 100}}}}.Svg();
  EXPECT_THAT(svg, HasSubstr("points=\"70.0,306.0 590.0,46.0 \""));
  EXPECT_THAT(svg, HasSubstr("y1=\"176.0\""));  // the decade between
}

TEST(LineChart, AShorterLineEndsEarlierAndASingleValueIsADot) {
  const std::string svg = LineChart{"t", "n", "ms", false, 1, {{"long", {4, 4, 4}}, {"dot", {2}}}}.Svg();
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"70.0\" cy=\"176.0\""));
  EXPECT_THAT(svg, HasSubstr(">1</text>"));  // the first x
  EXPECT_THAT(svg, HasSubstr("#0072b2"));
  EXPECT_THAT(svg, HasSubstr("#e69f00"));
}

TEST(LineChart, LargeValuesAreWrittenOut) {
  EXPECT_THAT((LineChart{"t", "n", "ms", true, 0, {{"a", {20, 15733}}}}.Svg()), HasSubstr(">100000</text>"));
}

TEST(LineChart, TextIsEscapedAndNoLineIsFine) {
  EXPECT_THAT((LineChart{"<t>", "n", "ms", true, 0, {{"a&b", {1, 2}}}}.Svg()), Not(HasSubstr("<t>")));
  EXPECT_THAT((LineChart{"t", "n", "ms", true, 0, {}}.Svg()), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace wharf::report
