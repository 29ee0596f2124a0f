#include "wharf/report/line_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace wharf::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(LineChart, LinearLinesRunFromZeroToARoundNumber) {
  const std::string svg = LineChart{"t", "n", "ms", false, 0, {{"a", {0, 5, 10}}}}.Svg();
  EXPECT_THAT(svg, HasSubstr("points=\"72.0,328.0 382.0,188.0 692.0,48.0\""));
  EXPECT_THAT(svg, HasSubstr(">10</text>"));
}

TEST(LineChart, LogarithmicDecadesAreEqualAndValuesNotAboveZeroEndALine) {
  const std::string svg = LineChart{"t", "n", "ms", true, 0, {{"a", {1, 100, 0, 10000, 10000}}}}.Svg();
  EXPECT_THAT(svg, HasSubstr("points=\"72.0,328.0 227.0,188.0\""));
  EXPECT_THAT(svg, HasSubstr("points=\"537.0,48.0 692.0,48.0\""));
}

TEST(LineChart, ValuesStandAtTheirPlacesAndAxesSayWhich) {
  LineChart chart{"t", "Mbit/s", "ms", false, 1, {{"a", {3, 2, 1}}}};
  chart.x = {5, 50, 500};
  chart.logarithmic_x = true;
  const std::string svg = chart.Svg();
  EXPECT_THAT(svg, HasSubstr("382.0,"));
  for (const char* text : {">5<", ">50<", ">500<", ">Mbit/s<"}) EXPECT_THAT(svg, HasSubstr(text));
}

TEST(LineChart, AnAxisBeginsAtZeroNotAtMinusZero) {
  LineChart chart{"t", "seconds", "ms", false, 0, {{"a", {3, 2, 1}}}};
  chart.x = {0, 0.5, 1};
  EXPECT_THAT(chart.Svg(), Not(HasSubstr(">-0<")));
  EXPECT_THAT(chart.Svg(), HasSubstr(">0.2<"));
}

TEST(LineChart, ALineOnTopOfAnotherIsDashedAndALikeOneIsNamed) {
  const std::string apart = LineChart{"t", "n", "ms", false, 0, {{"a", {1, 2, 3}}, {"b", {3, 2.5, 1}}}}.Svg();
  EXPECT_THAT(apart, Not(HasSubstr("dasharray")));
  const std::string partly = LineChart{"t", "n", "ms", false, 0, {{"a", {1, 2, 3}}, {"b", {1, 2, 9}}}}.Svg();
  EXPECT_THAT(partly, HasSubstr("stroke-dasharray=\"9 9\""));
  EXPECT_THAT(partly, Not(HasSubstr("the same as")));
  const std::string same =
      LineChart{"t", "n", "ms", false, 0, {{"a", {1, 2, 3}}, {"b", {1, 2, 3}}, {"c", {1, 2, 3}}}}.Svg();
  EXPECT_THAT(same, HasSubstr(">b (the same as a)<"));
  EXPECT_THAT(same, HasSubstr(">c (the same as a)<"));
  EXPECT_THAT(same, HasSubstr("stroke-dasharray=\"9 18\""));
}

TEST(LineChart, ABoundIsDottedAndInTheLegend) {
  const std::string svg = LineChart{"t", "n", "ms", false, 0, {{"a", {5, 6}}, {"bound", {4, 4}, true}}}.Svg();
  EXPECT_THAT(svg, HasSubstr("stroke-dasharray=\"2 4\""));
  EXPECT_THAT(svg, HasSubstr(">bound<"));
}

TEST(LineChart, AShorterLineEndsEarlierAndASingleValueIsADot) {
  const std::string svg = LineChart{"t", "n", "ms", false, 1, {{"long", {4, 4, 4}}, {"dot", {2}}}}.Svg();
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"72.0\" cy=\"188.0\""));
  EXPECT_THAT(svg, HasSubstr(">1</text>"));  // the first x
}

TEST(LineChart, TextIsEscapedAndNoLineIsFine) {
  EXPECT_THAT((LineChart{"<t>", "n", "ms", true, 0, {{"a&b", {1, 2}}}}.Svg()), Not(HasSubstr("<t>")));
  EXPECT_THAT((LineChart{"t", "n", "ms", true, 0, {}}.Svg()), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace wharf::report
