// Constant folding: what a model computes from shapes and constants alone, evaluated at import. Operators on integers
// and booleans, and what exporters build sizes and scales from; weights are left to run.
#pragma once

#include <optional>
#include <vector>

#include "wharf/graph/graph.h"

namespace wharf::graph {

inline constexpr int64_t kMaxFoldedElements = 1 << 20;  // of one result; larger ones run with the rest

// The value of the node's only output, whose type is known; nullopt if an input is not constant (Shape and Size need
// types only), or the operator is not one of those folded. kInvalidArgument: the model divides by zero or indexes out
// of range.
absl::StatusOr<std::optional<Constant>> Fold(const Graph& graph, const Node& node);

}  // namespace wharf::graph
