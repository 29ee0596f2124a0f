#include "wharf/split/row_graph.h"

#include <algorithm>

namespace wharf::split {

RowGraph::Cost RowGraph::CostOf(const ProfiledOperator& one, Side side, const SliceCost& modelled) {
  const double full = one.full_ms[side];
  if (const auto& slice = one.slice[side]) return {full, slice->fixed_ms, slice->row_ms};
  const double fixed = std::min(full, modelled.fixed_ms);
  return {full, modelled.inflation * fixed, modelled.inflation * (full - fixed) / one.op.rows};
}

RowGraph::RowGraph(const Profile& profile) {
  std::vector<std::vector<int>> users(profile.operators.size());
  for (int i = 0; i < profile.Size(); ++i) {
    const ProfiledOperator& one = profile.operators[i];
    Node node{};
    node.rows = one.op.rows;
    node.bytes_per_row = one.op.BytesPerRow();
    node.first_input = static_cast<int>(inputs_.size());
    node.input_count = static_cast<int>(one.op.inputs.size());
    for (size_t k = 0; k < one.op.inputs.size(); ++k) {
      const int input = one.op.inputs[k];
      inputs_.push_back({input, profile.operators[input].op.rows, one.op.rules[k]});
      if (users[input].empty() || users[input].back() != i) users[input].push_back(i);
    }
    for (const Side side : kSides) {
      node.cost[side] = CostOf(one, side, profile.slice_cost);
    }
    nodes_.push_back(node);
  }
  for (int i = 0; i < profile.Size(); ++i) {
    nodes_[i].first_user = static_cast<int>(users_.size());
    nodes_[i].user_count = static_cast<int>(users[i].size());
    users_.insert(users_.end(), users[i].begin(), users[i].end());
  }
}

}  // namespace wharf::split
