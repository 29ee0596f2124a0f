#include "wharf/pipeline/runtime/blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>
#include <set>

#include "wharf/exec/random_graph.h"

namespace wharf::pipeline {
namespace {

using ::testing::ElementsAre;

// What nodes [place, …) read and do not make themselves, and what the graph gives that they do not make: by hand.
std::vector<int> NeededFrom(const graph::Graph& graph, int place) {
  std::set<int> needed, made;
  for (size_t node = place; node < graph.nodes.size(); ++node) {
    for (const int value : graph.nodes[node].inputs) {
      const bool constant = value == graph::kAbsent || graph.values[value].constant.has_value();
      if (!constant && made.count(value) == 0) needed.insert(value);
    }
    made.insert(graph.nodes[node].outputs.begin(), graph.nodes[node].outputs.end());
  }
  for (const int output : graph.outputs) {
    if (made.count(output) == 0) needed.insert(output);
  }
  return {needed.begin(), needed.end()};
}

RC_GTEST_PROP(Frontier, IsWhatTheRestNeeds, (uint32_t seed)) {
  const graph::Graph graph = exec::testing::RandomGraph::Make(seed, *rc::gen::inRange(1, 20));
  const int nodes = static_cast<int>(graph.nodes.size());
  for (int place = 1; place < nodes; ++place) RC_ASSERT(Frontier(graph, place) == NeededFrom(graph, place));
  RC_ASSERT(Frontier(graph, 0) == graph.inputs);
  RC_ASSERT(Frontier(graph, nodes) == graph.outputs);
}

RC_GTEST_PROP(CutPlaces, AreThoseWithFewEnoughValues, (uint32_t seed)) {
  const graph::Graph graph = exec::testing::RandomGraph::Make(seed, *rc::gen::inRange(1, 20));
  for (int values = 1; values <= 3; ++values) {
    std::vector<int> expected;
    for (int place = 1; place < static_cast<int>(graph.nodes.size()); ++place) {
      if (static_cast<int>(Frontier(graph, place).size()) <= values) expected.push_back(place);
    }
    RC_ASSERT(CutPlaces(graph, values) == expected);
  }
}

TEST(GroupEqually, EndsAGroupWhereItIsClosestToItsShare) {
  EXPECT_THAT(GroupEqually(std::vector<double>{1, 1, 1, 1}, 2), ElementsAre(0, 2));
  EXPECT_THAT(GroupEqually(std::vector<double>{3, 1, 1, 1}, 2), ElementsAre(0, 1));
  EXPECT_THAT(GroupEqually(std::vector<double>{1, 1, 4, 1, 1}, 2), ElementsAre(0, 3));
  EXPECT_THAT(GroupEqually(std::vector<double>{1, 1, 1, 9}, 3), ElementsAre(0, 2, 3));
}

RC_GTEST_PROP(GroupEqually, MakesAsManyGroupsAsAskedForAndNoneEmpty, ()) {
  const auto times = *rc::gen::nonEmpty(rc::gen::container<std::vector<double>>(
      rc::gen::map(rc::gen::inRange(0, 1000), [](int us) { return static_cast<double>(us); })));
  const int blocks = *rc::gen::inRange(1, static_cast<int>(times.size()) + 1);
  const std::vector<int> first = GroupEqually(times, blocks);
  RC_ASSERT(first.size() == static_cast<size_t>(blocks));
  RC_ASSERT(first.front() == 0);
  RC_ASSERT(first.back() < static_cast<int>(times.size()));
  RC_ASSERT(std::is_sorted(first.begin(), first.end(), std::less_equal<>()));
}

}  // namespace
}  // namespace wharf::pipeline
