// Row rules of a graph: along which axis each tensor is cut into rows, and which rows of its inputs each node reads.
//
// Images are cut along their height, volumes along their depth, sequences along their tokens; from the graph's inputs
// the axis follows the data through transpositions, reshapes and products.
#pragma once

#include <span>
#include <vector>

#include "wharf/graph/graph.h"
#include "wharf/graph/slicing.h"

namespace wharf::graph {

inline constexpr int kNoRows = -1;

struct RowRules {
  std::vector<int> axis;                    // of each value; kNoRows: constants, and what cannot be cut
  std::vector<std::vector<RowRule>> rules;  // of each node and input; of constant and absent inputs they mean nothing

  // 1 if the value cannot be cut.
  int Rows(const Graph& graph, int value) const {
    return axis[value] == kNoRows ? 1 : static_cast<int>(graph.Type(value).shape[axis[value]]);
  }
  // A node whose output can be cut and that reads no input whole that can be cut (Intra-DP, section IV-A).
  bool IsLocal(const Graph& graph, int node) const;
};

// REQUIRES: Validate(graph).ok(). kInvalidArgument: a node contradicts its input's shape.
absl::StatusOr<RowRules> RowRulesOf(const Graph& graph);

struct ValueRows {
  int value = 0;
  RowRange range;
};
// Which rows of every value are needed to make those wanted: of what several read, the smallest range that holds all.
// What is `given` (by value) is not looked behind; constants need none. O(values + nodes).
std::vector<RowRange> NeededRows(const Graph& graph, const RowRules& rules, std::span<const ValueRows> wanted,
                                 const std::vector<bool>& given);
// The rows of input `index` that a node reads to make rows `out`.
RowRange RowsRead(const Graph& graph, const RowRules& rules, int node, size_t index, RowRange out);

}  // namespace wharf::graph
