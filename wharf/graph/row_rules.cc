#include "wharf/graph/row_rules.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "wharf/graph/node_facts.h"
#include "wharf/graph/operators.h"

namespace wharf::graph {
namespace {

constexpr RowRule kWhole{RowKind::kGlobal, 1, 1, 0, 1};
constexpr RowRule kSame{RowKind::kRow, 1, 1, 0, 1};

// What is known of a node before its rule: the axis of each input.
struct Site {
  const Graph& graph;
  const Node& node;
  std::vector<int> axes;  // of each input

  const Shape& InShape(size_t index) const { return graph.Type(node.inputs[index]).shape; }
  const Shape& OutShape() const {
    const auto made =
        std::find_if(node.outputs.begin(), node.outputs.end(), [](int value) { return value != kAbsent; });
    return graph.Type(*made).shape;
  }
  int Rank(size_t index) const { return static_cast<int>(InShape(index).size()); }
  // The first input is not cut: nothing follows for the output.
  bool Uncut() const { return axes.empty() || axes[0] == kNoRows; }
};

// What follows for the output, and for each input how it is read. One rule means: the same for all.
struct Verdict {
  int axis = kNoRows;
  std::vector<RowRule> rules = {kWhole};
  bool selects = false;  // the rules hold for an output without rows too, which counts as one
};
using Rule = absl::StatusOr<Verdict> (*)(const Site&);

Verdict Whole(int axis = kNoRows) { return {axis, {kWhole}}; }
Verdict RowByRow(int axis) { return {axis, {kSame}}; }

// Output row i reads input row first + i * step.
RowRule FromRow(int64_t first, int64_t step = 1) {
  return {RowKind::kWindow, 1, static_cast<int>(step), static_cast<int>(-first), 1};
}
// Every output row reads input rows [first, last).
RowRule Band(int64_t first, int64_t last) {
  return {RowKind::kWindow, static_cast<int>(last - first), 0, static_cast<int>(-first), 1};
}

absl::StatusOr<Verdict> ElementWise(const Site& site) {
  const int rank = static_cast<int>(site.OutShape().size());
  Verdict verdict;
  for (size_t i = 0; i < site.axes.size() && verdict.axis == kNoRows; ++i) {
    const int aligned = site.axes[i] == kNoRows ? kNoRows : site.axes[i] + rank - site.Rank(i);
    if (aligned != kNoRows && site.InShape(i)[site.axes[i]] == site.OutShape()[aligned]) verdict.axis = aligned;
  }
  verdict.rules.assign(site.axes.size(), kWhole);
  for (size_t i = 0; i < site.axes.size(); ++i) {
    if (verdict.axis == kNoRows || site.axes[i] == kNoRows) continue;
    if (site.axes[i] + rank - site.Rank(i) == verdict.axis) verdict.rules[i] = kSame;
  }
  return verdict;
}

RowRule WindowRule(RowKind kind, const Window& window) {
  return {kind, static_cast<int>(window.kernel[0]), static_cast<int>(window.stride[0]),
          static_cast<int>(window.begin[0]), static_cast<int>(window.dilation[0])};
}

absl::StatusOr<Verdict> Windowed(const Site& site) {
  if (site.axes[0] != 2) return Whole();
  WHARF_ASSIGN_OR_RETURN(const Window window, WindowOf(site.graph, site.node));
  const RowKind kind = site.node.op == "ConvTranspose" ? RowKind::kTransposed : RowKind::kWindow;
  const RowRule rule = WindowRule(kind, window);
  return rule.padding >= 0 && Validate(rule).ok() ? Verdict{2, {rule}} : Whole(2);
}

absl::StatusOr<Verdict> Resized(const Site& site) {
  if (site.Uncut()) return Whole();
  const int axis = site.axes[0];
  const int64_t in = site.InShape(0)[axis], out = site.OutShape()[axis];
  const std::string_view mode = site.node.String("mode", "nearest");
  const std::string_view where = site.node.String("coordinate_transformation_mode", "half_pixel");
  if (const Constant* scales = site.graph.ConstantInput(site.node, 2); scales != nullptr && !Numbers(*scales).empty()) {
    if (static_cast<double>(in) * Numbers(*scales)[axis] != static_cast<double>(out)) return Whole(axis);
  }
  if (where == "tf_crop_and_resize") return Whole(axis);
  if (in == out && mode != "cubic" && where != "tf_half_pixel_for_nn") return RowByRow(axis);
  if (mode == "nearest" && where == "asymmetric" && site.node.String("nearest_mode", "round_prefer_floor") == "floor") {
    return Verdict{axis, {{RowKind::kResizeNearest, 1, 1, 0, 1}}};
  }
  const bool half_pixel = where == "half_pixel" || (where == "pytorch_half_pixel" && out > 1);
  if (mode == "linear" && half_pixel) return Verdict{axis, {{RowKind::kResizeLinear, 1, 1, 0, 1}}};
  return Whole(axis);
}

absl::StatusOr<Verdict> Blocks(const Site& site) {
  if (site.axes[0] != 2) return Whole();
  const int block = static_cast<int>(site.node.Int("blocksize", 1));
  if (site.node.op == "DepthToSpace") return Verdict{2, {{RowKind::kResizeNearest, 1, 1, 0, 1}}};
  return Verdict{2, {{RowKind::kWindow, block, block, 0, 1}}};
}

// Norms and softmax: rows are apart from each other unless the operator works along them.
absl::StatusOr<Verdict> Along(const Site& site, int first, int last) {
  if (site.Uncut()) return Whole();
  return site.axes[0] >= first && site.axes[0] <= last ? Whole(site.axes[0]) : RowByRow(site.axes[0]);
}

absl::StatusOr<Verdict> AlongChannels(const Site& site) { return Along(site, 1, 1); }
absl::StatusOr<Verdict> AlongSpace(const Site& site) { return Along(site, 2, site.Rank(0) - 1); }
absl::StatusOr<Verdict> AlongAxis(const Site& site) {
  WHARF_ASSIGN_OR_RETURN(const int64_t axis, Axis(site.node.Int("axis", -1), site.Rank(0)));
  return Along(site, static_cast<int>(axis), static_cast<int>(axis));
}
absl::StatusOr<Verdict> FromAxis(const Site& site) {
  WHARF_ASSIGN_OR_RETURN(const int64_t axis, Axis(site.node.Int("axis", -1), site.Rank(0)));
  return Along(site, static_cast<int>(axis), site.Rank(0) - 1);
}

absl::StatusOr<Verdict> Without(const Site& site, const std::vector<int64_t>& reduced, bool keep) {
  const auto gone = [&](int64_t axis) { return std::find(reduced.begin(), reduced.end(), axis) != reduced.end(); };
  if (site.Uncut() || gone(site.axes[0])) return Whole();
  int axis = site.axes[0];
  for (int64_t before = 0; before < site.axes[0] && !keep; ++before) axis -= gone(before) ? 1 : 0;
  return RowByRow(axis);
}

absl::StatusOr<Verdict> Reduced(const Site& site) {
  WHARF_ASSIGN_OR_RETURN(const auto axes, ReducedAxes(site.graph, site.node));
  return Without(site, axes, site.node.Int("keepdims", 1) != 0);
}

absl::StatusOr<Verdict> ArgReduced(const Site& site) {
  WHARF_ASSIGN_OR_RETURN(const int64_t axis, Axis(site.node.Int("axis", 0), site.Rank(0)));
  return Without(site, {axis}, site.node.Int("keepdims", 1) != 0);
}

absl::StatusOr<Verdict> GloballyPooled(const Site& site) {
  std::vector<int64_t> space(std::max(0, site.Rank(0) - 2));
  std::iota(space.begin(), space.end(), 2);
  return Without(site, space, true);
}

// Rows of the first matrix are rows of the product; the second is read whole unless both are cut along the same batch
// axis.
absl::StatusOr<Verdict> Product(const Site& site) {
  const int rank = static_cast<int>(site.OutShape().size());
  const auto aligned = [&](size_t i) { return site.axes[i] == kNoRows ? kNoRows : site.axes[i] + rank - site.Rank(i); };
  if (site.Uncut() || site.Rank(0) < 2 || site.Rank(1) < 2 || site.axes[0] == site.Rank(0) - 1) return Whole();
  const int axis = aligned(0);
  if (site.OutShape()[axis] != site.InShape(0)[site.axes[0]]) return Whole();
  const bool same_batch =
      axis < rank - 2 && aligned(1) == axis && site.InShape(1)[site.axes[1]] == site.OutShape()[axis];
  const bool other_batch =
      axis < rank - 2 && site.Rank(1) > rank - axis && !same_batch && site.InShape(1)[axis - rank + site.Rank(1)] != 1;
  if (other_batch) return Whole(axis);
  return Verdict{axis, {kSame, same_batch ? kSame : kWhole}};
}

// Of queries, keys and values: every query reads its own row, and all keys and values, or those of a band; where all
// are cut along a batch axis, each reads its own.
absl::StatusOr<Verdict> Attended(const Site& site) {
  const int tokens = site.Rank(0) - 2;
  if (site.Uncut() || site.axes[0] > tokens) return Whole();
  if (site.axes[0] < tokens) {
    const bool same_batch = site.axes[1] == site.axes[0] && site.axes[2] == site.axes[0];
    return same_batch ? RowByRow(site.axes[0]) : Whole(site.axes[0]);
  }
  Verdict verdict{tokens, {kSame, kWhole, kWhole}};
  if (site.node.op == "PartialAttention") {
    const RowRule band = Band(site.node.Int("first", 0), site.node.Int("last", 0));
    for (const size_t i : {1, 2}) verdict.rules[i] = site.axes[i] == tokens ? band : kWhole;
  }
  return verdict;
}

absl::StatusOr<Verdict> Merged(const Site& site) {
  const bool alike = std::all_of(site.axes.begin(), site.axes.end(), [&](int axis) { return axis == site.axes[0]; });
  return site.Uncut() || !alike || site.axes[0] == site.Rank(0) - 1 ? Whole() : RowByRow(site.axes[0]);
}

absl::StatusOr<Verdict> Gemm(const Site& site) {
  if (site.axes[0] != 0 || site.node.Int("transA", 0) != 0) return Whole();
  const bool bias_is_computed = site.axes.size() > 2 && site.axes[2] != kNoRows;
  return bias_is_computed ? Whole(0) : Verdict{0, {kSame, kWhole, kWhole}};
}

absl::StatusOr<Verdict> Transposed(const Site& site) {
  if (site.Uncut()) return Whole();
  std::vector<int64_t> order(site.Rank(0));
  std::iota(order.rbegin(), order.rend(), 0);
  order = site.node.Ints("perm", order);
  return RowByRow(static_cast<int>(std::find(order.begin(), order.end(), site.axes[0]) - order.begin()));
}

// Where an axis of `in` goes when the same elements get another shape: to the axis with as many elements before it.
// Rows stay rows if it has the same length, each becomes several if it is longer, and several one if it is shorter.
absl::StatusOr<Verdict> Reshaped(const Site& site) {
  if (site.Uncut()) return Whole();
  const Shape &in = site.InShape(0), &out = site.OutShape();
  const int64_t before = TensorType{ElementType::kBool, Shape(in.begin(), in.begin() + site.axes[0])}.Elements();
  const int64_t rows = in[site.axes[0]];
  int64_t passed = 1;
  for (int axis = 0; axis < static_cast<int>(out.size()); passed *= out[axis++]) {
    if (passed != before || out[axis] < 2 || rows < 2) continue;
    if (out[axis] == rows) return RowByRow(axis);
    if (out[axis] % rows == 0) return Verdict{axis, {{RowKind::kResizeNearest, 1, 1, 0, 1}}};
    const int ratio = static_cast<int>(rows / out[axis]);
    if (rows % out[axis] == 0) return Verdict{axis, {{RowKind::kWindow, ratio, ratio, 0, 1}}};
  }
  return Whole();
}

// Rows after each other: each input is read from where it begins.
Verdict RowsConcatenated(const Site& site, int axis) {
  Verdict verdict{axis, {}};
  int64_t first = 0;
  for (size_t i = 0; i < site.axes.size(); ++i) {
    verdict.rules.push_back(site.axes[i] == axis ? FromRow(-first) : kWhole);
    first += site.InShape(i)[axis];
  }
  return verdict;
}

absl::StatusOr<Verdict> Concatenated(const Site& site) {
  WHARF_ASSIGN_OR_RETURN(const int64_t joined,
                         Axis(site.node.Int("axis", 0), static_cast<int64_t>(site.OutShape().size())));
  if (std::find(site.axes.begin(), site.axes.end(), joined) != site.axes.end()) {
    return RowsConcatenated(site, static_cast<int>(joined));
  }
  int axis = kNoRows;
  bool differ = false;
  for (size_t i = 0; i < site.axes.size(); ++i) {
    const bool computed = site.graph.ConstantInput(site.node, i) == nullptr;
    differ |= computed && axis != kNoRows && site.axes[i] != axis;
    if (computed && axis == kNoRows) axis = site.axes[i];
  }
  return axis == kNoRows || differ ? Whole() : RowByRow(axis);
}

absl::StatusOr<Verdict> Sliced(const Site& site) {
  if (site.Uncut()) return Whole();
  WHARF_ASSIGN_OR_RETURN(const SliceRange range, SliceOf(site.graph, site.node));
  const int axis = site.axes[0];
  const int64_t rows = site.InShape(0)[axis], step = range.steps[axis];
  if (range.counts[axis] == rows && step == 1) return RowByRow(axis);
  return step > 0 ? Verdict{axis, {FromRow(range.starts[axis], std::min(step, rows))}} : Whole(axis);
}

// Expand, Tile, Pad, Split: rows stay rows where their axis keeps its length.
absl::StatusOr<Verdict> KeepingLength(const Site& site) {
  if (site.Uncut()) return Whole();
  const int axis = site.axes[0] + static_cast<int>(site.OutShape().size()) - site.Rank(0);
  if (site.OutShape()[axis] != site.InShape(0)[site.axes[0]]) return Whole(axis);
  if (site.node.op != "Pad") return RowByRow(axis);
  WHARF_ASSIGN_OR_RETURN(const auto pads, ConstantIntegers(site.graph, site.node, 1));
  return pads[axis] == 0 ? RowByRow(axis) : Whole(axis);
}

// One row that is known is all that is read.
absl::StatusOr<Verdict> RowsGathered(const Site& site, int64_t axis) {
  const Constant* index = site.graph.ConstantInput(site.node, 1);
  if (index == nullptr || site.Rank(1) > 0) return Whole(site.Rank(1) == 1 ? site.axes[0] : kNoRows);
  WHARF_ASSIGN_OR_RETURN(const std::vector<int64_t> rows, Integers(*index));
  const int64_t all = site.InShape(0)[axis], row = rows[0] < 0 ? rows[0] + all : rows[0];
  return row < 0 || row >= all ? Whole() : Verdict{kNoRows, {FromRow(row)}, true};
}

absl::StatusOr<Verdict> Gathered(const Site& site) {
  if (site.Uncut() || site.axes[1] != kNoRows) return Whole();
  WHARF_ASSIGN_OR_RETURN(const int64_t axis, Axis(site.node.Int("axis", 0), site.Rank(0)));
  if (site.axes[0] == axis) return RowsGathered(site, axis);
  const int moved = site.axes[0] < axis ? site.axes[0] : site.axes[0] + site.Rank(1) - 1;
  return Verdict{moved, {kSame, kWhole}};
}

const absl::flat_hash_map<std::string_view, Rule>& Rules() {
  static const absl::flat_hash_map<std::string_view, Rule> kRules = {
      {"ArgMax", ArgReduced},
      {"ArgMin", ArgReduced},
      {"Attention", Attended},
      {"AveragePool", Windowed},
      {"BatchNormalization", AlongChannels},
      {"Concat", Concatenated},
      {"Conv", Windowed},
      {"ConvTranspose", Windowed},
      {"DepthToSpace", Blocks},
      {"Expand", KeepingLength},
      {"Flatten", Reshaped},
      {"Gather", Gathered},
      {"Gemm", Gemm},
      {"GlobalAveragePool", GloballyPooled},
      {"GlobalMaxPool", GloballyPooled},
      {"InstanceNormalization", AlongSpace},
      {"LayerNormalization", FromAxis},
      {"Linear", Product},
      {"LogSoftmax", AlongAxis},
      {"LRN", AlongChannels},
      {"MatMul", Product},
      {"MaxPool", Windowed},
      {"MergeAttention", Merged},
      {"Pad", KeepingLength},
      {"PartialAttention", Attended},
      {"Reshape", Reshaped},
      {"Resize", Resized},
      {"Slice", Sliced},
      {"Softmax", AlongAxis},
      {"SpaceToDepth", Blocks},
      {"Split", KeepingLength},
      {"Squeeze", Reshaped},
      {"Tile", KeepingLength},
      {"Transpose", Transposed},
      {"Unsqueeze", Reshaped},
  };
  return kRules;
}

Rule RuleOf(const Node& node) {
  if (const auto found = Rules().find(node.op); found != Rules().end()) return found->second;
  if (node.op.starts_with("Reduce")) return Reduced;
  const OperatorFacts* facts = FactsOf(node.op);
  const bool element_wise = facts != nullptr && facts->kind == OperatorKind::kElementWise;
  return element_wise ? ElementWise : [](const Site&) -> absl::StatusOr<Verdict> { return Whole(); };
}

int AxisOfInput(const Shape& shape) {
  if (shape.size() == 4 || shape.size() == 5) return 2;
  return shape.size() == 3 ? 1 : kNoRows;
}

}  // namespace

bool RowRules::IsLocal(const Graph& graph, int node) const {
  const Node& subject = graph.nodes[node];
  bool local = true;
  for (size_t i = 0; i < subject.inputs.size(); ++i) {
    if (!subject.HasInput(i) || axis[subject.inputs[i]] == kNoRows) continue;
    local &= rules[node][i].kind != RowKind::kGlobal;
  }
  for (const int value : subject.outputs) local &= value == kAbsent || axis[value] != kNoRows;
  return local;
}

absl::StatusOr<RowRules> RowRulesOf(const Graph& graph) {
  RowRules result;
  result.axis.assign(graph.values.size(), kNoRows);
  for (const int input : graph.inputs) result.axis[input] = AxisOfInput(graph.Type(input).shape);
  for (const Node& node : graph.nodes) {
    Site site{graph, node, {}};
    for (const int value : node.inputs) site.axes.push_back(value == kAbsent ? kNoRows : result.axis[value]);
    WHARF_ASSIGN_OR_RETURN(Verdict verdict, RuleOf(node)(site));
    bool cut = false;
    for (const int value : node.outputs) {
      if (value == kAbsent || verdict.axis == kNoRows || graph.Type(value).Rank() <= verdict.axis) continue;
      if (graph.Type(value).shape[verdict.axis] > 1) result.axis[value] = verdict.axis;
      cut |= graph.Type(value).shape[verdict.axis] > 1;
    }
    const RowRule others = verdict.rules.front();
    verdict.rules.resize(std::max(node.inputs.size(), size_t{1}), others);
    if (!cut && !verdict.selects) std::fill(verdict.rules.begin(), verdict.rules.end(), kWhole);  // one row reads all
    result.rules.push_back(std::move(verdict.rules));
  }
  return result;
}

RowRange RowsRead(const Graph& graph, const RowRules& rules, int node, size_t index, RowRange out) {
  const Node& reader = graph.nodes[node];
  const int output =
      *std::find_if(reader.outputs.begin(), reader.outputs.end(), [](int value) { return value != kAbsent; });
  return InputRows(rules.rules[node][index], rules.Rows(graph, reader.inputs[index]), rules.Rows(graph, output), out);
}

std::vector<RowRange> NeededRows(const Graph& graph, const RowRules& rules, std::span<const ValueRows> wanted,
                                 const std::vector<bool>& given) {
  std::vector<RowRange> needed(graph.values.size());
  for (const ValueRows& rows : wanted) needed[rows.value] = Hull(needed[rows.value], rows.range);
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    RowRange range;
    for (const int value : node.outputs) {
      if (value != kAbsent && !given[value]) range = Hull(range, needed[value]);
    }
    if (range.Empty()) continue;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.HasInput(i) || graph.values[node.inputs[i]].constant) continue;
      needed[node.inputs[i]] = Hull(needed[node.inputs[i]], RowsRead(graph, rules, static_cast<int>(n), i, range));
    }
  }
  return needed;
}

}  // namespace wharf::graph
