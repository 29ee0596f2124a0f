#include "wharf/split/costs/model_operators.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "wharf/graph/operators.h"

namespace wharf::split {
namespace {

using graph::Graph;
using graph::kAbsent;
using graph::Node;
using graph::Operator;
using graph::RowKind;
using graph::RowRule;

constexpr size_t kMostNodes = 16;  // of an operator: what bounds the search for its end
constexpr RowRule kWhole{RowKind::kGlobal};

bool IsProduct(std::string_view op) {
  return op == "MatMul" || op == "Gemm" || op == "Linear" || op == "Attention" || op == "PartialAttention";
}

std::vector<int> Present(const std::vector<int>& values) {
  std::vector<int> present;
  std::copy_if(values.begin(), values.end(), std::back_inserter(present), [](int value) { return value != kAbsent; });
  return present;
}

class Builder {
 public:
  Builder(const Graph& graph, const graph::RowRules& rules)
      : graph_(graph), rules_(rules), owner_(graph.values.size(), kNone), readers_(graph.values.size()) {}

  absl::StatusOr<ModelOperators> Build() {
    if (graph_.inputs.size() != 1)
      return Unimplemented("a model with {} inputs: only one is supported", graph_.inputs.size());
    FindReaders();
    AddInput();
    std::vector<bool> taken(graph_.nodes.size(), false);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (taken[n] || IsFixed(graph_.nodes[n].outputs)) continue;
      const std::vector<int> nodes = NodesFrom(static_cast<int>(n));
      for (const int node : nodes) taken[node] = true;
      Add(nodes);
    }
    AddOutput();
    if (made_.operators.back().inputs.empty()) return InvalidArgument("no output of the model depends on its input");
    return std::move(made_);
  }

 private:
  static constexpr int kNone = -1, kFixed = -2;  // owners: not made yet, made of constants alone

  int Rows(int value) const { return rules_.Rows(graph_, value); }
  // By index among the node's inputs: those that are neither absent nor made of constants.
  std::vector<size_t> ComputedInputs(const Node& node) const {
    std::vector<size_t> computed;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.HasInput(i) && owner_[node.inputs[i]] != kFixed) computed.push_back(i);
    }
    return computed;
  }
  bool IsFixed(const std::vector<int>& values) const {
    const std::vector<int> present = Present(values);
    return std::all_of(present.begin(), present.end(), [&](int value) { return owner_[value] == kFixed; });
  }

  // What is fixed, and which nodes read every other value, -1 for the model's outputs.
  void FindReaders() {
    for (size_t value = 0; value < owner_.size(); ++value) {
      if (graph_.values[value].constant) owner_[value] = kFixed;
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      const std::vector<size_t> computed = ComputedInputs(node);
      for (const size_t i : computed) readers_[node.inputs[i]].push_back(static_cast<int>(n));
      if (!computed.empty()) continue;
      for (const int value : Present(node.outputs)) owner_[value] = kFixed;
    }
    for (const int value : graph_.outputs) readers_[value].push_back(-1);
  }

  // A cheap node that reads only values of `inside`, row for row.
  bool Joins(int n, const std::set<int>& inside) const {
    const Node& node = graph_.nodes[n];
    const std::vector<int> outputs = Present(node.outputs);
    const graph::OperatorFacts* facts = graph::FactsOf(node.op);
    if (outputs.size() != 1 || facts == nullptr || facts->kind == graph::OperatorKind::kBlockWise) return false;
    if (IsProduct(node.op)) return false;
    const int rows = Rows(outputs[0]);
    for (const size_t i : ComputedInputs(node)) {
      const int value = node.inputs[i];
      const bool row_for_row = rules_.rules[n][i].kind == RowKind::kRow || rows == 1;
      if (inside.count(value) == 0 || Rows(value) != rows || !row_for_row) return false;
    }
    return true;
  }

  // The node and those that belong to its operator.
  std::vector<int> NodesFrom(int head) const {
    std::vector<int> nodes = {head};
    const std::vector<int> made = Present(graph_.nodes[head].outputs);
    if (made.size() != 1) return nodes;
    size_t end = 1;
    // Values that somebody has still to read; how many reads are left of each value made here.
    std::map<int, size_t> open = {{made[0], readers_[made[0]].size()}};
    std::set<int> inside = {made[0]}, next;
    const auto follow = [&](int value) {
      for (const int reader : readers_[value]) {
        if (reader >= 0) next.insert(reader);
      }
    };
    follow(made[0]);
    while (!next.empty() && nodes.size() < kMostNodes) {
      const int n = *next.begin();
      next.erase(next.begin());
      if (!Joins(n, inside)) continue;
      for (const size_t i : ComputedInputs(graph_.nodes[n])) {
        const auto read = open.find(graph_.nodes[n].inputs[i]);
        if (--read->second == 0) open.erase(read);
      }
      const int value = Present(graph_.nodes[n].outputs)[0];
      nodes.push_back(n);
      inside.insert(value);
      open[value] = readers_[value].size();
      follow(value);
      if (open.size() == 1 && graph_.Type(value).Bytes() <= graph_.Type(made[0]).Bytes()) end = nodes.size();
    }
    nodes.resize(end);
    return nodes;
  }

  void AddInput() {
    const int value = graph_.inputs[0];
    Append("input", {value}, {});
    made_.operators.back().rows = Rows(value);
  }

  void Append(std::string name, std::vector<int> values, std::vector<int> nodes) {
    Operator op;
    op.name = std::move(name);
    for (const int value : values) {
      owner_[value] = static_cast<int>(made_.operators.size());
      op.output_bytes += graph_.Type(value).Bytes();
    }
    if (!values.empty()) op.output_shape = graph_.Type(values[0]).shape;
    made_.operators.push_back(std::move(op));
    made_.values.push_back(std::move(values));
    made_.nodes.push_back(std::move(nodes));
  }

  void Add(const std::vector<int>& nodes) {
    std::string name;
    for (const int n : nodes) name += (name.empty() ? "" : "+") + graph_.nodes[n].op;
    const std::vector<int> values = Present(graph_.nodes[nodes.back()].outputs);
    Append(std::move(name), values, nodes);
    Operator& op = made_.operators.back();
    const bool alike = std::all_of(values.begin(), values.end(), [&](int value) {
      return Rows(value) == Rows(values[0]) && rules_.axis[value] == rules_.axis[values[0]];
    });
    op.rows = alike ? Rows(values[0]) : 1;
    const Node& head = graph_.nodes[nodes.front()];
    for (const size_t i : ComputedInputs(head)) {
      const int value = head.inputs[i];
      const bool cut = alike && made_.operators[owner_[value]].rows == Rows(value);
      AddEdge(op, owner_[value], cut ? rules_.rules[nodes.front()][i] : kWhole);
    }
  }

  // Whoever reads something whole reads it in no other way.
  static void AddEdge(Operator& op, int input, const RowRule& rule) {
    std::vector<int> inputs;
    std::vector<RowRule> rules;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const bool whole = op.rules[i].kind == RowKind::kGlobal;
      if (op.inputs[i] == input && (whole || op.rules[i] == rule)) return;
      if (op.inputs[i] == input && rule.kind == RowKind::kGlobal) continue;
      inputs.push_back(op.inputs[i]);
      rules.push_back(op.rules[i]);
    }
    inputs.push_back(input);
    rules.push_back(rule);
    op.inputs = std::move(inputs);
    op.rules = std::move(rules);
  }

  void AddOutput() {
    Append("output", {}, {});
    Operator& op = made_.operators.back();
    for (const int value : graph_.outputs) {
      if (owner_[value] == kFixed) continue;
      AddEdge(op, owner_[value], kWhole);
      op.output_bytes += graph_.Type(value).Bytes();
    }
  }

  const Graph& graph_;
  const graph::RowRules& rules_;
  std::vector<int> owner_;                 // the operator that makes each value that operators read
  std::vector<std::vector<int>> readers_;  // nodes, of each value that is not fixed; once for each time it is read
  ModelOperators made_;
};

}  // namespace

absl::StatusOr<ModelOperators> OperatorsOf(const Graph& graph, const graph::RowRules& rules) {
  return Builder(graph, rules).Build();
}

graph::RowRange RowsOfValue(const Graph& graph, const graph::RowRules& rules, const Operator& op, int value,
                            graph::RowRange range) {
  const int rows = rules.Rows(graph, value);
  return op.rows == rows || range.Empty() ? range : graph::RowRange{0, rows};
}

}  // namespace wharf::split
