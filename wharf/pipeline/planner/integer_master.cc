#include "wharf/pipeline/planner/integer_master.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "wharf/pipeline/planner/linear_program.h"

namespace wharf::pipeline {
namespace {

using Entry = LinearProgram::Entry;

// Indices of the candidates whose GPUs cost least a request/s.
std::vector<int> Cheapest(const std::vector<Candidate>& candidates, const std::vector<double>& prices, Mode mode,
                          int count) {
  std::vector<double> price;
  for (const Candidate& one : candidates) {
    const auto use = GpusPerRate(one, static_cast<int>(prices.size()), mode);
    price.push_back(std::inner_product(use.begin(), use.end(), prices.begin(), 0.0));
  }
  std::vector<int> order(candidates.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&price](int index) { return price[index]; });
  order.resize(std::min(order.size(), static_cast<size_t>(count)));
  return order;
}

class Master {
 public:
  Master(const Cluster& cluster, Objective objective, Mode mode)
      : cluster_(cluster), objective_(objective), mode_(mode) {
    for (size_t i = 0; i < cluster.classes.size(); ++i) program_.AddRow(-kInfinity, cluster.Gpus(static_cast<int>(i)));
  }

  void AddModel(const std::vector<Candidate>& candidates, const std::vector<int>& chosen, double weight) {
    const int row = program_.AddRow(objective_ == Objective::kCost ? weight : 0, kInfinity);
    weights_.push_back({row, -weight});
    auto& pools = pools_.emplace_back();
    for (const int index : chosen) pools.push_back(AddCandidate(candidates[index], index, row));
  }

  absl::StatusOr<std::vector<std::vector<Share>>> Solve(const MasterOptions& options) {
    if (objective_ == Objective::kThroughput) program_.AddColumn(-1, weights_, false);
    WHARF_ASSIGN_OR_RETURN(const std::vector<double> columns, program_.SolveInteger(options.gap, options.seconds));
    std::vector<std::vector<Share>> shares(pools_.size());
    for (size_t model = 0; model < pools_.size(); ++model) {
      for (const Pools& pools : pools_[model]) {
        Share share{pools.candidate, {}};
        for (const int column : pools.columns) share.gpus.push_back(static_cast<int>(std::lround(columns[column])));
        if (std::ranges::min(share.gpus) > 0) shares[model].push_back(std::move(share));
      }
    }
    return shares;
  }

 private:
  struct Pools {
    int candidate;
    std::vector<int> columns;  // [stage]: its GPUs
  };

  // The candidate's requests/s are a column, at most what each stage's GPUs make. Pairs of DART-r have one column.
  Pools AddCandidate(const Candidate& candidate, int index, int model_row) {
    const bool pairs = mode_ == Mode::kDartR;
    std::vector<Entry> rate = {{model_row, 1}};
    Pools pools{index, {}};
    std::vector<Entry> pair;
    double pair_cost = 0;
    for (const CandidateStage& stage : candidate.stages) {
      const int limit = program_.AddRow(-kInfinity, 0);
      rate.push_back({limit, 1});
      const std::vector<Entry> gpus = {{stage.gpu_class, 1}, {limit, -stage.gpu_rate}};
      const double cost = objective_ == Objective::kCost ? cluster_.classes[stage.gpu_class].cost : 0;
      if (pairs) {
        pair.insert(pair.end(), gpus.begin(), gpus.end());
        pair_cost += cost;
      } else {
        pools.columns.push_back(program_.AddColumn(cost, gpus, true));
      }
    }
    if (pairs) pools.columns.assign(candidate.stages.size(), program_.AddColumn(pair_cost, pair, true));
    program_.AddColumn(0, rate, false);
    return pools;
  }

  const Cluster& cluster_;
  const Objective objective_;
  const Mode mode_;
  LinearProgram program_;
  std::vector<Entry> weights_;
  std::vector<std::vector<Pools>> pools_;  // [model]
};

}  // namespace

absl::StatusOr<std::vector<std::vector<Share>>> SolveMaster(const Cluster& cluster,
                                                            std::span<const std::vector<Candidate>> candidates,
                                                            std::span<const double> weights, Objective objective,
                                                            Mode mode, const Relaxation& relaxation,
                                                            const MasterOptions& options) {
  Master master(cluster, objective, mode);
  for (size_t i = 0; i < candidates.size(); ++i) {
    const auto chosen = Cheapest(candidates[i], relaxation.gpu_prices, mode, options.candidates_per_model);
    master.AddModel(candidates[i], chosen, weights[i]);
  }
  return master.Solve(options);
}

}  // namespace wharf::pipeline
