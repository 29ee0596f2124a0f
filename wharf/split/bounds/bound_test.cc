#include "wharf/split/bounds/bound.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "wharf/split/plan_evaluator.h"
#include "wharf/split/planners/layer_cut.h"
#include "wharf/split/planners/planner.h"
#include "wharf/split/testing.h"

namespace wharf::split {
namespace {

RC_GTEST_PROP(BoundProperty, NoPlanIsFaster, ()) {
  Profile profile = ArbitraryProfile(8, 6);
  profile.slice_cost = *rc::gen::element(SliceCost{{0, 0}, 1}, SliceCost{{0.05, 0.02}, 1.05});
  const RowGraph graph(profile);
  Link link;
  link.bytes_per_ms = *rc::gen::inRange(0, 3000);
  const double bound = LowerBound(graph).Latency(link, 10);
  Evaluator evaluator(graph);
  PlanEvaluator laid_out(graph);
  for (int i = 0; i < 10; ++i) {
    RC_ASSERT(bound <= laid_out.Evaluate(ArbitraryLaidOutPlan(graph), link).latency_ms * (1 + 1e-9));
  }
  RC_ASSERT(bound <= evaluator.Evaluate(DeviceOnlyPlan(graph), link).latency_ms * (1 + 1e-9));
  RC_ASSERT(bound <= evaluator.Evaluate(ServerOnlyPlan(graph), link).latency_ms * (1 + 1e-9));
}

// Longer models, of windows mostly, whose rows come to depend on all others.
RC_GTEST_PROP(BoundProperty, NoPlanOfAChainIsFaster, ()) {
  const int rows = *rc::gen::inRange(2, 9);
  ProfileBuilder builder(rows, *rc::gen::inRange(1, 2000) * rows);
  const int operators = *rc::gen::inRange(3, 12);
  int height = rows;
  for (int op = 1; op <= operators; ++op) {
    const bool halves = height >= 4 && *rc::gen::inRange(0, 5) == 0;
    const bool skips = !halves && op > 2 && *rc::gen::inRange(0, 4) == 0;
    const double server_ms = *rc::gen::inRange(0, 40) / 10.0;
    if (halves) height /= 2;
    std::vector<int> inputs = {op - 1};
    if (skips && builder.Rows(op - 2) == height) inputs.push_back(op - 2);
    builder.Add(inputs, halves ? graph::RowRule{graph::RowKind::kWindow, 2, 2, 0, 1} : kConv3, height,
                *rc::gen::inRange(1, 2000) * height, server_ms * *rc::gen::inRange(1, 20), server_ms);
  }
  const RowGraph graph(builder.End({operators}));
  Link link;
  link.bytes_per_ms = *rc::gen::inRange(100, 5000);
  link.round_trip_ms = *rc::gen::element(0.0, 2.6);
  const double bound = LowerBound(graph).Latency(link, 5);
  PlanEvaluator laid_out(graph);
  const auto holds = [&](const Plan& plan) {
    RC_ASSERT(bound <= laid_out.Evaluate(plan, link).latency_ms * (1 + 1e-9));
  };
  for (int i = 0; i < 5; ++i) holds(ArbitraryLaidOutPlan(graph));
  PlannerOptions options;
  options.budget = 5000;
  for (const char* planner : {"server-only", "dsccs", "intra-dp", "loss-de"}) {
    holds((*MakePlanner(planner, graph, options))->MakePlan(link, Objective::Latency()));
  }
}

// With few steps ways are joined that are not as good as each other, or nothing is said at all.
RC_GTEST_PROP(BoundProperty, NoPlanIsFasterThanWhatFewStepsFind, ()) {
  const int rows = *rc::gen::inRange(2, 24);
  ProfileBuilder builder(rows, *rc::gen::inRange(1, 2000) * rows);
  const int operators = *rc::gen::inRange(3, 10);
  for (int op = 1; op <= operators; ++op) {
    const double server_ms = *rc::gen::inRange(0, 40) / 10.0;
    builder.Add({op - 1}, kConv3, rows, *rc::gen::inRange(1, 2000) * rows, server_ms * *rc::gen::inRange(1, 20),
                server_ms);
  }
  const RowGraph graph(builder.End({operators}));
  Link link;
  link.bytes_per_ms = *rc::gen::inRange(100, 5000);
  const ChainBound chain(graph, std::vector<bool>(graph.Size(), true));
  Evaluator evaluator(graph);
  const double device = evaluator.Evaluate(DeviceOnlyPlan(graph), link).latency_ms;
  const double server = evaluator.Evaluate(ServerOnlyPlan(graph), link).latency_ms;
  const double bound = chain.Latency(link, std::min(device, server), *rc::gen::inRange(1, 20'000));
  PlannerOptions options;
  options.budget = 5000;
  const Plan best = (*MakePlanner("intra-dp", graph, options))->MakePlan(link, Objective::Latency());
  RC_ASSERT(bound <= PlanEvaluator(graph).Evaluate(best, link).latency_ms * (1 + 1e-9));
}

TEST(Bound, IsTheDevicesTimeWithoutALink) {
  ProfileBuilder builder(8, 80);
  builder.Add({0}, kConv3, 8, 80, 7, 1);
  const RowGraph graph(builder.End({1}));
  EXPECT_DOUBLE_EQ(LowerBound(graph).Latency(Link{}), 7);
}

// One element-wise operator: the best share of the device balances its work with the way through the server.
TEST(Bound, IsTightWhereNothingWaits) {
  ProfileBuilder builder(1000, 1000);
  builder.Add({0}, kElementwise, 1000, 1000, 100, 0.001);
  const RowGraph graph(builder.End({1}));
  Link link;
  link.bytes_per_ms = 10;  // 100 ms for all, each way, at the same time
  link.round_trip_ms = 0;
  link.message_overhead_ms = 0;
  // Share s on the server: up 100 s, then down 100 s, against 100 (1 - s) here: s = 1/3.
  Plan plan(graph.Size());
  plan.rows[kDevice] = {{0, 1000}, {0, 667}, {0, 1}};
  plan.rows[kServer] = {{}, {667, 1000}, {}};
  const double reached = Evaluator(graph).Evaluate(plan, link).latency_ms, bound = LowerBound(graph).Latency(link, 200);
  EXPECT_NEAR(reached, 66.7, 0.1);
  EXPECT_LE(bound, reached);
  EXPECT_GE(bound, 49);  // the limits do not see that results are sent only when all are there
}

TEST(Bound, SaysWhichPartitionsItMixes) {
  ProfileBuilder builder(1000, 1000);
  builder.Add({0}, kElementwise, 1000, 1000, 100, 0.001);
  const RowGraph graph(builder.End({1}));
  Link link;
  link.bytes_per_ms = 10;
  const auto mixture = LowerBound(graph).Mixture(link);
  ASSERT_EQ(mixture.size(), 2u);  // half local, half remote
  const auto &local = mixture[mixture[0].device_ms > 0 ? 0 : 1], &remote = mixture[mixture[0].device_ms > 0 ? 1 : 0];
  EXPECT_DOUBLE_EQ(local.device_ms, 100);
  EXPECT_DOUBLE_EQ(local.up_ms, 0);
  EXPECT_DOUBLE_EQ(remote.device_ms, 0);
  EXPECT_DOUBLE_EQ(remote.up_ms, 100);
  EXPECT_DOUBLE_EQ(remote.down_ms, 100);
  EXPECT_DOUBLE_EQ(local.share + remote.share, 1);
  EXPECT_NEAR(local.share, 0.5, 0.1);
}

TEST(Bound, IsNoMixtureWhereTheDeviceAloneIsProvedBest) {
  ProfileBuilder builder(8, 80);
  builder.Add({0}, kConv3, 8, 80, 7, 1);
  const RowGraph graph(builder.End({1}));
  EXPECT_TRUE(LowerBound(graph).Mixture(Link{}).empty());
}

}  // namespace
}  // namespace wharf::split
