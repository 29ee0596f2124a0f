// ModelOperators: a model's graph as the operators that plans speak of, and which values of the graph each one makes.
//
// Operator 0 is the model's input. Every other begins with a node; cheap nodes that follow it, read nothing but what
// the operator has made, and that row for row, belong to it as long as a single value comes out, no larger than the
// first node's: activations and scalings are never a place to exchange rows. Products, convolutions and pooling begin
// operators of their own. The last operator stands for the model's outputs: it makes no value, reads every output whole
// and takes no time. What is computed from constants alone belongs to no operator.
#pragma once

#include <vector>

#include "wharf/base/status.h"
#include "wharf/graph/graph.h"
#include "wharf/graph/operator.h"
#include "wharf/graph/row_rules.h"

namespace wharf::split {

struct ModelOperators {
  std::vector<graph::Operator> operators;
  // The values of each operator that others read: of a node with several outputs, all of them. A plan's rows of the
  // operator are rows of every one of them (RowsOfValue). Empty for the last operator.
  std::vector<std::vector<int>> values;
  // The nodes of each operator, in their order; none of the first and the last.
  std::vector<std::vector<int>> nodes;
};

// Of two operators one reads the other once for each different rule. An operator whose values differ in their rows or
// their axis has one row. kUnimplemented: a model with other than one input. kInvalidArgument: none of its outputs
// depends on it. O(values + nodes).
absl::StatusOr<ModelOperators> OperatorsOf(const graph::Graph& graph, const graph::RowRules& rules);

// The rows of `value`, which operator `op` makes, that rows `range` of the operator are: the same, or all of them where
// the operator cannot be cut.
graph::RowRange RowsOfValue(const graph::Graph& graph, const graph::RowRules& rules, const graph::Operator& op,
                            int value, graph::RowRange range);

}  // namespace wharf::split
