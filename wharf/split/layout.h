// Layout: in which pieces, and in which order, operators are computed. By default each side computes all its rows of an
// operator in one kernel, one operator after the other; then nothing of an operator can be sent before all of it is
// done, nor computed before all it reads has come. Bands part an operator's rows, so that a first part of the model is
// computed, and sent, while the rows of the next are still on their way.
#pragma once

#include <vector>

#include "wharf/base/status.h"
#include "wharf/split/row_graph.h"

namespace wharf::split {

// Some rows of one operator: one kernel on each side that computes any of them.
struct Band {
  int op = 0;
  RowRange rows;
  friend bool operator==(const Band&, const Band&) = default;
};

struct Layout {
  // In the order of computation; the model's input first. Empty: every operator whole, in their order.
  std::vector<Band> bands;
  // Tensor parallelism: what reads other than row for row reads whole inputs, so that both sides exchange all rows
  // behind every layer.
  bool gathered = false;

  bool Plain() const { return bands.empty() && !gathered; }
  friend bool operator==(const Layout&, const Layout&) = default;
};

inline constexpr int kMaxBands = 8;  // of one operator

// How bands of `op` read this input of theirs: an operator that reads an input in several places far apart (rows joined
// to rows of the same) reads it whole, because a kernel is given one range of it. O(rows) where there are several.
RowGraph::Edge AsBandsRead(const RowGraph& plain, int op, RowGraph::Edge edge);

// kInvalidArgument unless the bands cover every operator's rows exactly once, at most kMaxBands of them each, each band
// after everything it reads; the model's input first, the output (one row) last. O(operators + edges * kMaxBands^2).
absl::Status Check(const RowGraph& plain, const Layout& layout);

// The graph whose operators are the layout's bands, each with rows counted from its first: evaluators and planners take
// it as any other. The costs are those of slices of the operators. REQUIRES: `plain` has no bands itself,
// Check(plain, layout).ok().
RowGraph WithLayout(const RowGraph& plain, const Layout& layout);

}  // namespace wharf::split
