// RowGraph: a profile laid out flat for planners, which walk it millions of times.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "wharf/graph/slicing.h"
#include "wharf/split/profile.h"

namespace wharf::split {

using graph::RowRange;

// Immutable; safe to share between threads.
class RowGraph {
 public:
  // One operator reads another. Two operators may have several edges between them, by different rules.
  struct Edge {
    int from, rows;  // who is read, and its rows
    graph::RowRule rule;
  };

  // REQUIRES: Validate(profile).ok().
  explicit RowGraph(const Profile& profile);

  int Size() const { return static_cast<int>(nodes_.size()); }
  int Output() const { return Size() - 1; }
  int Rows(int op) const { return nodes_[op].rows; }
  double BytesPerRow(int op) const { return nodes_[op].bytes_per_row; }
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
    if (rows >= node.rows) return node.cost[side].full;
    return rows <= 0 ? 0 : std::min(node.cost[side].full, node.cost[side].base + node.cost[side].per_row * rows);
  }
  double FullMs(Side side, int op) const { return nodes_[op].cost[side].full; }
  // Rows of its input that rows `out` of `op` read. REQUIRES: `edge` is one of Inputs(op).
  RowRange Needed(int op, const Edge& edge, RowRange out) const {
    return graph::InputRows(edge.rule, edge.rows, nodes_[op].rows, out);
  }

 private:
  struct Cost {
    double full, base, per_row;
  };
  struct Node {
    int rows, first_input, input_count, first_user, user_count;
    double bytes_per_row;
    std::array<Cost, 2> cost;
  };
  static Cost CostOf(const ProfiledOperator& one, Side side, const SliceCost& modelled);

  std::vector<Node> nodes_;
  std::vector<Edge> inputs_;
  std::vector<int> users_;
};

}  // namespace wharf::split
