#include "wharf/split/bands.h"

#include <algorithm>
#include <cmath>

namespace wharf::split {
namespace {

int ShareOf(const RowGraph& graph, int op, double share) {
  return static_cast<int>(std::lround(graph.Rows(op) * share));
}

// Of each operator before `until`, how many first rows can be computed from that share of the model's input.
std::vector<int> RowsFromInput(const RowGraph& graph, int until, double share) {
  std::vector<int> rows(until);
  rows[0] = ShareOf(graph, 0, share);
  for (int op = 1; op < until; ++op) {
    const auto can_compute = [&](int count) {
      return std::all_of(graph.Inputs(op).begin(), graph.Inputs(op).end(), [&](const RowGraph::Edge& edge) {
        return graph.Needed(op, AsBandsRead(graph, op, edge), {0, count}).hi <= rows[edge.from];
      });
    };
    int possible = 0, impossible = graph.Rows(op) + 1;
    while (impossible - possible > 1) {
      const int middle = (possible + impossible) / 2;
      (can_compute(middle) ? possible : impossible) = middle;
    }
    rows[op] = possible;
  }
  return rows;
}

// Of each operator before `until`, how many first rows are needed for that share of what is read behind.
std::vector<int> RowsForFrontier(const RowGraph& graph, int until, double share) {
  std::vector<int> rows(until);
  for (int op = until - 1; op >= 0; --op) {
    if (graph.Users(op).empty() || graph.Users(op).back() >= until) {
      rows[op] = std::max(rows[op], ShareOf(graph, op, share));
    }
    for (const RowGraph::Edge& edge : graph.Inputs(op)) {
      rows[edge.from] = std::max(rows[edge.from], graph.Needed(op, AsBandsRead(graph, op, edge), {0, rows[op]}).hi);
    }
  }
  return rows;
}

}  // namespace

Layout InBands(const RowGraph& plain, const Banding& banding) {
  const int until = banding.until;
  std::vector<std::vector<int>> fronts = {std::vector<int>(until, 0)};
  for (const double end : banding.ends) {
    fronts.push_back(banding.anchor == Anchor::kInput ? RowsFromInput(plain, until, end)
                                                      : RowsForFrontier(plain, until, end));
  }
  fronts.emplace_back();
  for (int op = 0; op < until; ++op) fronts.back().push_back(plain.Rows(op));
  Layout layout;
  const auto add = [&](size_t band, int op) {
    const RowRange rows{fronts[band - 1][op], fronts[band][op]};
    if (!rows.Empty()) layout.bands.push_back({op, rows});
  };
  for (size_t band = 1; band < fronts.size(); ++band) add(band, 0);
  for (size_t band = 1; band < fronts.size(); ++band) {
    for (int op = 1; op < until; ++op) add(band, op);
  }
  for (int op = until; op < plain.Size(); ++op) layout.bands.push_back({op, {0, plain.Rows(op)}});
  return layout;
}

}  // namespace wharf::split
