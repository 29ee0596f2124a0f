// Tensor parallelism, as DINA and its like do it: both sides compute a share of every layer and exchange all of it.
#pragma once

#include "wharf/split/planners/planner.h"

namespace wharf::split {

// One share of the rows for all operators, the best of fifteen; operators of one row are the server's where the device
// has less than half. Both sides always compute: the ends of the scale are device-only and server-only.
class TensorParallelPlanner final : public Planner {
 public:
  // `graph` must outlive it.
  explicit TensorParallelPlanner(const RowGraph& graph);
  Plan MakePlan(const Link& link, const Objective& objective) override;

 private:
  const Layout layout_;
  const RowGraph graph_;  // gathered
  Evaluator evaluator_;
};

}  // namespace wharf::split
