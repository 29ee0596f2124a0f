#include "wharf/base/min_cut.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace wharf {
namespace {

TEST(MinCut, CutsTheNarrowestPlace) {
  MinCut cut;
  const int a = cut.AddNode(), b = cut.AddNode();
  cut.AddArc(MinCut::kSource, a, 5);
  cut.AddArc(a, b, 2);
  cut.AddArc(b, MinCut::kSink, std::numeric_limits<double>::infinity());
  EXPECT_DOUBLE_EQ(cut.Solve(), 2);
  EXPECT_TRUE(cut.OnSourceSide(a));
  EXPECT_FALSE(cut.OnSourceSide(b));
}

RC_GTEST_PROP(MinCutProperty, IsTheCheapestOfAllPartitions, ()) {
  const int inner = *rc::gen::inRange(1, 7), nodes = inner + 2;
  std::vector<std::vector<double>> capacity(nodes, std::vector<double>(nodes, 0));
  MinCut cut;
  for (int i = 0; i < inner; ++i) cut.AddNode();
  for (int i = 0; i < 3 * nodes; ++i) {
    const int from = *rc::gen::inRange(0, nodes), to = *rc::gen::inRange(0, nodes);
    if (from == to) continue;
    const double forth = *rc::gen::inRange(0, 100) / 7.0, back = *rc::gen::inRange(0, 100) / 7.0;
    cut.AddArc(from, to, forth, back);
    capacity[from][to] += forth;
    capacity[to][from] += back;
  }
  const auto cost = [&](auto on_source_side) {
    double sum = 0;
    for (int i = 0; i < nodes; ++i) {
      for (int j = 0; j < nodes; ++j) sum += on_source_side(i) && !on_source_side(j) ? capacity[i][j] : 0;
    }
    return sum;
  };
  double cheapest = std::numeric_limits<double>::infinity();
  for (int set = 0; set < 1 << inner; ++set) {
    cheapest = std::min(cheapest, cost([&](int node) {
                          return node == MinCut::kSource || (node >= 2 && ((set >> (node - 2)) & 1) != 0);
                        }));
  }
  RC_ASSERT(std::abs(cut.Solve() - cheapest) < 1e-9 * (1 + cheapest));
  RC_ASSERT(std::abs(cost([&](int node) { return cut.OnSourceSide(node); }) - cheapest) < 1e-9 * (1 + cheapest));
}

}  // namespace
}  // namespace wharf
