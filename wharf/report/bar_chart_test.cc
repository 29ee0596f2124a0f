#include "wharf/report/bar_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(BarChart, HasAnAxisWithRoundNumbersAndItsUnit) {
  const std::string svg = BarChart{"t", "ms", false, {{"g", {{"a", 87}, {"b", 5}}}}}.Svg();
  for (const char* text : {">0<", ">20<", ">100<", ">ms<", ">87 ms<", ">5 ms<"}) EXPECT_THAT(svg, HasSubstr(text));
}

TEST(BarChart, LogarithmicDecadesAreEqualAndNothingIsDrawnForZero) {
  const std::string svg = BarChart{"t", "ms", true, {{"g", {{"a", 2}, {"b", 20}, {"c", 2000}, {"d", 0}}}}}.Svg();
  EXPECT_THAT(svg, HasSubstr(">1000<"));
  EXPECT_THAT(svg, HasSubstr("width=\"0.0\""));
}

TEST(BarChart, LabelsHaveRoomHoweverLongTheyAre) {
  const std::string label = "a system whose name is long";
  const std::string svg = BarChart{"t", "ms", false, {{"g", {{label, 1}}}}}.Svg();
  EXPECT_THAT(svg, HasSubstr("text-anchor=\"end\">" + label + "<"));
  EXPECT_THAT(svg, HasSubstr("<text x=\"250\""));  // 27 letters of 14 x 0.62, and some room
}

TEST(BarChart, BoundsAreMarkedAndExplained) {
  EXPECT_THAT((BarChart{"t", "ms", false, {{"g", {{"a", 5, 4.0}}}}}.Svg()), HasSubstr("bound"));
  EXPECT_THAT((BarChart{"t", "ms", false, {{"g", {{"a", 5}}}}}.Svg()), Not(HasSubstr("bound")));
}

TEST(BarChart, SameLabelSameColourAndTextIsEscaped) {
  const std::string svg = BarChart{"<&>", "ms", false, {{"g", {{"a", 1}}}, {"h", {{"a", 2}, {"b", 0}}}}}.Svg();
  EXPECT_THAT(svg, HasSubstr("&lt;&amp;&gt;"));
  EXPECT_THAT(svg, Not(HasSubstr("<&>")));
  const size_t first = svg.find("#0072b2");
  EXPECT_NE(svg.find("#0072b2", first + 1), std::string::npos);
  EXPECT_THAT(svg, HasSubstr("#e69f00"));
}

TEST(BarChart, WithoutBars) { EXPECT_THAT((BarChart{"t", "ms", true, {}}).Svg(), HasSubstr("</svg>")); }

}  // namespace
}  // namespace wharf::report
