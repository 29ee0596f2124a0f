#include "wharf/split/planners/cuts.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "wharf/split/planners/layer_cut.h"
#include "wharf/split/testing.h"

namespace wharf::split {
namespace {

Cuts ArbitraryCuts(const RowGraph& graph) {
  Cuts cuts(graph.Size());
  for (int op = 0; op < graph.Size(); ++op) {
    cuts[op].device_end = *rc::gen::inRange(-1, graph.Rows(op) + 1);
    cuts[op].server_begin = *rc::gen::inRange(-1, graph.Rows(op) + 1);
    cuts[op].server_first = *rc::gen::arbitrary<bool>();
  }
  return cuts;
}

RC_GTEST_PROP(CutsProperty, DecodeToValidPlansWhateverTheyAre, ()) {
  const RowGraph graph(ArbitraryProfile(12, 9));
  Plan plan;
  CutDecoder decoder(graph);
  decoder.Decode(ArbitraryCuts(graph), plan);
  RC_ASSERT(Check(graph, plan).ok());
  RC_ASSERT(decoder.Needed() == NeededRows(graph, plan));
}

TEST(Cuts, FollowingComputesTheHaloTwice) {
  ProfileBuilder builder(8, 80);
  builder.Add({0}, kConv3, 8, 80, 1, 1);
  builder.Add({1}, kConv3, 8, 80, 1, 1);
  const RowGraph graph(builder.End({2}));
  Cuts cuts(graph.Size());
  cuts[2] = {4, 4};
  Plan plan;
  CutDecoder(graph).Decode(cuts, plan);
  EXPECT_EQ(plan.rows[kDevice][1], (RowRange{0, 5}));
  EXPECT_EQ(plan.rows[kServer][1], (RowRange{3, 8}));
  cuts[1] = {Cut::kFollow, 4};  // the server lets the device send row 3
  CutDecoder(graph).Decode(cuts, plan);
  EXPECT_EQ(plan.rows[kDevice][1], (RowRange{0, 5}));
  EXPECT_EQ(plan.rows[kServer][1], (RowRange{4, 8}));
}

TEST(Cuts, CountFromTheLastRowWhereTheServerIsFirst) {
  ProfileBuilder builder(8, 80);
  builder.Add({0}, kConv3, 8, 80, 1, 1);
  const RowGraph graph(builder.End({1}));
  Cuts cuts(graph.Size());
  cuts[1] = {3, 3, true};
  Plan plan;
  CutDecoder(graph).Decode(cuts, plan);
  EXPECT_EQ(plan.rows[kDevice][1], (RowRange{5, 8}));
  EXPECT_EQ(plan.rows[kServer][1], (RowRange{0, 5}));
}

TEST(Cuts, WriteDownLayerPartitions) {
  ProfileBuilder builder(8, 80);
  builder.Add({0}, kConv3, 8, 80, 1, 1);
  builder.Add({1}, kGlobalRule, 1, 80, 1, 1);
  const RowGraph graph(builder.End({2}));
  for (const Plan& plan : {DeviceOnlyPlan(graph), ServerOnlyPlan(graph)}) {
    Plan again;
    CutDecoder(graph).Decode(CutsOf(graph, plan), again);
    EXPECT_EQ(again, plan);
  }
}

}  // namespace
}  // namespace wharf::split
