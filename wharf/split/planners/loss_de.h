// LOSS as published (Intra-DP, section IV-C): the rows of every operator on either side, by differential evolution.
#pragma once

#include <vector>

#include "wharf/base/random.h"
#include "wharf/split/planners/cuts.h"
#include "wharf/split/planners/planner.h"

namespace wharf::split {

// best/1/bin with a random weight in [0.5, 1) each generation, crossover 0.7, 15 individuals a variable (at least 20,
// at most 300), from uniform random plans. Two variables an operator: up to where the device computes and from where on
// the server does; they may overlap (replication). Operators under the constraint on transmission have none: each side
// computes what it needs.
class LossPlanner final : public Planner {
 public:
  LossPlanner(const RowGraph& graph, const PlannerOptions& options);
  Plan MakePlan(const Link& link, const Objective& objective) override;

 private:
  struct Individual {
    std::vector<double> genes;
    double score = 0;
  };
  double Score(const std::vector<double>& genes, const Link& link, const Objective& objective);
  void Decode(const std::vector<double>& genes);
  void Breed(const std::vector<Individual>& all, const Individual& best, size_t parent, double weight);

  const RowGraph& graph_;
  const PlannerOptions options_;
  CutDecoder decoder_;
  Evaluator evaluator_;
  Random random_;
  std::vector<int> free_;  // operators that may exchange rows
  Cuts cuts_;
  Plan plan_;
  std::vector<double> trial_;
};

}  // namespace wharf::split
