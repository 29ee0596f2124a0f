#include "wharf/graph/split_attention.h"

#include <iterator>
#include <utility>

namespace wharf::graph {
namespace {

constexpr int64_t kStatistics = 2;  // columns of a partial result behind the values'

// The part of `whole` over keys [first, last).
Node Partial(Graph& graph, const Node& whole, int64_t first, int64_t last) {
  TensorType type = graph.Type(whole.outputs[0]);
  type.shape.back() += kStatistics;
  const std::string name = fmt::format("{} of keys {} to {}", whole.name, first, last);
  graph.values.push_back({name, std::move(type), {}});
  Node part{"PartialAttention", name, whole.inputs, {static_cast<int>(graph.values.size()) - 1}, whole.attributes};
  part.attributes["first"] = first;
  part.attributes["last"] = last;
  return part;
}

}  // namespace

Graph SplitAttention(Graph graph, int key_row) {
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    const Shape* keys = node.op == "Attention" ? &graph.Type(node.inputs[1]).shape : nullptr;
    const int64_t rows = keys == nullptr ? 0 : (*keys)[keys->size() - 2];
    if (rows <= key_row) {
      nodes.push_back(std::move(node));
      continue;
    }
    nodes.push_back(Partial(graph, node, 0, key_row));
    nodes.push_back(Partial(graph, node, key_row, rows));
    const std::vector<int> parts = {std::prev(nodes.end(), 2)->outputs[0], nodes.back().outputs[0]};
    nodes.push_back({"MergeAttention", node.name, parts, node.outputs, {}});
  }
  graph.nodes = std::move(nodes);
  return graph;
}

}  // namespace wharf::graph
