#include "wharf/split/layout.h"

#include <algorithm>

namespace wharf::split {
namespace {

absl::Status CheckCover(const RowGraph& plain, const Layout& layout) {
  std::vector<std::vector<RowRange>> parts(plain.Size());
  for (const Band& band : layout.bands) {
    if (band.op < 0 || band.op >= plain.Size()) return InvalidArgument("a band of operator {}", band.op);
    const RowRange rows = band.rows;
    if (rows.Empty() || rows.lo < 0 || rows.hi > plain.Rows(band.op)) {
      return InvalidArgument("operator {}: a band of rows {} to {} of {}", band.op, rows.lo, rows.hi,
                             plain.Rows(band.op));
    }
    if (parts[band.op].size() == kMaxBands) return InvalidArgument("operator {}: too many bands", band.op);
    parts[band.op].push_back(rows);
  }
  for (int op = 0; op < plain.Size(); ++op) {
    std::sort(parts[op].begin(), parts[op].end(), [](RowRange a, RowRange b) { return a.lo < b.lo; });
    int next = 0;
    for (const RowRange rows : parts[op]) {
      if (rows.lo != next) return InvalidArgument("operator {}: row {} is in no band or in two", op, next);
      next = rows.hi;
    }
    if (next != plain.Rows(op)) return InvalidArgument("operator {}: row {} is in no band", op, next);
  }
  return absl::OkStatus();
}

absl::Status CheckOrder(const RowGraph& plain, const Layout& layout) {
  std::vector<std::vector<RowRange>> before(plain.Size());
  size_t inputs = 0;
  for (const Band& band : layout.bands) {
    if (band.op == 0 && inputs++ != static_cast<size_t>(&band - layout.bands.data())) {
      return InvalidArgument("the bands of the model's input are not the first");
    }
    for (const RowGraph::Edge& edge : plain.Inputs(band.op)) {
      const RowRange needed = plain.Needed(band.op, AsBandsRead(plain, band.op, edge), band.rows);
      int rows = 0;
      for (const RowRange part : before[edge.from]) rows += Intersection(part, needed).Size();
      if (rows != needed.Size()) {
        return InvalidArgument("operator {}: rows {} to {} come before what they read of operator {}", band.op,
                               band.rows.lo, band.rows.hi, edge.from);
      }
    }
    before[band.op].push_back(band.rows);
  }
  if (layout.bands.back().op != plain.Output()) return InvalidArgument("the output is not the last band");
  return absl::OkStatus();
}

// Whether what every row reads by both is one range.
bool Touch(const RowGraph& plain, int op, const RowGraph::Edge& a, const RowGraph::Edge& b) {
  for (int row = 0; row < plain.Rows(op); ++row) {
    const RowRange one = plain.Needed(op, a, {row, row + 1}), other = plain.Needed(op, b, {row, row + 1});
    if (one.Empty() || other.Empty() || one.hi < other.lo || other.hi < one.lo) return false;
  }
  return true;
}

}  // namespace

RowGraph::Edge AsBandsRead(const RowGraph& plain, int op, RowGraph::Edge edge) {
  const auto inputs = plain.Inputs(op);
  const bool apart = std::any_of(inputs.begin(), inputs.end(), [&](const RowGraph::Edge& other) {
    return other.from == edge.from && other.rule != edge.rule && !Touch(plain, op, edge, other);
  });
  if (apart) edge.rule = {graph::RowKind::kGlobal};
  return edge;
}

absl::Status Check(const RowGraph& plain, const Layout& layout) {
  if (layout.bands.empty()) return absl::OkStatus();
  WHARF_RETURN_IF_ERROR(CheckCover(plain, layout));
  return CheckOrder(plain, layout);
}

RowGraph WithLayout(const RowGraph& plain, const Layout& layout) {
  std::vector<Band> bands = layout.bands;
  for (int op = 0; layout.bands.empty() && op < plain.Size(); ++op) bands.push_back({op, {0, plain.Rows(op)}});
  RowGraph graph;
  std::vector<std::vector<int>> nodes(plain.Size());  // of each operator, so far
  for (const Band& band : bands) {
    RowGraph::Node node = plain.nodes_[band.op];
    node.rows = band.rows.Size();
    node.first_row = band.rows.lo;
    graph.AddNode(node);
    for (RowGraph::Edge edge : plain.Inputs(band.op)) {
      if (!layout.bands.empty()) edge = AsBandsRead(plain, band.op, edge);
      if (layout.gathered && edge.rule.kind != graph::RowKind::kRow) edge.rule = {graph::RowKind::kGlobal};
      for (const int input : nodes[edge.from]) {
        edge.from = input;
        edge.first_row = graph.FirstRow(input);
        edge.part_rows = graph.Rows(input);
        graph.AddEdge(edge);
      }
    }
    nodes[band.op].push_back(graph.Size() - 1);
  }
  graph.FindUsers();
  return graph;
}

}  // namespace wharf::split
