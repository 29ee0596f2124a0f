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
  Master(const Cluster& cluster, Objective objective, const CandidateRules& rules)
      : cluster_(cluster), objective_(objective), rules_(rules) {
    for (size_t i = 0; i < cluster.classes.size(); ++i) program_.AddRow(-kInfinity, cluster.Gpus(static_cast<int>(i)));
  }

  void AddModel(const std::vector<Candidate>& candidates, const std::vector<int>& chosen, double weight) {
    const int row = program_.AddRow(objective_ == Objective::kCost ? weight : 0, kInfinity);
    weights_.push_back({row, -weight});
    gpu_rows_ = Shares() ? AddSharedGpus() : std::vector<int>();
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
        for (const Pool& pool : pools.stages) {
          share.vgpus.push_back(static_cast<int>(std::lround(columns[pool.column])) * pool.vgpus);
        }
        if (std::ranges::min(share.vgpus) > 0) shares[model].push_back(std::move(share));
      }
    }
    return shares;
  }

 private:
  struct Pool {
    int column;
    int vgpus;  // that one of the column is
  };
  struct Pools {
    int candidate;
    std::vector<Pool> stages;
  };

  bool Shares() const { return rules_.mode == Mode::kOurs && rules_.share_gpus; }
  double Cost(int gpu_class) const { return objective_ == Objective::kCost ? cluster_.classes[gpu_class].cost : 0; }

  // A model's GPUs of each class, whole ones, are a column; [class]: the row in which its stages take parts of them.
  std::vector<int> AddSharedGpus() {
    std::vector<int> rows;
    for (int i = 0; i < static_cast<int>(cluster_.classes.size()); ++i) {
      rows.push_back(program_.AddRow(-kInfinity, 0));
      program_.AddColumn(Cost(i), std::vector<Entry>{{i, 1}, {rows.back(), -1}}, true);
    }
    return rows;
  }

  // The candidate's requests/s are a column, at most what each stage's GPUs make. Pairs of DART-r have one column.
  Pools AddCandidate(const Candidate& candidate, int index, int model_row) {
    const bool pairs = rules_.mode == Mode::kDartR;
    std::vector<Entry> rate = {{model_row, 1}};
    Pools pools{index, {}};
    std::vector<Entry> pair;
    double pair_cost = 0;
    for (const CandidateStage& stage : candidate.stages) {
      const int limit = program_.AddRow(-kInfinity, 0);
      rate.push_back({limit, 1});
      if (Shares()) {
        const std::vector<Entry> vgpu = {{gpu_rows_[stage.gpu_class], 1.0 / stage.vgpus_per_gpu},
                                         {limit, -stage.VgpuRate()}};
        pools.stages.push_back({program_.AddColumn(0, vgpu, true), 1});
        continue;
      }
      const std::vector<Entry> gpu = {{stage.gpu_class, 1}, {limit, -stage.gpu_rate}};
      if (pairs) {
        pair.insert(pair.end(), gpu.begin(), gpu.end());
        pair_cost += Cost(stage.gpu_class);
      } else {
        pools.stages.push_back({program_.AddColumn(Cost(stage.gpu_class), gpu, true), stage.vgpus_per_gpu});
      }
    }
    if (pairs) pools.stages.assign(candidate.stages.size(), {program_.AddColumn(pair_cost, pair, true), 1});
    program_.AddColumn(0, rate, false);
    return pools;
  }

  const Cluster& cluster_;
  const Objective objective_;
  const CandidateRules rules_;
  LinearProgram program_;
  std::vector<Entry> weights_;
  std::vector<int> gpu_rows_;              // of the model that is being added
  std::vector<std::vector<Pools>> pools_;  // [model]
};

}  // namespace

absl::StatusOr<std::vector<std::vector<Share>>> SolveMaster(const Cluster& cluster,
                                                            std::span<const std::vector<Candidate>> candidates,
                                                            std::span<const double> weights, Objective objective,
                                                            const CandidateRules& rules, const Relaxation& relaxation,
                                                            const MasterOptions& options) {
  Master master(cluster, objective, rules);
  for (size_t i = 0; i < candidates.size(); ++i) {
    const auto chosen = Cheapest(candidates[i], relaxation.gpu_prices, rules.mode, options.candidates_per_model);
    master.AddModel(candidates[i], chosen, weights[i]);
  }
  return master.Solve(options);
}

}  // namespace wharf::pipeline
