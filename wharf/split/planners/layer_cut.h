// Layer cuts: whole operators on one side or the other, the cheapest of all such partitions of any DAG, exactly, as a
// minimum cut. The layer-partition baselines, seeds for the solver and the heart of the lower bound.
#pragma once

#include <array>
#include <vector>

#include "wharf/base/min_cut.h"
#include "wharf/split/plan.h"
#include "wharf/split/timeline.h"

namespace wharf::split {

// What a partition costs, in any unit: operators by side, and sending the output of one (once, however many users it
// has there) by sender. Not negative.
struct LayerCosts {
  std::array<std::vector<double>, 2> compute, send;
  explicit LayerCosts(int operators = 0) {
    compute.fill(std::vector<double>(operators));
    send.fill(std::vector<double>(operators));
  }
};

enum class Replication { kNo, kYes };  // may an operator be computed on both sides?

struct LayerCut {
  std::array<std::vector<bool>, 2> on;    // computed there, by Side
  std::array<std::vector<bool>, 2> sent;  // by sender
  double cost = 0;
};

// Keeps its working memory between calls; not thread-safe. `graph` must outlive it.
class LayerCutter {
 public:
  explicit LayerCutter(const RowGraph& graph) : graph_(graph) {}
  // Edges for which `tied(op, input)` is false are not kept: op may be computed without that input.
  void IgnoreEdges(std::vector<std::vector<bool>> tied) { tied_ = std::move(tied); }
  // From now on `side` must compute `op`; of several calls the last counts, and -1 takes it back.
  void Require(int op, Side side) { required_ = op, required_side_ = side; }
  // The input is on the device only, the output is computed there.
  LayerCut Cheapest(const LayerCosts& costs, Replication replication);

 private:
  void AddSends(const LayerCosts& costs);
  bool Tied(int op, size_t input) const { return tied_.empty() || tied_[op][input]; }

  const RowGraph& graph_;
  std::vector<std::vector<bool>> tied_;  // by operator, then position among its inputs
  int required_ = -1;
  Side required_side_ = kDevice;
  MinCut cut_;
  std::vector<int> lacks_;  // node of "the server does not compute it"
  std::vector<int> has_;    // node of "the device computes it"
};

// Operators one after the other, nothing at once: the sequential execution of layer partitioning.
LayerCosts LatencyCosts(const RowGraph& graph, const Link& link);
// Joules of the device in such an execution, plus `joules_per_ms` for every millisecond it lasts.
LayerCosts EnergyCosts(const RowGraph& graph, const Link& link, double joules_per_ms, const PowerStates& power = {});

Plan PlanOf(const RowGraph& graph, const LayerCut& cut);
Plan DeviceOnlyPlan(const RowGraph& graph);
Plan ServerOnlyPlan(const RowGraph& graph);
// A cut in the order of operators: the device computes those up to `op`, the server the others; inputs and the output
// are the device's. -1: the server alone.
Plan CutBehind(const RowGraph& graph, int op);

}  // namespace wharf::split
