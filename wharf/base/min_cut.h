// MinCut: the cheapest way to part a directed graph in two (Dinic's algorithm, real capacities).
#pragma once

#include <vector>

namespace wharf {

// Not thread-safe.
class MinCut {
 public:
  static constexpr int kSource = 0, kSink = 1;
  // Nodes are numbered; kSource and kSink exist already. Begins a new graph and keeps the memory.
  void Reset();
  int AddNode();
  // Cutting costs `capacity` if `from` is on the source's side and `to` on the sink's, `reverse` the other way round.
  // REQUIRES: not negative; may be infinite.
  void AddArc(int from, int to, double capacity, double reverse = 0);
  // The cheapest cut's cost, which must be finite. O(nodes^2 * arcs) at worst, near linear on models.
  double Solve();
  // After Solve(): on the source's side of the cut with the fewest nodes there.
  bool OnSourceSide(int node) const { return level_[node] >= 0; }

 private:
  struct Arc {
    int to, next;
    double left;  // capacity not used yet; the reverse of arc i is i ^ 1
  };
  bool FindLevels();
  double Augment(int node, double limit);

  std::vector<int> first_ = {-1, -1}, level_, at_, queue_;
  std::vector<Arc> arcs_;
  double tolerance_ = 0;
};

}  // namespace wharf
