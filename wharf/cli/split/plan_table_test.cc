#include "wharf/cli/split/plan_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wharf/cli/split/gantt.h"

namespace wharf::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

// Input of 8 rows, a convolution, the result.
split::Profile SmallModel() {
  return *split::Profile::Parse(
      "op,name,inputs_from,output_shapes,output_bytes_f32,row_dim,kind,kernel,stride,padding,dilation,device_ms,server_"
      "ms\n"
      "0,_start,,1x1x8x2,8000,2,row,1,1,0,1,0,0\n"
      "1,conv2d,0,1x1x8x2,8000,2,window,3,1,1,1,8,1\n"
      "2,relu,1,1x1x8x2,8000,2,row,1,1,0,1,1,1\n"
      "3,_end,2,1x1x8x2,64,,global,1,1,0,1,0,0\n",
      "small");
}

split::Plan SharedPlan() {
  split::Plan plan;
  plan.rows[split::kDevice] = {{0, 8}, {0, 5}, {0, 5}, {0, 1}};
  plan.rows[split::kServer] = {{}, {5, 8}, {5, 8}, {}};
  return plan;
}

TEST(SplitPlan, TableFoldsWhatIsTreatedAlike) {
  const split::Profile profile = SmallModel();
  const split::RowGraph graph(profile);
  const std::string table = PlanAsTable(profile, graph, SharedPlan());
  EXPECT_THAT(table, HasSubstr("conv2d … relu"));
  EXPECT_THAT(table, HasSubstr("0-4"));
  EXPECT_THAT(table, HasSubstr("5-7"));
  EXPECT_THAT(table, HasSubstr("4.0"));  // rows 4 to 7 of the input
}

// Both sides' parts of the convolution in two bands.
split::Plan InBands() {
  split::Layout layout;
  layout.bands = {{0, {0, 8}}, {1, {0, 6}}, {1, {6, 8}}, {2, {0, 8}}, {3, {0, 1}}};
  const split::RowGraph graph(SmallModel());
  return split::InLayout(split::WithLayout(graph, layout), layout, SharedPlan());
}

TEST(SplitPlan, BandsKeepTheirRowsInTheTable) {
  const split::Plan plan = InBands();
  const split::Profile profile = SmallModel();
  const split::RowGraph graph(profile);
  ASSERT_TRUE(split::CheckPlan(graph, plan).ok());
  const std::string table = PlanAsTable(profile, split::WithLayout(graph, plan.layout), plan);
  EXPECT_THAT(table, HasSubstr("5-5"));
  EXPECT_THAT(table, HasSubstr("6-7"));
}

TEST(SplitPlan, PictureShowsEveryLane) {
  const split::Profile profile = SmallModel();
  const split::RowGraph graph(profile);
  std::vector<split::Event> events;
  const split::Outcome outcome = split::Evaluator(graph).Record(SharedPlan(), {.bytes_per_ms = 1000}, events);
  const std::string svg = TimelineAsSvg(profile, graph, "a <plan>", outcome, events);
  for (const char* part : {"<svg", "device", "uplink", "server", "downlink", "a &lt;plan&gt;", "conv2d: rows 0-4",
                           "_start: 4.0 kB", "</svg>"}) {
    EXPECT_THAT(svg, HasSubstr(part));
  }
}

// Input, two operators, the result: 8 kB up, 64 bytes down.
split::Profile TwoLayers() {
  return *split::Profile::Parse(
      "op,name,inputs_from,output_shapes,output_bytes_f32,row_dim,kind,kernel,stride,padding,dilation,device_ms,server_"
      "ms\n"
      "0,_start,,1x1x8x2,8000,2,row,1,1,0,1,0,0\n"
      "1,conv2d,0,1x1x8x2,4000,2,row,1,1,0,1,8,1\n"
      "2,pool,1,1x64,64,,global,1,1,0,1,2,1\n"
      "3,_end,2,1x1x8x2,64,,global,1,1,0,1,0,0\n",
      "small");
}

split::Link LinkOfRate(double bytes_per_ms) {
  split::Link link;
  link.bytes_per_ms = bytes_per_ms;
  link.round_trip_ms = 2;
  link.message_overhead_ms = 0;
  return link;
}

TEST(CutsAsTable, HasEveryCutFromTheServerAloneToTheDeviceAlone) {
  const split::Profile profile = TwoLayers();
  const std::string text = CutsAsTable(profile, split::RowGraph(profile), LinkOfRate(1000)).Markdown();
  // 8 + 1 + 2 + 0.064 + 1; standing by, and 8.064 ms of sending.
  EXPECT_THAT(text, HasSubstr("| 0 | _start | 12.1 | 0.0 | 8.1 | 2.0 | 8.0 | 0.1 | 4.18 | 0.050 |"));
  EXPECT_THAT(text, HasSubstr("| 1 | conv2d | 15.1 | 8.0 | 4.1 | 1.0 | 4.0 | 0.1 |"));
  EXPECT_THAT(text, HasSubstr("| 2 | pool | 10.0 | 10.0 | 0.0 | 0.0 | 0.0 | 0.0 | 13.35 | 0.134 |"));
  EXPECT_THAT(text, Not(HasSubstr("_end")));
}

TEST(CutsAsTable, SaysNeverWhereNothingArrives) {
  const split::Profile profile = TwoLayers();
  const std::string text = CutsAsTable(profile, split::RowGraph(profile), LinkOfRate(0)).Markdown();
  EXPECT_THAT(text, HasSubstr("| 1 | conv2d | never |"));
  EXPECT_THAT(text, HasSubstr("| 2 | pool | 10.0 |"));
}

}  // namespace
}  // namespace wharf::cli
