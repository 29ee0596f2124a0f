// One node of an ONNX model: read, checked, and given the types of its outputs.
#pragma once

#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "wharf/base/status.h"
#include "wharf/graph/graph.h"

namespace onnx {
class NodeProto;
}  // namespace onnx

namespace wharf::graph {

// The node without its outputs; `values`: what has been made, by name. kInvalidArgument: it reads something else.
// kUnimplemented: an attribute of an unusual type.
absl::StatusOr<Node> ToNode(const onnx::NodeProto& proto, const absl::flat_hash_map<std::string, int>& values);

// How much of the operator's schema a node is held to.
enum class Schema {
  kFull,
  kShape,  // not its element types: old operator sets allow fewer than are in use
};
// The types of the node's outputs, by libonnx's shape inference; of those without a name, an empty one. `node`: ToNode
// of `proto`, a node of `graph`. kInvalidArgument: the node contradicts its operator. kUnimplemented: a shape that
// depends on data. Safe on hostile nodes.
absl::StatusOr<std::vector<TensorType>> OutputTypes(const Graph& graph, const Node& node, const onnx::NodeProto& proto,
                                                    int operator_set, Schema schema);

// kUnimplemented: a form of the operator that is not supported, of a node whose inputs are known: training.
absl::Status CheckForm(const Graph& graph, const Node& node);

}  // namespace wharf::graph
