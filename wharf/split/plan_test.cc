#include "wharf/split/plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "wharf/split/testing.h"

namespace wharf::split {
namespace {

using absl::StatusCode;

// 8 rows of 10 bytes, a 3-row convolution, the result.
Profile OneConvolution() {
  ProfileBuilder builder(8, 80);
  builder.Add({0}, kConv3, 8, 160, 8, 1);
  return builder.End({1});
}

Plan PlanOf(std::vector<RowRange> device, std::vector<RowRange> server) {
  Plan plan;
  plan.rows = {std::move(device), std::move(server)};
  return plan;
}

TEST(Plan, SendsTheHaloOfTheServersShareAndItsResult) {
  const RowGraph graph(OneConvolution());
  const Plan plan = PlanOf({{0, 8}, {0, 5}, {0, 1}}, {{}, {5, 8}, {}});
  ASSERT_TRUE(Check(graph, plan).ok());
  const std::vector<Transfer> transfers = Transfers(graph, plan);
  ASSERT_EQ(transfers.size(), 2u);
  EXPECT_EQ(transfers[0].from, kDevice);
  EXPECT_EQ(transfers[0].rows, 4);  // 4 to 8
  EXPECT_DOUBLE_EQ(transfers[0].bytes, 40);
  EXPECT_EQ(transfers[1].from, kServer);
  EXPECT_EQ(transfers[1].rows, 3);
  EXPECT_DOUBLE_EQ(transfers[1].bytes, 60);
}

TEST(Plan, RefusesWhatCannotBeCarriedOut) {
  const RowGraph graph(OneConvolution());
  const auto code = [&](const Plan& plan) { return Check(graph, plan).code(); };
  EXPECT_EQ(code(PlanOf({{0, 8}, {0, 5}}, {{}, {5, 8}})), StatusCode::kInvalidArgument);              // too short
  EXPECT_EQ(code(PlanOf({{0, 8}, {0, 5}, {0, 1}}, {{}, {5, 9}, {}})), StatusCode::kInvalidArgument);  // row 8
  EXPECT_EQ(code(PlanOf({{0, 8}, {0, 5}, {0, 1}}, {{}, {6, 8}, {}})), StatusCode::kInvalidArgument);  // nobody's row 5
  EXPECT_EQ(code(PlanOf({{0, 8}, {0, 5}, {}}, {{}, {5, 8}, {0, 1}})), StatusCode::kInvalidArgument);  // result away
  EXPECT_EQ(code(PlanOf({{0, 4}, {0, 5}, {0, 1}}, {{4, 8}, {5, 8}, {}})), StatusCode::kInvalidArgument);  // input away
}

RC_GTEST_PROP(PlanProperty, WhatIsSentIsWhatTheReceiverLacks, ()) {
  const RowGraph graph(ArbitraryProfile(8, 8));
  const Plan plan = ArbitraryPlan(graph);
  RC_ASSERT(Check(graph, plan).ok());
  const auto needed = NeededRows(graph, plan);
  std::array<std::vector<int>, 2> received;
  for (auto& side : received) side.assign(graph.Size(), 0);
  for (const Transfer& transfer : Transfers(graph, plan)) received[Other(transfer.from)][transfer.op] += transfer.rows;
  for (const Side side : kSides) {
    for (int op = 0; op < graph.Size(); ++op) {
      int lacking = 0;
      for (int row = needed[side][op].lo; row < needed[side][op].hi; ++row) {
        const RowRange one{row, row + 1};
        if (plan.rows[side][op].Contains(one)) continue;
        ++lacking;
        RC_ASSERT(plan.rows[Other(side)][op].Contains(one));
      }
      RC_ASSERT(received[side][op] == lacking);
    }
  }
}

}  // namespace
}  // namespace wharf::split
