#include "wharf/pipeline/stages/blocks.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "wharf/exec/random_graph.h"

namespace wharf::pipeline {
namespace {

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

}  // namespace
}  // namespace wharf::pipeline
