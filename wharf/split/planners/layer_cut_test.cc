#include "wharf/split/planners/layer_cut.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "wharf/split/testing.h"

namespace wharf::split {
namespace {

LayerCosts ArbitraryCosts(int operators) {
  LayerCosts costs(operators);
  for (const Side side : kSides) {
    for (int op = 0; op < operators; ++op) {
      costs.compute[side][op] = *rc::gen::inRange(0, 50);
      costs.send[side][op] = *rc::gen::inRange(0, 30);
    }
  }
  return costs;
}

// The cost of computing operators on the sides `on` says; infinity if one is nowhere.
double Cost(const RowGraph& graph, const LayerCosts& costs, const std::vector<int>& on) {
  double sum = 0;
  std::array<std::vector<bool>, 2> sent;
  for (auto& side : sent) side.assign(graph.Size(), false);
  for (int op = 0; op < graph.Size(); ++op) {
    for (const Side side : kSides) {
      if ((on[op] >> side & 1) == 0) continue;
      sum += costs.compute[side][op];
      for (const auto& edge : graph.Inputs(op)) {
        if ((on[edge.from] >> side & 1) == 0) sent[Other(side)][edge.from] = true;
      }
    }
  }
  for (const Side side : kSides) {
    for (int op = 0; op < graph.Size(); ++op) sum += sent[side][op] ? costs.send[side][op] : 0;
  }
  return sum;
}

double CheapestByBruteForce(const RowGraph& graph, const LayerCosts& costs, bool replication) {
  const int inner = graph.Size() - 2, choices = replication ? 3 : 2;
  int total = 1;
  for (int i = 0; i < inner; ++i) total *= choices;
  double best = INFINITY;
  for (int code = 0; code < total; ++code) {
    std::vector<int> on(graph.Size(), 1);  // bit 0: device, bit 1: server
    for (int i = 0, rest = code; i < inner; ++i, rest /= choices) on[i + 1] = rest % choices + 1;
    best = std::min(best, Cost(graph, costs, on));
  }
  return best;
}

RC_GTEST_PROP(LayerCutProperty, IsTheCheapestOfAllPartitions, ()) {
  const RowGraph graph(ArbitraryProfile(6, 4));
  const LayerCosts costs = ArbitraryCosts(graph.Size());
  LayerCutter cutter(graph);
  for (const Replication replication : {Replication::kNo, Replication::kYes}) {
    const LayerCut cut = cutter.Cheapest(costs, replication);
    const double expected = CheapestByBruteForce(graph, costs, replication == Replication::kYes);
    RC_ASSERT(std::abs(cut.cost - expected) < 1e-9 * (1 + expected));
    std::vector<int> on;
    for (int op = 0; op < graph.Size(); ++op)
      on.push_back((cut.on[kDevice][op] ? 1 : 0) + (cut.on[kServer][op] ? 2 : 0));
    RC_ASSERT(std::abs(Cost(graph, costs, on) - expected) < 1e-9 * (1 + expected));
    RC_ASSERT(Check(graph, PlanOf(graph, cut)).ok());
  }
}

TEST(LayerCut, SequentialCostIsTheLatencyOfAChain) {
  ProfileBuilder builder(8, 80);
  builder.Add({0}, kConv3, 8, 20, 2, 0.8);
  builder.Add({1}, kConv3, 8, 40, 30, 0.5);
  const RowGraph graph(builder.End({2}));
  Link link;
  link.bytes_per_ms = 10;
  LayerCutter cutter(graph);
  const LayerCut cut = cutter.Cheapest(LatencyCosts(graph, link), Replication::kNo);
  // Operator 1 here, its 20 bytes up, operator 2 there, its 40 bytes back.
  EXPECT_NEAR(cut.cost, 2 + (0.05 + 2 + 1.3) + 0.5 + (0.05 + 4 + 1.3), 1e-9);
  EXPECT_NEAR(Evaluator(graph).Evaluate(PlanOf(graph, cut), link).latency_ms, cut.cost, 1e-9);
}

RC_GTEST_PROP(CutBehind, GoesFromTheServerAloneToTheDeviceAlone, ()) {
  const RowGraph graph(ArbitraryProfile(6, 4));
  for (int op = -1; op < graph.Size(); ++op) RC_ASSERT(Check(graph, CutBehind(graph, op)).ok());
  RC_ASSERT(CutBehind(graph, -1) == ServerOnlyPlan(graph));
  RC_ASSERT(CutBehind(graph, graph.Output()) == DeviceOnlyPlan(graph));
}

TEST(LayerCut, WithoutALinkEverythingStays) {
  const RowGraph graph([] {
    ProfileBuilder builder(4, 40);
    builder.Add({0}, kElementwise, 4, 0, 5, 0.1);
    return builder.End({1});
  }());
  const LayerCut cut = LayerCutter(graph).Cheapest(LatencyCosts(graph, Link{}), Replication::kNo);
  EXPECT_EQ(PlanOf(graph, cut), DeviceOnlyPlan(graph));
}

}  // namespace
}  // namespace wharf::split
