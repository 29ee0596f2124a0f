// SPSO-GA: layer partitions of least energy under a deadline, by a self-adaptive particle swarm with genetic operators.
#pragma once

#include <vector>

#include "wharf/base/random.h"
#include "wharf/split/planners/layer_cut.h"
#include "wharf/split/planners/planner.h"

namespace wharf::split {

// A particle is a side for every operator. A step moves one operator with the inertia's probability, then copies a
// segment of the particle's own best and of the swarm's best, each with its probability; inertia falls with the
// distance to the swarm's best. Random partitions of hundreds of operators never come near a good one, so a quarter of
// the swarm starts from minimum cuts: by energy with a rising price of time, which alone are the optimum's convex hull.
class SpsoGaPlanner final : public Planner {
 public:
  SpsoGaPlanner(const RowGraph& graph, const PlannerOptions& options);
  Plan MakePlan(const Link& link, const Objective& objective) override;

 private:
  using Position = std::vector<bool>;  // true: on the server
  struct Particle {
    Position at, best;
    double score = 0;  // of best
  };
  double Score(const Position& at, const Link& link, const Objective& objective);
  std::vector<Position> Seeds(const Link& link);
  void Move(Particle& particle, const Position& best, double progress);
  void CopySegment(Position& to, const Position& from);
  void Lay(const Position& at);

  const RowGraph& graph_;
  const PlannerOptions options_;
  LayerCutter cutter_;
  Evaluator evaluator_;
  Random random_;
  Plan plan_;
};

}  // namespace wharf::split
