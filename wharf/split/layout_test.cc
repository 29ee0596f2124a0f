#include "wharf/split/layout.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "wharf/split/bands.h"
#include "wharf/split/planners/layer_cut.h"
#include "wharf/split/testing.h"

namespace wharf::split {
namespace {

using absl::StatusCode;

// 8 rows, a 3-row convolution, another, the result.
Profile TwoConvolutions() {
  ProfileBuilder builder(8, 80);
  builder.Add({0}, kConv3, 8, 160, 8, 1);
  builder.Add({1}, kConv3, 8, 160, 8, 1);
  return builder.End({2});
}

Layout Of(std::vector<Band> bands) {
  Layout layout;
  layout.bands = std::move(bands);
  return layout;
}

TEST(Layout, BandsReadWhatTheirRowsReadOfEachBandOfTheirInput) {
  const RowGraph plain(TwoConvolutions());
  const Layout layout = Of({{0, {0, 5}}, {0, {5, 8}}, {1, {0, 4}}, {2, {0, 3}}, {1, {4, 8}}, {2, {3, 8}}, {3, {0, 1}}});
  ASSERT_TRUE(Check(plain, layout).ok()) << Check(plain, layout);
  const RowGraph graph = WithLayout(plain, layout);
  ASSERT_EQ(graph.Size(), 7);
  EXPECT_TRUE(graph.IsInput(1));
  EXPECT_FALSE(graph.IsInput(2));
  ASSERT_EQ(graph.Inputs(2).size(), 1u);  // rows 0 to 4 read rows 0 to 5
  ASSERT_EQ(graph.Inputs(4).size(), 2u);  // rows 4 to 8 read rows 3 to 8
  EXPECT_EQ(graph.Needed(4, graph.Inputs(4)[0], {0, 4}), (RowRange{3, 5}));
  EXPECT_EQ(graph.Needed(4, graph.Inputs(4)[1], {0, 4}), (RowRange{0, 3}));
  EXPECT_EQ(graph.Needed(4, graph.Inputs(4)[0], {2, 4}), (RowRange{}));
  EXPECT_EQ(graph.Operator(4), 1);
  EXPECT_EQ(graph.FirstRow(4), 4);
  EXPECT_DOUBLE_EQ(graph.FullMs(kDevice, 4), 4);
}

TEST(Layout, RefusesWhatCannotBeComputed) {
  const RowGraph plain(TwoConvolutions());
  const auto code = [&](std::vector<Band> bands) { return Check(plain, Of(std::move(bands))).code(); };
  const Band input{0, {0, 8}}, first{1, {0, 8}}, second{2, {0, 8}}, output{3, {0, 1}};
  EXPECT_EQ(code({input, first, second, output}), StatusCode::kOk);
  EXPECT_EQ(code({input, first, second}), StatusCode::kInvalidArgument);                            // no output
  EXPECT_EQ(code({input, second, first, output}), StatusCode::kInvalidArgument);                    // too early
  EXPECT_EQ(code({first, input, second, output}), StatusCode::kInvalidArgument);                    // input not first
  EXPECT_EQ(code({input, first, {2, {0, 5}}, {2, {4, 8}}, output}), StatusCode::kInvalidArgument);  // row 4 twice
  EXPECT_EQ(code({input, first, {2, {0, 5}}, output}), StatusCode::kInvalidArgument);               // rows 5 to 8
  EXPECT_EQ(code({input, first, {2, {0, 9}}, output}), StatusCode::kInvalidArgument);               // row 8
  EXPECT_EQ(code({input, first, second, output, {7, {0, 1}}}), StatusCode::kInvalidArgument);       // operator 7
  EXPECT_EQ(code({input, {1, {0, 4}}, {2, {0, 4}}, {1, {4, 8}}, {2, {4, 8}}, output}),
            StatusCode::kInvalidArgument);  // row 3 reads row 4
}

// Two bands of the input on their way, one computed meanwhile.
TEST(Layout, LetsTheServerComputeWhileTheRestIsOnItsWay) {
  ProfileBuilder builder(8, 80);
  builder.Add({0}, kElementwise, 8, 8, 80, 8);
  const RowGraph plain(builder.End({1}));
  Link link;
  link.bytes_per_ms = 10;
  link.message_overhead_ms = 0;
  link.round_trip_ms = 0;
  EXPECT_NEAR(Evaluator(plain).Evaluate(ServerOnlyPlan(plain), link).latency_ms, 8 + 8 + 0.8, 1e-9);
  const Layout layout = InBands(plain, {2, {0.5}, Anchor::kInput});
  const RowGraph graph = WithLayout(plain, layout);
  EXPECT_NEAR(Evaluator(graph).Evaluate(ServerOnlyPlan(graph), link).latency_ms, 8 + 4 + 0.4, 1e-9);
}

TEST(Layout, GathersBeforeEveryLayerButNotBeforeElementwiseOperators) {
  ProfileBuilder builder(8, 80);
  builder.Add({0}, kConv3, 8, 160, 8, 1);
  builder.Add({1}, kElementwise, 8, 160, 8, 1);
  const RowGraph plain(builder.End({2}));
  Layout layout;
  layout.gathered = true;
  ASSERT_TRUE(Check(plain, layout).ok());
  const RowGraph graph = WithLayout(plain, layout);
  EXPECT_EQ(graph.Needed(1, graph.Inputs(1)[0], {0, 1}), (RowRange{0, 8}));
  EXPECT_EQ(graph.Needed(2, graph.Inputs(2)[0], {0, 1}), (RowRange{0, 1}));
}

RC_GTEST_PROP(LayoutProperty, EveryRowIsInOneBandAndCostsTheSame, ()) {
  const RowGraph plain(ArbitraryProfile(10, 12));
  const bool random = *rc::gen::arbitrary<bool>();
  const double first = *rc::gen::inRange(1, 99) / 100.0, second = first + (1 - first) / 2;
  const Layout layout = random ? ArbitraryLayout(plain)
                               : InBands(plain, {*rc::gen::inRange(1, plain.Size()),
                                                 {first, second},
                                                 *rc::gen::element(Anchor::kInput, Anchor::kFrontier)});
  RC_ASSERT(Check(plain, layout).ok());
  const RowGraph graph = WithLayout(plain, layout);
  std::vector<std::vector<bool>> seen(plain.Size());
  for (int op = 0; op < plain.Size(); ++op) seen[op].resize(plain.Rows(op));
  for (int band = 0; band < graph.Size(); ++band) {
    for (int row = 0; row < graph.Rows(band); ++row) {
      const auto mark = seen[graph.Operator(band)].begin() + graph.FirstRow(band) + row;
      RC_ASSERT(!*mark);
      *mark = true;
    }
  }
  for (const auto& rows : seen) RC_ASSERT(std::find(rows.begin(), rows.end(), false) == rows.end());
  Evaluator whole(plain), parts(graph);
  const Outcome one = whole.Evaluate(DeviceOnlyPlan(plain), {}), other = parts.Evaluate(DeviceOnlyPlan(graph), {});
  RC_ASSERT(std::abs(one.latency_ms - other.latency_ms) < 1e-9 * (1 + one.latency_ms));
  Link link;
  link.bytes_per_ms = 1000;
  const Outcome away = whole.Evaluate(ServerOnlyPlan(plain), link),
                parted = parts.Evaluate(ServerOnlyPlan(graph), link);
  RC_ASSERT(std::abs(away.busy_ms[kServer] - parted.busy_ms[kServer]) < 1e-9 * (1 + away.busy_ms[kServer]));
  RC_ASSERT(std::abs(away.up_bytes - parted.up_bytes) < 1e-9 * (1 + away.up_bytes));
  RC_ASSERT(std::abs(away.down_bytes - parted.down_bytes) < 1e-9 * (1 + away.down_bytes));
}

RC_GTEST_PROP(LayoutProperty, APlanCarriedOverComputesTheSameRows, ()) {
  const RowGraph plain(ArbitraryProfile(8, 8));
  const Plan plan = ArbitraryPlan(plain);
  const Layout layout = ArbitraryLayout(plain);
  const RowGraph graph = WithLayout(plain, layout);
  const Plan parted = InLayout(graph, layout, plan);
  RC_ASSERT(Check(graph, parted).ok());
  std::array<std::vector<int>, 2> rows;
  for (const Side side : kSides) {
    rows[side].resize(plain.Size());
    for (int band = 0; band < graph.Size(); ++band) rows[side][graph.Operator(band)] += parted.rows[side][band].Size();
    for (int op = 0; op < plain.Size(); ++op) RC_ASSERT(rows[side][op] == plan.rows[side][op].Size());
  }
}

}  // namespace
}  // namespace wharf::split
