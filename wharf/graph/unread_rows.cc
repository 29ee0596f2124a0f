#include "wharf/graph/unread_rows.h"

#include <algorithm>
#include <array>
#include <utility>

#include "wharf/graph/operators.h"
#include "wharf/graph/row_rules.h"

namespace wharf::graph {
namespace {

// Besides element-wise ones, operators whose attributes do not say how many rows there are.
constexpr std::array<std::string_view, 8> kRowWise = {"Attention", "Gemm",    "LayerNormalization", "Linear", "MatMul",
                                                      "Slice",     "Softmax", "Transpose"};

class Dropping {
 public:
  Dropping(Graph graph, RowRules rules)
      : graph_(std::move(graph)), rules_(std::move(rules)), kept_(graph_.values.size()) {}

  Graph Run() {
    for (const int value : graph_.outputs) kept_[value] = All(value);
    for (int n = static_cast<int>(graph_.nodes.size()) - 1; n >= 0; --n) Keep(n);
    std::vector<Node> nodes = std::exchange(graph_.nodes, {});
    for (size_t n = 0; n < nodes.size(); ++n) Rewrite(static_cast<int>(n), std::move(nodes[n]));
    for (size_t value = 0; value < kept_.size(); ++value) {
      if (Dropped(static_cast<int>(value))) graph_.values[value].type.shape[rules_.axis[value]] = kept_[value].Size();
    }
    return WithoutUnused(graph_);
  }

 private:
  RowRange All(int value) const { return {0, rules_.Rows(graph_, value)}; }
  bool Dropped(int value) const { return !kept_[value].Empty() && kept_[value] != All(value); }
  bool IsInput(int value) const {
    return std::find(graph_.inputs.begin(), graph_.inputs.end(), value) != graph_.inputs.end();
  }
  bool IsRow(int node, size_t input) const { return rules_.rules[node][input].kind == RowKind::kRow; }

  // Makes each of its rows of the same row of some inputs and of the whole of the others.
  bool MakesRowsApart(int n) const {
    const Node& node = graph_.nodes[n];
    if (node.outputs.size() != 1 || rules_.axis[node.outputs[0]] == kNoRows) return false;
    const bool element_wise = FactsOf(node.op)->kind == OperatorKind::kElementWise;
    const bool known =
        element_wise || node.op == "Reshape" || std::find(kRowWise.begin(), kRowWise.end(), node.op) != kRowWise.end();
    const bool bias = node.op == "Gemm" && node.HasInput(2) && graph_.Type(node.inputs[2]).Rank() > 1;
    if (!known || bias) return false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.HasInput(i) || rules_.axis[node.inputs[i]] == kNoRows) continue;
      const bool same_rows = IsRow(n, i) && All(node.inputs[i]) == All(node.outputs[0]);
      const bool whole = rules_.rules[n][i].kind == RowKind::kGlobal && (i > 0 || element_wise);
      if (!same_rows && !whole) return false;
    }
    return true;
  }

  // One row of what has many: the only thing that reads some rows and not others.
  bool Gathers(int n) const {
    const Node& node = graph_.nodes[n];
    return node.op == "Gather" && rules_.axis[node.inputs[0]] != kNoRows && rules_.rules[n][0].kind == RowKind::kWindow;
  }

  // Which rows of its inputs must be there.
  void Keep(int n) {
    const Node& node = graph_.nodes[n];
    const bool apart = MakesRowsApart(n);
    for (const int value : node.outputs) {
      if (value != kAbsent && !apart && !kept_[value].Empty()) kept_[value] = All(value);
    }
    const auto made = std::find_if(node.outputs.begin(), node.outputs.end(),
                                   [&](int value) { return value != kAbsent && !kept_[value].Empty(); });
    if (made == node.outputs.end()) return;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.HasInput(i)) continue;
      const int value = node.inputs[i];
      const bool some = (apart || Gathers(n)) && !IsInput(value);
      kept_[value] = Hull(kept_[value], some ? RowsRead(graph_, rules_, n, i, kept_[*made]) : All(value));
    }
  }

  int AddIntegers(const std::vector<int64_t>& numbers) {
    Constant constant = Constant::Of<int64_t>(ElementType::kInt64, {static_cast<int64_t>(numbers.size())}, numbers);
    TensorType type = constant.type;
    return AddValue("", std::move(type), std::move(constant));
  }
  int AddValue(std::string name, TensorType type, std::optional<Constant> constant) {
    graph_.values.push_back({std::move(name), std::move(type), std::move(constant)});
    rules_.axis.push_back(kNoRows);
    kept_.emplace_back();
    return static_cast<int>(graph_.values.size()) - 1;
  }

  // Rows `range` of an axis, of which `here` are there, in a value of their own.
  int Sliced(int value, int axis, RowRange range, RowRange here) {
    if (range == here) return value;
    TensorType type = graph_.Type(value);
    type.shape[axis] = range.Size();
    const std::string name = fmt::format("{} rows {} to {}", graph_.values[value].name, range.lo, range.hi);
    const int rows = AddValue(name, std::move(type), {});
    const std::vector<int> inputs = {value, AddIntegers({range.lo - here.lo}), AddIntegers({range.hi - here.lo}),
                                     AddIntegers({axis})};
    graph_.nodes.push_back({"Slice", name, inputs, {rows}, {}});
    return rows;
  }

  void Rewrite(int n, Node node) {
    if (node.op == "Gather" && rules_.axis[node.inputs[0]] != kNoRows && Dropped(node.inputs[0])) {
      const int64_t row = RowsReadBy(n, node).lo - kept_[node.inputs[0]].lo;
      Constant index = Constant::Of<int64_t>(ElementType::kInt64, {}, {{row}});
      TensorType type = index.type;
      node.inputs[1] = AddValue("", std::move(type), std::move(index));
    } else if (node.outputs.size() == 1 && node.outputs[0] != kAbsent) {
      TakeRows(n, node);
    }
    graph_.nodes.push_back(std::move(node));
  }

  // The one row that a Gather reads.
  RowRange RowsReadBy(int n, const Node& node) const {
    return InputRows(rules_.rules[n][0], rules_.Rows(graph_, node.inputs[0]), 1, {0, 1});
  }

  // Of its inputs, those rows that it makes.
  void TakeRows(int n, Node& node) {
    const int output = node.outputs[0], axis = rules_.axis[output], rank = graph_.Type(output).Rank();
    if (axis == kNoRows || kept_[output].Empty()) return;
    const bool element_wise = FactsOf(node.op)->kind == OperatorKind::kElementWise;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.HasInput(i)) continue;
      const int value = node.inputs[i], aligned = axis - (rank - graph_.Type(value).Rank());
      if (rules_.axis[value] != kNoRows && IsRow(n, i) && All(value) == All(output)) {
        node.inputs[i] = Sliced(value, rules_.axis[value], kept_[output], kept_[value]);
      } else if (element_wise && aligned >= 0 && graph_.Type(value).shape[aligned] == All(output).hi) {
        node.inputs[i] = Sliced(value, aligned, kept_[output], All(output));
      }
    }
    if (node.op != "Reshape" || !Dropped(output)) return;
    Shape shape = graph_.Type(output).shape;
    shape[axis] = kept_[output].Size();
    node.inputs[1] = AddIntegers(shape);
    node.attributes.erase("allowzero");
  }

  Graph graph_;
  RowRules rules_;
  std::vector<RowRange> kept_;  // of each value; empty: nothing needs it
};

}  // namespace

Graph DropUnreadRows(Graph graph) {
  auto rules = RowRulesOf(graph);
  return rules.ok() ? Dropping(std::move(graph), *std::move(rules)).Run() : graph;
}

}  // namespace wharf::graph
