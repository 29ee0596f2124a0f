#include "wharf/split/planners/mcop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "wharf/split/testing.h"

namespace wharf::split {
namespace {

// An input that stays, two layers ten times as fast remotely, an output that stays.
ConsumptionGraph Chain(double sends_input, double sends_middle, double sends_output) {
  return {{0, 10, 10, 0},
          {0, 1, 1, 0},
          {true, false, false, true},
          {{0, 1, sends_input}, {1, 2, sends_middle}, {2, 3, sends_output}}};
}

TEST(MinCostOffloading, OffloadsWhatPays) {
  const std::vector<bool> none(4, false), both = {false, true, true, false}, second = {false, false, true, false};
  EXPECT_EQ(MinCostOffloading(Chain(5, 30, 1)), both);
  EXPECT_EQ(MinCostOffloading(Chain(30, 3, 1)), second);
  EXPECT_EQ(MinCostOffloading(Chain(30, 30, 30)), none);
  EXPECT_DOUBLE_EQ(Chain(30, 3, 1).Cost(second), 10 + 1 + 3 + 1);
}

TEST(MinCostOffloading, WhatSavesNothingStays) {
  ConsumptionGraph graph = Chain(0, 0, 0);
  graph.remote = {0, 20, 20, 0};
  EXPECT_EQ(MinCostOffloading(graph), std::vector<bool>(4, false));
}

// What it finds is a partition, of what may be offloaded, and no better than the best of all, which it often is.
TEST(MinCostOffloading, IsNeverBetterThanTheBestAndOftenTheBest) {
  int cases = 0, best = 0;
  EXPECT_TRUE(rc::check("beside all partitions", [&] {
    ConsumptionGraph graph;
    const int vertices = *rc::gen::inRange(2, 8);
    for (int v = 0; v < vertices; ++v) {
      graph.local.push_back(*rc::gen::inRange(0, 50));
      graph.remote.push_back(*rc::gen::inRange(0, 20));
      graph.fixed.push_back(v == 0 || *rc::gen::inRange(0, 6) == 0);
      for (int other = 0; other < v; ++other) {
        if (*rc::gen::inRange(0, 2) == 0) graph.edges.push_back({other, v, *rc::gen::inRange(0, 30) / 2.0});
      }
    }
    const std::vector<bool> found = MinCostOffloading(graph);
    for (int v = 0; v < vertices; ++v) RC_ASSERT(!graph.fixed[v] || !found[v]);
    double least = INFINITY;
    for (int set = 0; set < 1 << vertices; ++set) {
      std::vector<bool> on_server;
      bool allowed = true;
      for (int v = 0; v < vertices; ++v) {
        on_server.push_back((set >> v & 1) == 1);
        allowed = allowed && !(on_server.back() && graph.fixed[v]);
      }
      if (allowed) least = std::min(least, graph.Cost(on_server));
    }
    const double cost = graph.Cost(found);
    RC_ASSERT(cost >= least - 1e-9);
    RC_ASSERT(cost <= graph.Cost(std::vector<bool>(vertices, false)) + 1e-9);
    ++cases;
    best += cost <= least + 1e-9 ? 1 : 0;
  }));
  RecordProperty("cases", cases);
  RecordProperty("best", best);
  EXPECT_GT(2 * best, cases);
}

RC_GTEST_PROP(McopPlannerProperty, IsNeverBetterThanTheExactCut, ()) {
  const RowGraph graph(ArbitraryProfile(8, 4));
  Link link;
  link.bytes_per_ms = *rc::gen::inRange(0, 100);
  const Plan plan = McopPlanner(graph).MakePlan(link, Objective::Latency());
  RC_ASSERT(CheckPlan(graph, plan).ok());
  if (link.bytes_per_ms <= 0) {
    RC_ASSERT(plan == DeviceOnlyPlan(graph));
    return;
  }
  // One after the other, a tensor sent once however many read it: what the exact cut is the best at.
  const LayerCosts costs = LatencyCosts(graph, link);
  double cost = 0;
  for (int op = 0; op < graph.Size(); ++op) {
    const bool server = !plan.rows[kServer][op].Empty();
    cost += costs.compute[server ? kServer : kDevice][op];
    bool sent = false;
    for (const int user : graph.Users(op)) sent = sent || server == plan.rows[kServer][user].Empty();
    if (sent) cost += costs.send[server ? kServer : kDevice][op];
  }
  RC_ASSERT(cost >= LayerCutter(graph).Cheapest(costs, Replication::kNo).cost - 1e-9 * (1 + cost));
}

}  // namespace
}  // namespace wharf::split
