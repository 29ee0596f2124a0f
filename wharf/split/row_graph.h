// RowGraph: a profile laid out flat for planners, which walk it millions of times.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "wharf/graph/slicing.h"
#include "wharf/split/costs/profile.h"

namespace wharf::split {

using graph::RowRange;
struct Layout;

// Its nodes are the operators of a model; or, laid out in bands (layout.h), parts of them, and what is said of
// operators below holds for these. Immutable; safe to share between threads.
class RowGraph {
 public:
  // One operator reads another. Two operators may have several edges between them, by different rules.
  struct Edge {
    int from;       // who is read
    int rows;       // of the whole operator that is read
    int first_row;  // of `from` in it
    int part_rows;  // how many of them are `from`'s
    graph::RowRule rule;
  };

  // REQUIRES: Validate(profile).ok().
  explicit RowGraph(const Profile& profile);
  friend RowGraph WithLayout(const RowGraph& plain, const Layout& layout);

  int Size() const { return static_cast<int>(nodes_.size()); }
  int Output() const { return Size() - 1; }
  // The model's input, or a part of it, which lies on the device.
  bool IsInput(int op) const { return nodes_[op].op == 0; }
  int Rows(int op) const { return nodes_[op].rows; }
  // The operator of the model that this is, or is a part of; the first of its rows that is here; all it has.
  int Operator(int op) const { return nodes_[op].op; }
  int FirstRow(int op) const { return nodes_[op].first_row; }
  int OperatorRows(int op) const { return nodes_[op].all_rows; }
  double BytesPerRow(int op) const { return nodes_[op].bytes_per_row; }  // as they travel
  // Milliseconds that encoding and decoding rows of its output takes.
  double CodingMs(int op, int rows) const { return nodes_[op].coding_ms_per_row * rows; }
  double Bytes(int op) const { return nodes_[op].bytes_per_row * nodes_[op].rows; }
  std::span<const Edge> Inputs(int op) const {
    return {inputs_.data() + nodes_[op].first_input, static_cast<size_t>(nodes_[op].input_count)};
  }
  // Each once.
  std::span<const int> Users(int op) const {
    return {users_.data() + nodes_[op].first_user, static_cast<size_t>(nodes_[op].user_count)};
  }
  // Milliseconds `side` takes for `rows` rows; 0 for none.
  double Ms(Side side, int op, int rows) const {
    const Node& node = nodes_[op];
    if (rows >= node.all_rows) return node.cost[side].full;
    return rows <= 0 ? 0 : std::min(node.cost[side].full, node.cost[side].base + node.cost[side].per_row * rows);
  }
  // For all rows.
  double FullMs(Side side, int op) const { return Ms(side, op, nodes_[op].rows); }
  // Rows of its input that rows `out` of `op` read. REQUIRES: `edge` is one of Inputs(op).
  RowRange Needed(int op, const Edge& edge, RowRange out) const {
    if (out.Empty()) return {};
    const Node& node = nodes_[op];
    const RowRange read =
        graph::InputRows(edge.rule, edge.rows, node.all_rows, {out.lo + node.first_row, out.hi + node.first_row});
    return Intersection(RowRange{read.lo - edge.first_row, read.hi - edge.first_row}, {0, edge.part_rows});
  }

 private:
  struct Cost {
    double full, base, per_row;  // full: of the whole operator
  };
  struct Node {
    int op, rows, first_row, all_rows, first_input, input_count, first_user, user_count;
    double bytes_per_row, coding_ms_per_row;
    std::array<Cost, 2> cost;
  };
  static Cost CostOf(const ProfiledOperator& one, Side side, const SliceCost& modelled);

  RowGraph() = default;
  // The node's edges follow.
  void AddNode(Node node);
  // To the last node, unless it reads none of the input's rows.
  void AddEdge(const Edge& edge);
  void FindUsers();

  std::vector<Node> nodes_;
  std::vector<Edge> inputs_;
  std::vector<int> users_;
};

}  // namespace wharf::split
