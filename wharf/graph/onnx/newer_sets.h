// Operator sets that are newer than libonnx: their nodes said in the terms of the last set that it knows.
#pragma once

#include <vector>

#include "wharf/base/status.h"
#include "wharf/graph/graph.h"

namespace onnx {
class NodeProto;
}  // namespace onnx

namespace wharf::graph {

// One node of a set above kSchemaOperatorSet as nodes of that set which compute the same, in an order in which they can
// be walked; the last makes the node's output. Sizes and types are read from `graph`, so what the node reads must have
// been walked. Names that it makes begin with that of the node's first output. `node`: ToNode of
// `proto`. kUnimplemented: a form of the operator that cannot be said so, or something that must be known at import.
// kInvalidArgument: the node contradicts its inputs. Safe on hostile nodes. Source: ONNX's Operators.md and
// Changelog.md, sets 18 to 28.
absl::StatusOr<std::vector<onnx::NodeProto>> InOlderTerms(const Graph& graph, const Node& node,
                                                          const onnx::NodeProto& proto, int operator_set);

}  // namespace wharf::graph
