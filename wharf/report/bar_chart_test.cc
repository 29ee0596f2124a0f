#include "wharf/report/bar_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(BarChart, LinearWidthsFollowTheValues) {
  const std::string svg = BarChart{"t", "ms", false, {{"g", {{"a", 10}, {"b", 5}}}}}.Svg();
  EXPECT_THAT(svg, HasSubstr("width=\"480.0\""));
  EXPECT_THAT(svg, HasSubstr("width=\"240.0\""));
}

TEST(BarChart, LogarithmicDecadesAreEqual) {
  const std::string svg = BarChart{"t", "ms", true, {{"g", {{"a", 2}, {"b", 20}, {"c", 2000}}}}}.Svg();
  // The axis starts at 1: log(20) / log(2000) of its length.
  EXPECT_THAT(svg, HasSubstr("width=\"189.2\""));
  EXPECT_THAT(svg, HasSubstr("width=\"480.0\""));
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
