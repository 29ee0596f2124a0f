#include "wharf/split/planners/mcop.h"

#include <algorithm>
#include <numeric>

namespace wharf::split {
namespace {

// The vertices that phases have not merged yet; the first stands for all that are fixed.
class Phases {
 public:
  explicit Phases(const ConsumptionGraph& graph) {
    std::vector<size_t> vertex(graph.local.size());
    members_.emplace_back();
    saved_.push_back(0);
    for (size_t v = 0; v < graph.local.size(); ++v) {
      local_ += graph.local[v];
      if (!graph.fixed[v]) {
        vertex[v] = members_.size();
        members_.emplace_back();
        saved_.push_back(graph.local[v] - graph.remote[v]);
      }
      members_[vertex[v]].push_back(v);
    }
    tied_.assign(members_.size(), std::vector<double>(members_.size()));
    for (const ConsumptionGraph::Edge& edge : graph.edges) {
      const size_t a = vertex[edge.a], b = vertex[edge.b];
      if (a == b) continue;
      tied_[a][b] += edge.cost;
      tied_[b][a] += edge.cost;
    }
    left_.resize(members_.size());
    std::iota(left_.begin(), left_.end(), size_t{0});
  }

  std::vector<bool> Run(size_t vertices) {
    std::vector<bool> best(vertices);
    double least = local_;  // nothing is offloaded
    while (left_.size() > 1) {
      const double cost = Phase();
      if (cost < least) {
        least = cost;
        best.assign(vertices, false);
        for (const size_t v : members_[last_]) best[v] = true;
      }
      Merge();
    }
    return best;
  }

 private:
  // Adds all vertices; what it costs to offload the last one.
  double Phase() {
    std::vector<double> tightness(members_.size());
    std::vector<size_t> outside(left_.begin() + 1, left_.end());
    for (const size_t v : outside) tightness[v] = tied_[left_.front()][v] - saved_[v];
    last_ = left_.front();
    while (!outside.empty()) {
      const auto next =
          std::ranges::max_element(outside, {}, [&tightness](size_t vertex) { return tightness[vertex]; });
      before_ = last_;
      last_ = *next;
      outside.erase(next);
      for (const size_t v : outside) tightness[v] += tied_[last_][v];
    }
    double cost = local_ - saved_[last_];
    for (const size_t v : left_) cost += v == last_ ? 0 : tied_[last_][v];
    return cost;
  }

  // The last vertex with the one before it.
  void Merge() {
    saved_[before_] += saved_[last_];
    members_[before_].insert(members_[before_].end(), members_[last_].begin(), members_[last_].end());
    std::erase(left_, last_);
    for (const size_t v : left_) {
      if (v == before_) continue;
      tied_[before_][v] += tied_[last_][v];
      tied_[v][before_] = tied_[before_][v];
    }
  }

  double local_ = 0;                          // of everything
  std::vector<std::vector<size_t>> members_;  // of the graph
  std::vector<double> saved_;                 // locally less remotely
  std::vector<std::vector<double>> tied_;     // [a][b]
  std::vector<size_t> left_;                  // the fixed ones first
  size_t last_ = 0, before_ = 0;              // of the last phase
};

// Several edges between two operators are one.
ConsumptionGraph GraphOf(const RowGraph& graph, const LayerCosts& costs) {
  ConsumptionGraph consumption;
  consumption.local = costs.compute[kDevice];
  consumption.remote = costs.compute[kServer];
  for (int op = 0; op < graph.Size(); ++op) {
    consumption.fixed.push_back(graph.IsInput(op) || op == graph.Output());
    const double cost = (costs.send[kDevice][op] + costs.send[kServer][op]) / 2;
    for (const int user : graph.Users(op)) consumption.edges.push_back({op, user, cost});
  }
  return consumption;
}

}  // namespace

double ConsumptionGraph::Cost(const std::vector<bool>& on_server) const {
  double cost = 0;
  for (size_t v = 0; v < local.size(); ++v) cost += on_server[v] ? remote[v] : local[v];
  for (const Edge& edge : edges) cost += on_server[edge.a] != on_server[edge.b] ? edge.cost : 0;
  return cost;
}

std::vector<bool> MinCostOffloading(const ConsumptionGraph& graph) { return Phases(graph).Run(graph.local.size()); }

Plan McopPlanner::MakePlan(const Link& link, const Objective& objective) {
  if (link.bytes_per_ms <= 0) return DeviceOnlyPlan(graph_);
  const LayerCosts costs = objective.energy ? EnergyCosts(graph_, link, 0) : LatencyCosts(graph_, link);
  const std::vector<bool> on_server = MinCostOffloading(GraphOf(graph_, costs));
  Plan plan(graph_.Size());
  for (int op = 0; op < graph_.Size(); ++op) {
    plan.rows[on_server[static_cast<size_t>(op)] ? kServer : kDevice][op] = {0, graph_.Rows(op)};
  }
  return plan;
}

}  // namespace wharf::split
