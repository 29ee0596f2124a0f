// What lower bounds may rely on: rows that are read for certain, and the least that operators cost.
#pragma once

#include <algorithm>

#include "wharf/split/row_graph.h"

namespace wharf::split {

// Calls `visit` for the rows that `row` of `op` reads for certain: of windows with gaps every dilation-th, of
// transposed ones the first and the last. REQUIRES: `edge` is one of graph.Inputs(op).
template <typename Visit>
void ForCertainRows(const RowGraph& graph, int op, const RowGraph::Edge& edge, int row, const Visit& visit) {
  const RowRange read = graph.Needed(op, edge, {row, row + 1});
  if (read.Empty()) return;
  const graph::RowRule& rule = edge.rule;
  const int step = rule.kind == graph::RowKind::kWindow                            ? rule.dilation
                   : rule.kind == graph::RowKind::kTransposed && rule.dilation > 1 ? read.Size()
                                                                                   : 1;
  int last = read.lo;
  for (int one = read.lo; one < read.hi; one += step) visit(last = one);
  if (last != read.hi - 1) visit(read.hi - 1);
}

// The least that all rows of an operator can cost, however they are parted: a slice may be cheaper than its share.
inline double LeastMs(const RowGraph& graph, Side side, int op) {
  const int rows = graph.Rows(op);
  const double full = graph.FullMs(side, op);
  return rows == 1 ? full : std::min(full, graph.Ms(side, op, rows - 1) * rows / (rows - 1));
}

}  // namespace wharf::split
