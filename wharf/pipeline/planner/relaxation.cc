#include "wharf/pipeline/planner/relaxation.h"

#include <algorithm>
#include <limits>

#include "wharf/pipeline/planner/linear_program.h"

namespace wharf::pipeline {
namespace {

double Dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

class Relaxer {
 public:
  Relaxer(const Cluster& cluster, std::span<const std::vector<Candidate>> candidates, std::span<const double> weights,
          Objective objective, Mode mode)
      : weights_(weights), objective_(objective) {
    const int classes = static_cast<int>(cluster.classes.size());
    for (int i = 0; i < classes; ++i) {
      gpus_.push_back(cluster.Gpus(i));
      costs_.push_back(cluster.classes[i].cost);
    }
    for (const std::vector<Candidate>& each : candidates) {
      auto& uses = uses_.emplace_back();
      for (const Candidate& one : each) uses.push_back(GpusPerRate(one, classes, mode));
    }
  }

  absl::StatusOr<Relaxation> Solve() const {
    LinearProgram program;
    for (const double gpus : gpus_) program.AddRow(-kInfinity, gpus);
    for (const double weight : weights_) program.AddRow(objective_ == Objective::kCost ? weight : 0, kInfinity);
    for (size_t model = 0; model < uses_.size(); ++model) {
      for (const auto& use : uses_[model]) AddCandidate(program, use, static_cast<int>(model));
    }
    if (objective_ == Objective::kThroughput) AddThroughput(program);
    WHARF_ASSIGN_OR_RETURN(const LinearProgram::Relaxed relaxed, program.SolveRelaxed());
    Relaxation relaxation;
    for (size_t i = 0; i < gpus_.size(); ++i) relaxation.gpu_prices.push_back(std::max(0.0, -relaxed.row_prices[i]));
    relaxation.bound = Bound(relaxation.gpu_prices);
    if (objective_ == Objective::kCost) {
      for (size_t i = 0; i < gpus_.size(); ++i) relaxation.gpu_prices[i] += costs_[i];
    }
    for (const auto& uses : uses_) relaxation.request_prices.push_back(Cheapest(uses, relaxation.gpu_prices));
    return relaxation;
  }

 private:
  // A column is the candidate's requests/s.
  void AddCandidate(LinearProgram& program, const std::vector<double>& use, int model) const {
    std::vector<LinearProgram::Entry> entries;
    for (size_t i = 0; i < use.size(); ++i) {
      if (use[i] > 0) entries.push_back({static_cast<int>(i), use[i]});
    }
    entries.push_back({static_cast<int>(gpus_.size()) + model, 1});
    program.AddColumn(objective_ == Objective::kCost ? Dot(use, costs_) : 0, entries, false);
  }

  // The column of the least normalised throughput, to be large.
  void AddThroughput(LinearProgram& program) const {
    std::vector<LinearProgram::Entry> entries;
    for (size_t i = 0; i < weights_.size(); ++i) {
      entries.push_back({static_cast<int>(gpus_.size() + i), -weights_[i]});
    }
    program.AddColumn(-1, entries, false);
  }

  static double Cheapest(const std::vector<std::vector<double>>& uses, const std::vector<double>& prices) {
    double cheapest = kInfinity;
    for (const auto& use : uses) cheapest = std::min(cheapest, Dot(use, prices));
    return cheapest;
  }

  // Holds for every `prices` that are not negative: of a GPU (kThroughput), or beyond its cost (kCost).
  double Bound(const std::vector<double>& prices) const {
    std::vector<double> worth = prices;
    if (objective_ == Objective::kCost) {
      for (size_t i = 0; i < worth.size(); ++i) worth[i] += costs_[i];
    }
    double requests_worth = 0;
    for (size_t model = 0; model < uses_.size(); ++model) {
      requests_worth += weights_[model] * Cheapest(uses_[model], worth);
    }
    const double gpus_worth = Dot(gpus_, prices);
    if (objective_ == Objective::kCost) return requests_worth - gpus_worth;
    return requests_worth > 0 ? gpus_worth / requests_worth : kInfinity;
  }

  const std::span<const double> weights_;
  const Objective objective_;
  std::vector<double> gpus_, costs_;                    // [class]
  std::vector<std::vector<std::vector<double>>> uses_;  // [model][candidate][class]
};

}  // namespace

std::vector<double> GpusPerRate(const Candidate& candidate, int classes, Mode mode) {
  double slowest = kInfinity;
  for (const CandidateStage& stage : candidate.stages) slowest = std::min(slowest, stage.gpu_rate);
  std::vector<double> use(classes);
  for (const CandidateStage& stage : candidate.stages) {
    use[stage.gpu_class] += 1 / (mode == Mode::kDartR ? slowest : stage.gpu_rate);
  }
  return use;
}

absl::StatusOr<Relaxation> Relax(const Cluster& cluster, std::span<const std::vector<Candidate>> candidates,
                                 std::span<const double> weights, Objective objective, Mode mode) {
  return Relaxer(cluster, candidates, weights, objective, mode).Solve();
}

}  // namespace wharf::pipeline
