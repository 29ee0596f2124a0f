#include "wharf/split/row_graph.h"

#include <algorithm>

namespace wharf::split {

RowGraph::Cost RowGraph::CostOf(const ProfiledOperator& one, Side side, const SliceCost& modelled) {
  const double full = one.full_ms[side];
  if (const auto& slice = one.slice[side]) return {full, slice->fixed_ms, slice->row_ms};
  const double fixed = std::min(full, modelled.fixed_ms[side]);
  return {full, modelled.inflation * fixed, modelled.inflation * (full - fixed) / one.op.rows};
}

RowGraph::RowGraph(const Profile& profile) {
  for (int i = 0; i < profile.Size(); ++i) {
    const ProfiledOperator& one = profile.operators[i];
    Node node{};
    node.op = i;
    node.rows = node.all_rows = one.op.rows;
    node.bytes_per_row = one.op.BytesPerRow();
    node.coding_ms_per_row = one.coding_ms / one.op.rows;
    for (const Side side : kSides) node.cost[side] = CostOf(one, side, profile.slice_cost);
    AddNode(node);
    for (size_t k = 0; k < one.op.inputs.size(); ++k) {
      const int input = one.op.inputs[k], rows = profile.operators[input].op.rows;
      AddEdge({input, rows, 0, rows, one.op.rules[k]});
    }
  }
  FindUsers();
}

void RowGraph::AddNode(Node node) {
  node.first_input = static_cast<int>(inputs_.size());
  node.input_count = 0;
  nodes_.push_back(node);
}

void RowGraph::AddEdge(const Edge& edge) {
  if (Needed(Output(), edge, {0, Rows(Output())}).Empty()) return;
  inputs_.push_back(edge);
  ++nodes_.back().input_count;
}

void RowGraph::FindUsers() {
  std::vector<std::vector<int>> users(nodes_.size());
  for (int op = 0; op < Size(); ++op) {
    for (const Edge& edge : Inputs(op)) {
      if (users[edge.from].empty() || users[edge.from].back() != op) users[edge.from].push_back(op);
    }
  }
  for (int op = 0; op < Size(); ++op) {
    nodes_[op].first_user = static_cast<int>(users_.size());
    nodes_[op].user_count = static_cast<int>(users[op].size());
    users_.insert(users_.end(), users[op].begin(), users[op].end());
  }
}

}  // namespace wharf::split
