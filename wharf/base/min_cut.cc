#include "wharf/base/min_cut.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wharf {

void MinCut::Reset() {
  first_.assign(2, -1);
  arcs_.clear();
}

int MinCut::AddNode() {
  first_.push_back(-1);
  return static_cast<int>(first_.size()) - 1;
}

void MinCut::AddArc(int from, int to, double capacity, double reverse) {
  arcs_.push_back({to, first_[from], capacity});
  first_[from] = static_cast<int>(arcs_.size()) - 1;
  arcs_.push_back({from, first_[to], reverse});
  first_[to] = static_cast<int>(arcs_.size()) - 1;
}

bool MinCut::FindLevels() {
  level_.assign(first_.size(), -1);
  queue_.clear();
  queue_.push_back(kSource);
  level_[kSource] = 0;
  for (size_t head = 0; head < queue_.size(); ++head) {
    for (int arc = first_[queue_[head]]; arc >= 0; arc = arcs_[arc].next) {
      if (arcs_[arc].left <= tolerance_ || level_[arcs_[arc].to] >= 0) continue;
      level_[arcs_[arc].to] = level_[queue_[head]] + 1;
      queue_.push_back(arcs_[arc].to);
    }
  }
  return level_[kSink] >= 0;
}

// Recursion is as deep as a shortest path is long: at most some operators of a model.
double MinCut::Augment(int node, double limit) {
  if (node == kSink) return limit;
  double pushed = 0;
  for (int& arc = at_[node]; arc >= 0; arc = arcs_[arc].next) {
    const int to = arcs_[arc].to;
    if (arcs_[arc].left <= tolerance_ || level_[to] != level_[node] + 1) continue;
    const double flow = Augment(to, std::min(limit - pushed, arcs_[arc].left));
    if (flow <= 0) continue;
    arcs_[arc].left -= flow;
    arcs_[arc ^ 1].left += flow;
    pushed += flow;
    if (limit - pushed <= tolerance_) return pushed;
  }
  return pushed;
}

double MinCut::Solve() {
  double largest = 0;
  for (const Arc& arc : arcs_) {
    if (std::isfinite(arc.left)) largest = std::max(largest, arc.left);
  }
  tolerance_ = largest * 1e-12;
  double total = 0;
  while (FindLevels()) {
    at_ = first_;
    total += Augment(kSource, std::numeric_limits<double>::infinity());
  }
  return total;
}

}  // namespace wharf
