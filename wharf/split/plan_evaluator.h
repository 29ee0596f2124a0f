// PlanEvaluator: timelines of plans, whatever their layouts.
#pragma once

#include <memory>
#include <vector>

#include "wharf/split/timeline.h"

namespace wharf::split {

// Keeps the graph of every layout it meets. Not thread-safe.
class PlanEvaluator {
 public:
  // `plain`: of the model, not laid out; must outlive it.
  explicit PlanEvaluator(const RowGraph& plain) : plain_(plain) {}
  PlanEvaluator(PlanEvaluator&&) = default;

  // The model's graph laid out so; lives as long as this. REQUIRES: Check(plain, layout).ok().
  const RowGraph& Graph(const Layout& layout) { return Of(layout).graph; }
  // REQUIRES: CheckPlan(plain, plan).ok().
  Outcome Evaluate(const Plan& plan, const Link& link) { return Of(plan.layout).evaluator.Evaluate(plan, link); }
  Outcome Record(const Plan& plan, const Link& link, std::vector<Event>& events) {
    return Of(plan.layout).evaluator.Record(plan, link, events);
  }

 private:
  struct LaidOutGraph {
    LaidOutGraph(const RowGraph& plain, const Layout& how)
        : layout(how), graph(WithLayout(plain, how)), evaluator(graph) {}
    const Layout layout;
    const RowGraph graph;
    Evaluator evaluator;
  };
  LaidOutGraph& Of(const Layout& layout);

  const RowGraph& plain_;
  std::vector<std::unique_ptr<LaidOutGraph>> graphs_;  // the one used last is the last
};

}  // namespace wharf::split
