#include "wharf/cudashim/graph/dot.h"

#include <string_view>
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
      if (const auto* const child = std::get_if<ChildParams>(&node->params)) {
        WriteInside(*child->graph, fmt::format("{}", number[node.get()]), "child graph");
      }
      if (const auto* const conditional = std::get_if<ConditionalParams>(&node->params)) {
        for (size_t i = 0; i < conditional->bodies.size(); ++i) {
          WriteInside(*conditional->bodies[i], fmt::format("{}_{}", number[node.get()], i), "body");
        }
      }
    }
  }
  std::string text;

 private:
  void WriteInside(const Graph& graph, const std::string& number, std::string_view what) {
    text += fmt::format("  subgraph cluster{0} {{\n  label=\"{1} of node{0}\";\n", number, what);
    Write(graph);
    text += "  }\n";
  }
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
