#include "wharf/split/planners/loss_de.h"

#include <algorithm>
#include <cmath>

namespace wharf::split {
namespace {

constexpr double kCrossover = 0.7;

}  // namespace

LossPlanner::LossPlanner(const RowGraph& graph, const PlannerOptions& options)
    : graph_(graph),
      options_(options),
      decoder_(graph),
      evaluator_(graph),
      random_(options.seed),
      cuts_(graph.Size()),
      plan_(graph.Size()) {
  for (int op = 1; op < graph.Output(); ++op) {
    if (!options.small_outputs_only || graph.Bytes(op) <= graph.Bytes(0)) free_.push_back(op);
  }
  trial_.resize(2 * free_.size());
}

void LossPlanner::Decode(const std::vector<double>& genes) {
  for (size_t i = 0; i < free_.size(); ++i) {
    const int rows = graph_.Rows(free_[i]);
    const auto row = [&](double gene) { return static_cast<int>(std::lround(gene * rows)); };
    cuts_[free_[i]] = {row(genes[2 * i]), row(genes[2 * i + 1])};
  }
  decoder_.Decode(cuts_, plan_);
}

double LossPlanner::Score(const std::vector<double>& genes, const Link& link, const Objective& objective) {
  Decode(genes);
  return objective.Score(evaluator_.Evaluate(plan_, decoder_.Needed(), link));
}

void LossPlanner::Breed(const std::vector<Individual>& all, const Individual& best, size_t parent, double weight) {
  const int count = static_cast<int>(all.size());
  const std::vector<double>& a = all[random_.Below(count)].genes;
  const std::vector<double>& b = all[random_.Below(count)].genes;
  const size_t always = random_.Below(static_cast<int>(trial_.size()));
  for (size_t i = 0; i < trial_.size(); ++i) {
    trial_[i] = all[parent].genes[i];
    if (i != always && random_.Uniform() >= kCrossover) continue;
    const double gene = best.genes[i] + weight * (a[i] - b[i]);
    trial_[i] = gene < 0 || gene > 1 ? random_.Uniform() : gene;
  }
}

Plan LossPlanner::MakePlan(const Link& link, const Objective& objective) {
  const int64_t evaluations = std::max<int64_t>(1, options_.budget / graph_.Size());
  const auto size = static_cast<size_t>(std::clamp<int64_t>(15 * static_cast<int64_t>(trial_.size()), 20, 300));
  std::vector<Individual> all(size);
  for (Individual& one : all) {
    for (size_t i = 0; i < trial_.size(); ++i) one.genes.push_back(random_.Uniform());
    one.score = Score(one.genes, link, objective);
  }
  const auto better = [](const Individual& a, const Individual& b) { return a.score < b.score; };
  Individual best = *std::min_element(all.begin(), all.end(), better);
  for (int64_t spent = static_cast<int64_t>(size); spent < evaluations && !trial_.empty();) {
    const double weight = 0.5 + random_.Uniform() / 2;
    for (size_t parent = 0; parent < size && spent < evaluations; ++parent, ++spent) {
      Breed(all, best, parent, weight);
      const double score = Score(trial_, link, objective);
      if (!(score <= all[parent].score)) continue;
      all[parent] = {trial_, score};
      if (score < best.score) best = all[parent];
    }
  }
  Decode(best.genes);
  return plan_;
}

}  // namespace wharf::split
