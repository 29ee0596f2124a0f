#include "wharf/split/planners/tensor_parallel.h"

#include <cmath>
#include <limits>

namespace wharf::split {
namespace {

constexpr int kRowShares = 16;

Layout Gathered() {
  Layout layout;
  layout.gathered = true;
  return layout;
}

// The device has the first `share` of kRowShares parts of the rows.
Plan PlanOfShare(const RowGraph& graph, const Layout& layout, int share) {
  Plan plan(graph.Size());
  plan.layout = layout;
  for (int op = 0; op < graph.Size(); ++op) {
    const int all = graph.Rows(op);
    const bool fixed = graph.IsInput(op) || op == graph.Output();
    const int rows = fixed ? all : static_cast<int>(std::lround(static_cast<double>(all) * share / kRowShares));
    if (rows > 0) plan.rows[kDevice][op] = {0, rows};
    if (rows < all) plan.rows[kServer][op] = {rows, all};
  }
  return plan;
}

}  // namespace

TensorParallelPlanner::TensorParallelPlanner(const RowGraph& graph)
    : layout_(Gathered()), graph_(WithLayout(graph, layout_)), evaluator_(graph_) {}

Plan TensorParallelPlanner::MakePlan(const Link& link, const Objective& objective) {
  Plan best = PlanOfShare(graph_, layout_, 1);
  double least = objective.Score(evaluator_.Evaluate(best, link));
  for (int share = 2; share < kRowShares; ++share) {
    Plan plan = PlanOfShare(graph_, layout_, share);
    const double score = objective.Score(evaluator_.Evaluate(plan, link));
    if (score < least) best = std::move(plan), least = score;
  }
  return best;
}

}  // namespace wharf::split
