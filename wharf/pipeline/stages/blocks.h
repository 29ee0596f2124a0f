// Blocks: where a graph can be cut into pieces that follow each other, and what must travel at a cut.
#pragma once

#include <vector>

#include "wharf/graph/graph.h"

namespace wharf::pipeline {

// The values that are there before node `place` of the graph's order and needed from there on, outputs of the graph
// included, ascending: what who runs nodes [place, …) must be given. Constants are not among them. At 0 those are the
// inputs, at nodes.size() the outputs. O(values + nodes).
std::vector<int> Frontier(const graph::Graph& graph, int place);

// Places between two nodes with at most `max_values` values at the frontier, ascending. O(values + nodes).
std::vector<int> CutPlaces(const graph::Graph& graph, int max_values);

}  // namespace wharf::pipeline
