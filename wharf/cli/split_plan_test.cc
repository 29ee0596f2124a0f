#include "wharf/cli/split_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wharf/split/layer_cut.h"

namespace wharf::cli {
namespace {

using testing::HasSubstr;

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

StoredPlan Stored() {
  StoredPlan stored;
  stored.model = "small";
  stored.source = {"small.csv", "small.onnx", "device.json", "server.json", 25};
  stored.planner = "intra-dp";
  stored.link.bytes_per_ms = 1000;
  stored.objective = split::Objective::Energy(500);
  stored.lower_bound_ms = 3.5;
  stored.plan.rows[split::kDevice] = {{0, 8}, {0, 5}, {0, 5}, {0, 1}};
  stored.plan.rows[split::kServer] = {{}, {5, 8}, {5, 8}, {}};
  return stored;
}

TEST(SplitPlan, ComesBackFromJson) {
  const auto plans = ParsePlans(PlansAsJson({Stored(), Stored()}));
  ASSERT_TRUE(plans.ok()) << plans.status();
  ASSERT_EQ(plans->size(), 2u);
  const StoredPlan& read = plans->front();
  EXPECT_EQ(read.model, "small");
  EXPECT_EQ(read.source.csv, "small.csv");
  EXPECT_EQ(read.source.model, "small.onnx");
  EXPECT_EQ(read.source.device_profile, "device.json");
  EXPECT_EQ(read.source.server_profile, "server.json");
  EXPECT_EQ(read.source.split_attention, 25);
  EXPECT_EQ(read.planner, "intra-dp");
  EXPECT_DOUBLE_EQ(read.link.bytes_per_ms, 1000);
  EXPECT_TRUE(read.objective.energy);
  EXPECT_DOUBLE_EQ(read.objective.deadline_ms, 500);
  EXPECT_DOUBLE_EQ(read.lower_bound_ms, 3.5);
  EXPECT_EQ(read.plan, Stored().plan);
}

TEST(SplitPlan, RefusesOtherJson) {
  for (const char* wrong :
       {"", "{}", "[1]", "[{\"format\":\"other\"}]", "[{\"format\":\"wharf-split-plan/1\"}]",
        "[{\"format\":\"wharf-split-plan/1\",\"device\":[[1]],\"server\":[]}]",
        "[{\"format\":\"wharf-split-plan/1\",\"device\":[],\"server\":[],\"model\":7}]",
        "[{\"format\":\"wharf-split-plan/1\",\"device\":[],\"server\":[],\"layout\":{\"bands\":[[1]]}}]"}) {
    EXPECT_EQ(ParsePlans(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

TEST(SplitPlan, TableFoldsWhatIsTreatedAlike) {
  const split::Profile profile = SmallModel();
  const split::RowGraph graph(profile);
  const std::string table = PlanAsTable(profile, graph, Stored().plan);
  EXPECT_THAT(table, HasSubstr("conv2d … relu"));
  EXPECT_THAT(table, HasSubstr("0-4"));
  EXPECT_THAT(table, HasSubstr("5-7"));
  EXPECT_THAT(table, HasSubstr("4.0"));  // rows 4 to 7 of the input
}

// Both sides' parts of the convolution in two bands.
StoredPlan InBands() {
  StoredPlan stored = Stored();
  split::Layout layout;
  layout.bands = {{0, {0, 8}}, {1, {0, 6}}, {1, {6, 8}}, {2, {0, 8}}, {3, {0, 1}}};
  const split::RowGraph graph(SmallModel());
  stored.plan = split::InLayout(split::WithLayout(graph, layout), layout, stored.plan);
  return stored;
}

TEST(SplitPlan, BandsComeBackFromJsonAndKeepTheirRowsInTheTable) {
  const StoredPlan stored = InBands();
  const auto plans = ParsePlans(PlansAsJson({stored}));
  ASSERT_TRUE(plans.ok()) << plans.status();
  EXPECT_EQ(plans->front().plan, stored.plan);
  const split::Profile profile = SmallModel();
  const split::RowGraph graph(profile);
  ASSERT_TRUE(split::CheckPlan(graph, stored.plan).ok());
  const std::string table = PlanAsTable(profile, split::WithLayout(graph, stored.plan.layout), stored.plan);
  EXPECT_THAT(table, HasSubstr("5-5"));
  EXPECT_THAT(table, HasSubstr("6-7"));
}

TEST(SplitPlan, PictureShowsEveryLane) {
  const split::Profile profile = SmallModel();
  const split::RowGraph graph(profile);
  std::vector<split::Event> events;
  const split::Outcome outcome = split::Evaluator(graph).Record(Stored().plan, Stored().link, events);
  const std::string svg = TimelineAsSvg(profile, graph, "a <plan>", outcome, events);
  for (const char* part : {"<svg", "device", "uplink", "server", "downlink", "a &lt;plan&gt;", "conv2d: rows 0-4",
                           "_start: 4.0 KB", "</svg>"}) {
    EXPECT_THAT(svg, HasSubstr(part));
  }
}

}  // namespace
}  // namespace wharf::cli
