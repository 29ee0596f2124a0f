#include "wharf/cudashim/graph/dot.h"

#include <unordered_map>

#include "fmt/core.h"

namespace wharf::cudagraph {
namespace {

class DotWriter {
 public:
  explicit DotWriter(const std::function<std::string(const Node&)>& label) : label_(label) {}

  // Children are boxes beside the node that stands for them.
  void Write(const Graph& graph) {
    std::unordered_map<const Node*, size_t> number;
    for (const auto& node : graph.nodes()) {
      number[node.get()] = ++count_;
      text += fmt::format("  node{} [label=\"{}\"];\n", count_, Quoted(label_(*node)));
    }
    for (const auto& node : graph.nodes()) {
      for (const Edge& edge : node->dependencies()) {
        text += fmt::format("  node{} -> node{};\n", number[edge.from], number[node.get()]);
      }
    }
    for (const auto& node : graph.nodes()) {
      const auto* const child = std::get_if<ChildParams>(&node->params);
      if (child == nullptr) continue;
      text += fmt::format("  subgraph cluster{0} {{\n  label=\"child graph of node{0}\";\n", number[node.get()]);
      Write(*child->graph);
      text += "  }\n";
    }
  }
  std::string text;

 private:
  static std::string Quoted(const std::string& plain) {
    std::string quoted;
    for (const char c : plain) {
      if (c == '"' || c == '\\') quoted += '\\';
      if (c == '\n') {
        quoted += "\\n";
      } else {
        quoted += c;
      }
    }
    return quoted;
  }

  const std::function<std::string(const Node&)>& label_;
  size_t count_ = 0;
};

}  // namespace

std::string ToDot(const Graph& graph, const std::function<std::string(const Node&)>& label) {
  DotWriter writer(label);
  writer.Write(graph);
  return "digraph graph_1 {\n  node [shape=box];\n" + writer.text + "}\n";
}

}  // namespace wharf::cudagraph
