#include "wharf/report/gantt_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

GanttChart Chart() {
  GanttChart chart{"a plan", "ms", 0, 87, {"device", "server"}, {}};
  chart.bars = {{0, 0, 60, "device computes", "Conv_1", "Conv_1: 0 to 60 ms"},
                {1, 60, 62, "server computes", "/features/layer.1/conv", "/features/layer.1/conv: 60 to 62 ms"},
                {1, 70, 70.1, "server computes", "Relu_7", "Relu_7: 70 to 70.1 ms"}};
  return chart;
}

TEST(GanttChart, HasRoundTicksALegendAndTheUnit) {
  const std::string svg = Chart().Svg();
  for (const char* text : {">0<", ">10<", ">80<", ">ms<", ">device computes<", ">server computes<", ">device<"})
    EXPECT_THAT(svg, HasSubstr(text));
  EXPECT_THAT(svg, Not(HasSubstr(">87<")));
}

TEST(GanttChart, NamesStandAlongUpOrBesideTheirBarsAndAreNeverCut) {
  const std::string svg = Chart().Svg();
  EXPECT_THAT(svg, HasSubstr(">Conv_1</text>"));
  EXPECT_THAT(svg, HasSubstr("rotate(-90)"));
  EXPECT_THAT(svg, HasSubstr(">/features/layer.1/conv</text>"));
  EXPECT_THAT(svg, HasSubstr("Without room for their names: Relu_7: 70 to 70.1 ms"));
}

TEST(GanttChart, BarsAreCutAtTheWindowAndThoseOutsideLeftOut) {
  GanttChart chart = Chart();
  chart.from = 50, chart.to = 61;
  const std::string svg = chart.Svg();
  EXPECT_THAT(svg, HasSubstr("Conv_1"));
  EXPECT_THAT(svg, Not(HasSubstr("Relu_7")));
  EXPECT_THAT(svg, HasSubstr(">60<"));
}

TEST(GanttChart, TextIsEscaped) {
  GanttChart chart = Chart();
  chart.title = chart.bars[0].name = "<&>";
  EXPECT_THAT(chart.Svg(), Not(HasSubstr("<&>")));
}

}  // namespace
}  // namespace wharf::report
