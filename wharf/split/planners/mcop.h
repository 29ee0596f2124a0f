// MCOP: layer partitions by the min-cost offloading partitioning algorithm, as published: a variation of Stoer and
// Wagner's minimum cut in which vertices cost something, too. Beside LayerCutter, which is exact.
#pragma once

#include <vector>

#include "wharf/split/planners/layer_cut.h"
#include "wharf/split/planners/planner.h"

namespace wharf::split {

// What a partition costs as the algorithm sees it: operators by side, and each edge between operators on different
// sides by what it costs, whatever the direction.
struct ConsumptionGraph {
  struct Edge {
    int a = 0, b = 0;
    double cost = 0;
  };
  std::vector<double> local, remote;  // by vertex
  std::vector<bool> fixed;            // cannot be remote
  std::vector<Edge> edges;

  // Of what is remote.
  double Cost(const std::vector<bool>& on_server) const;
};

// The vertices to offload. In each phase vertices are added to those that stay, the most tightly connected first: that
// whose edges to them cost most, less what it saves remotely. The last one added, which is all that earlier phases have
// merged with it, is a candidate to be offloaded; then it is merged with the one before. The best candidate, or none
// where that costs less. O(V³). REQUIRES: some vertex is fixed; costs finite and not negative.
std::vector<bool> MinCostOffloading(const ConsumptionGraph& graph);

// The layer partition that MinCostOffloading finds; the input and the output stay on the device.
class McopPlanner final : public Planner {
 public:
  // `graph` must outlive it.
  explicit McopPlanner(const RowGraph& graph) : graph_(graph) {}
  Plan MakePlan(const Link& link, const Objective& objective) override;

 private:
  const RowGraph& graph_;
};

}  // namespace wharf::split
