// Our own planner for Intra-DP: no constraint on what is sent, never worse than the best layer partition, the device or
// the server alone.
#pragma once

#include <vector>

#include "wharf/split/cuts.h"
#include "wharf/split/layer_cut.h"
#include "wharf/split/planner.h"
#include "wharf/split/random.h"

namespace wharf::split {

// A local search over cuts with the exact evaluator (all exchanges of one operator or of a frontier in turn, then
// random changes, then again), from several starts: device alone, server alone, the cheapest layer partitions (with and
// without replication, by latency and by energy), plans that part the rows until some frontier of the model and leave
// the rest to one side, and the plans of neighbouring bandwidths. docs/split.md.
class IntraDpPlanner final : public Planner {
 public:
  IntraDpPlanner(const RowGraph& graph, const PlannerOptions& options);
  Plan MakePlan(const Link& link, const Objective& objective) override;
  // First each bandwidth on its own, then every plan is tried as a start at its neighbours, upwards and downwards.
  std::vector<Plan> Sweep(const Link& link, const std::vector<double>& bytes_per_ms,
                          const Objective& objective) override;

 private:
  // Operators whose outputs are alive behind `position` in the operators' order.
  struct Frontier {
    int position = 0;
    double bytes = 0;
    std::vector<int> live;
  };
  struct Candidate {
    Cuts cuts;
    double score = 0;
  };
  void FindFrontiers();
  void FindSites();

  Candidate Solve(const Link& link, const Objective& objective, int64_t budget);
  Plan BestPlan(const Candidate& found);
  double Score(const Cuts& cuts);
  // Takes `cuts_` over if it is better than `best`.
  bool Keep(Candidate& best);
  void AddStarts(std::vector<Candidate>& starts);
  void AddJoins(std::vector<Candidate>& starts);
  void Polish(Candidate& best);
  bool PolishSite(Candidate& best, int op);
  bool PolishFrontier(Candidate& best, const Frontier& frontier);
  void Wander(Candidate& best, int64_t until);
  void Mutate(Cuts& cuts);
  void Shift(Cuts& cuts);

  const RowGraph& graph_;
  const PlannerOptions options_;
  CutDecoder decoder_;
  Evaluator evaluator_;
  LayerCutter cutter_;
  Random random_;
  std::vector<Frontier> frontiers_;
  std::vector<int> sites_;  // operators worth an exchange
  // The question at hand.
  Link link_;
  Objective objective_;
  int64_t spent_ = 0, limit_ = 0;
  Plan plan_;
  Cuts cuts_;
};

}  // namespace wharf::split
