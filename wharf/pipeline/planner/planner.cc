#include "wharf/pipeline/planner/planner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include "wharf/pipeline/planner/pool_table.h"
#include "wharf/pipeline/planner/relaxation.h"
#include "wharf/pipeline/planner/slack.h"

namespace wharf::pipeline {
namespace {

constexpr double kRounding = 1e-9;  // of sums of rates, as a share
// Sharing's slack at first, as a share of what it might have to be, and what each next one is of the one before.
constexpr double kFirstSlack = 0.125, kMoreSlack = 2;

absl::Status CheckDemand(const Demand& demand) {
  const std::string& name = demand.profile->model;
  if (!(demand.slo_us > 0)) return InvalidArgument("{} has an SLO of {} µs, not above 0", name, demand.slo_us);
  if (!(demand.margin_us >= 0 && demand.margin_us < demand.slo_us)) {
    return InvalidArgument("{} has a margin of {} µs of an SLO of {} µs", name, demand.margin_us, demand.slo_us);
  }
  if (!(demand.weight > 0)) return InvalidArgument("{} has a weight of {}, not above 0", name, demand.weight);
  if (!(demand.expected_rate.value_or(0) >= 0)) return InvalidArgument("{} has a negative expected rate", name);
  return absl::OkStatus();
}

// Of one request, whole, on the fastest GPU.
double FastestUs(const Cluster& cluster, const Demand& demand) {
  double fastest = std::numeric_limits<double>::infinity();
  for (const GpuClass& one : cluster.classes) {
    const VgpuProfile* whole = demand.profile->Find(one.name, 1);
    if (whole != nullptr && whole->MaxBatch() > 0) {
      fastest = std::min(fastest, whole->LatencyUs(1, 0, demand.profile->Blocks()));
    }
  }
  return fastest;
}

class Planning {
 public:
  Planning(const Cluster& cluster, const std::vector<Demand>& demands, const PlannerOptions& options)
      : demands_(demands), options_(options) {
    plan_.cluster = cluster;
    plan_.objective = options.objective;
    for (const Demand& demand : demands) {
      plan_.models.push_back({demand.profile->model, demand.profile->Blocks(), demand.slo_us, demand.margin_us,
                              demand.weight, demand.expected_rate.value_or(0)});
      weights_.push_back(demand.weight);
    }
  }

  absl::StatusOr<Plan> Make() {
    WHARF_RETURN_IF_ERROR(FindAllCandidates());
    auto relaxation = Relax(plan_.cluster, candidates_, weights_, options_.objective, options_.rules.mode);
    if (absl::IsFailedPrecondition(relaxation.status())) return TooSmall();
    WHARF_RETURN_IF_ERROR(relaxation.status());
    relaxation_ = *std::move(relaxation);
    plan_.linear_bound = plan_.bound = relaxation_.bound;
    const bool by_grid = PoolGrid::CountPoints(plan_.cluster) <= options_.max_grid_points;
    if (by_grid) WHARF_RETURN_IF_ERROR(SolveWithWholeGpus());
    if (!by_grid || Divides()) WHARF_RETURN_IF_ERROR(by_grid ? SolveWithSharedGpus() : SolveByMaster());
    if (best_.shares.empty()) return TooSmall();
    for (size_t i = 0; i < best_.shares.size(); ++i) AddPipelines(static_cast<int>(i), best_.shares[i]);
    SumUp();
    if (proven_ || Better(plan_.value, plan_.bound)) plan_.bound = plan_.value;
    return std::move(plan_);
  }

 private:
  absl::Status FindAllCandidates() {
    for (size_t i = 0; i < demands_.size(); ++i) {
      const ServedModel& model = plan_.models[i];
      candidates_.push_back(FindCandidates(plan_.cluster, *demands_[i].profile, model, options_.rules));
      if (!candidates_.back().empty()) continue;
      return FailedPrecondition(
          "{} cannot meet its SLO of {:.1f} ms less the margin of {:.1f} ms here: whole on the "
          "fastest GPU of the cluster one request takes {:.1f} ms",
          model.name, model.slo_us / 1e3, model.margin_us / 1e3, FastestUs(plan_.cluster, demands_[i]) / 1e3);
    }
    return absl::OkStatus();
  }

  absl::Status TooSmall() const {
    return ResourceExhausted("the cluster {} has too few GPUs to serve {} models as asked", plan_.cluster.name,
                             demands_.size());
  }

  // What the models get.
  struct Solution {
    std::vector<std::vector<Share>> shares;  // [model]; empty: nothing was found yet
    double value = 0;
  };

  bool ForCost() const { return options_.objective == Objective::kCost; }
  bool Better(double a, double b) const { return ForCost() ? a < b : a > b; }
  // Whether giving virtual GPUs away one by one can make a difference.
  bool Divides() const {
    return options_.rules.share_gpus && options_.rules.mode == Mode::kOurs && std::ranges::max(UnitsPerGpu()) > 1;
  }

  // [class]: parts of a GPU that all candidates' virtual GPUs are whole numbers of.
  std::vector<int> UnitsPerGpu() const {
    std::vector<int> units(plan_.cluster.classes.size(), 1);
    for (const auto& candidates : candidates_) {
      for (const Candidate& one : candidates) {
        for (const CandidateStage& stage : one.stages) {
          units[stage.gpu_class] = std::lcm(units[stage.gpu_class], stage.vgpus_per_gpu);
        }
      }
    }
    return units;
  }

  double ValueOf(const std::vector<std::vector<Share>>& shares) const {
    double least = std::numeric_limits<double>::infinity(), cost = 0;
    for (size_t model = 0; model < shares.size(); ++model) {
      double throughput = 0;
      std::vector<int> units(plan_.cluster.classes.size());
      for (const Share& share : shares[model]) {
        const Candidate& candidate = candidates_[model][share.candidate];
        throughput += Throughput(candidate, share.vgpus);
        for (size_t i = 0; i < share.vgpus.size(); ++i) {
          const CandidateStage& stage = candidate.stages[i];
          units[stage.gpu_class] += share.vgpus[i] * (kUnitsPerGpu / stage.vgpus_per_gpu);
        }
      }
      least = std::min(least, throughput / weights_[model]);
      for (size_t i = 0; i < units.size(); ++i) {
        cost += (units[i] + kUnitsPerGpu - 1) / kUnitsPerGpu * plan_.cluster.classes[i].cost;
      }
    }
    return ForCost() ? cost : least;
  }

  // Of plans as good as each other the first, which is the simplest.
  void Keep(std::vector<std::vector<Share>> shares) {
    const double value = ValueOf(shares);
    if (value <= 0) return;
    const double to_beat = best_.value * (ForCost() ? 1 - kRounding : 1 + kRounding);
    if (best_.shares.empty() || Better(value, to_beat)) best_ = {std::move(shares), value};
  }

  // The best there is if a stage has whole GPUs.
  absl::Status SolveWithWholeGpus() {
    const PoolGrid grid(plan_.cluster);
    std::vector<PoolTable> tables;
    for (const auto& candidates : candidates_) tables.emplace_back(grid, candidates, options_.rules.mode);
    if (options_.sharing == Sharing::kFastestAsUncut) {
      KeepAll(grid, tables, PointsWithFastestAsUncut(grid, tables));
      return absl::OkStatus();
    }
    KeepBest(grid, tables);
    proven_ = true;
    return absl::OkStatus();
  }

  // How much a plan of a value may waste at the relaxation's prices, all models together (PoolPruning): what its GPUs
  // are worth beyond its requests.
  double WasteOf(double value) const {
    if (ForCost()) return value - relaxation_.bound;
    return (relaxation_.bound - value) * RequestsWorth();
  }
  // The best value that is possible with more waste.
  double ValueWithMoreWaste(double waste) const {
    return ForCost() ? relaxation_.bound + waste : relaxation_.bound - waste / RequestsWorth();
  }
  double RequestsWorth() const {
    return std::inner_product(weights_.begin(), weights_.end(), relaxation_.request_prices.begin(), 0.0);
  }
  // What a plan that is better than the best so far may waste at most.
  double NeededSlack() const {
    const bool bounded = std::isfinite(relaxation_.bound) && !(ForCost() && best_.shares.empty());
    return bounded ? WasteOf(best_.value) : std::numeric_limits<double>::infinity();
  }

  // The best there is if the virtual GPUs of a GPU may serve different stages of a model. First among plans that waste
  // little, then among more, until a better one than the best so far would waste no more than was allowed.
  absl::Status SolveWithSharedGpus() {
    proven_ = false;
    const std::vector<int> units = UnitsPerGpu();
    if (PoolGrid::CountPoints(plan_.cluster, units) > options_.max_unit_grid_points) return SolveByMaster();
    const PoolGrid whole(plan_.cluster), grid(plan_.cluster, units);
    uint64_t steps = options_.max_steps;
    for (double slack = kFirstSlack * NeededSlack(); !proven_; slack *= kMoreSlack) {
      slack = std::min(slack, NeededSlack());
      std::vector<PoolTable> tables;
      bool complete = true;
      for (size_t i = 0; i < candidates_.size(); ++i) {
        tables.emplace_back(grid, candidates_[i], options_.rules.mode, Pruning(units, i, slack, steps));
        complete = complete && tables.back().Complete();
        steps -= std::min(steps, tables.back().Steps());
      }
      KeepBest(whole, tables);
      if (!complete) return absl::OkStatus();
      if (std::isfinite(slack)) plan_.bound = ValueWithMoreWaste(slack);
      proven_ = NeededSlack() <= slack;
    }
    return absl::OkStatus();
  }

  PoolPruning Pruning(const std::vector<int>& units, size_t model, double slack, uint64_t steps) const {
    PoolPruning pruning{relaxation_.gpu_prices, relaxation_.request_prices[model], slack, steps};
    for (size_t i = 0; i < units.size(); ++i) pruning.unit_prices[i] /= units[i];
    return pruning;
  }

  // Keeps the best division of the GPUs by tables of them.
  void KeepBest(const PoolGrid& whole, const std::vector<PoolTable>& tables) {
    std::vector<std::vector<double>> values;
    for (const PoolTable& table : tables) values.push_back(table.BestOfWholeGpus(whole));
    const Division division(whole, values, weights_);
    const size_t point = ForCost() ? CheapestPoint(whole, division) : whole.Points() - 1;
    if (point > 0) KeepAll(whole, tables, division.Points(point));
  }

  // [model]: the uncut plan's GPUs of the first class, and of the second what makes the least normalised throughput
  // largest.
  std::vector<size_t> PointsWithFastestAsUncut(const PoolGrid& grid, const std::vector<PoolTable>& tables) const {
    std::vector<std::vector<Candidate>> uncut;
    for (size_t i = 0; i < demands_.size(); ++i) {
      uncut.push_back(FindCandidates(plan_.cluster, *demands_[i].profile, plan_.models[i], {Mode::kNoPartitioning, 1}));
    }
    std::vector<PoolTable> uncut_tables;
    for (const auto& candidates : uncut) uncut_tables.emplace_back(grid, candidates, Mode::kNoPartitioning);
    std::vector<std::vector<double>> values;
    for (const PoolTable& table : uncut_tables) values.push_back(table.BestOfWholeGpus(grid));
    std::vector<size_t> points = Division(grid, values, weights_).Points(grid.Points() - 1);
    for (size_t& point : points) point -= static_cast<size_t>(grid.Units(point, 1)) * grid.Stride(1);
    // Who serves least gets what it needs to serve more, until nobody gains.
    std::vector<size_t> gaining(points.size());
    std::iota(gaining.begin(), gaining.end(), size_t{0});
    for (int left = grid.MaxUnits(1); !gaining.empty();) {
      const auto least = std::ranges::min_element(
          gaining, {}, [&](size_t model) { return tables[model].Best(points[model]) / weights_[model]; });
      const int more = GpusToGain(grid, tables[*least], points[*least], left);
      points[*least] += static_cast<size_t>(more) * grid.Stride(1);
      left -= more;
      if (more == 0) gaining.erase(least);
    }
    return points;
  }

  // The fewest further GPUs of the second class, at most `left`, with which `table` has more; 0 if there are none.
  static int GpusToGain(const PoolGrid& grid, const PoolTable& table, size_t point, int left) {
    const double now = table.Best(point) * (1 + kRounding);
    for (int more = 1; more <= left; ++more) {
      if (table.Best(point + static_cast<size_t>(more) * grid.Stride(1)) > now) return more;
    }
    return 0;
  }

  void KeepAll(const PoolGrid& whole, const std::vector<PoolTable>& tables, const std::vector<size_t>& points) {
    std::vector<std::vector<Share>> shares;
    for (size_t i = 0; i < points.size(); ++i) shares.push_back(tables[i].SharesOfWholeGpus(whole, points[i]));
    Keep(std::move(shares));
  }

  // The cheapest on which every model has its rate; 0 if there is none.
  size_t CheapestPoint(const PoolGrid& grid, const Division& division) const {
    double least = std::numeric_limits<double>::infinity();
    size_t cheapest = 0;
    for (size_t point = 0; point < grid.Points(); ++point) {
      if (division.Best(point) < 1 - kRounding) continue;
      double cost = 0;
      for (int i = 0; i < grid.Classes(); ++i) cost += grid.Units(point, i) * plan_.cluster.classes[i].cost;
      if (cost >= least) continue;
      least = cost;
      cheapest = point;
    }
    return cheapest;
  }

  absl::Status SolveByMaster() {
    auto shares = SolveMaster(plan_.cluster, candidates_, weights_, options_.objective, options_.rules, relaxation_,
                              options_.master);
    if (absl::IsFailedPrecondition(shares.status())) return absl::OkStatus();
    WHARF_RETURN_IF_ERROR(shares.status());
    Keep(*std::move(shares));
    return absl::OkStatus();
  }

  void AddPipelines(int model, const std::vector<Share>& shares) {
    for (const Share& share : shares) {
      const Candidate& candidate = candidates_[model][share.candidate];
      Pipeline pipeline{model, candidate.batch, {}, Throughput(candidate, share.vgpus)};
      for (size_t i = 0; i < share.vgpus.size(); ++i) {
        pipeline.stages.push_back(MakeStage(*demands_[model].profile, candidate, i, share.vgpus[i]));
      }
      plan_.models[model].throughput += pipeline.throughput;
      plan_.pipelines.push_back(std::move(pipeline));
    }
  }

  Stage MakeStage(const ModelProfile& profile, const Candidate& candidate, size_t index, int vgpus) const {
    const CandidateStage& from = candidate.stages[index];
    Stage stage{from.first_block, from.end_block, from.gpu_class, from.vgpus_per_gpu, vgpus};
    const VgpuProfile* measured = profile.Find(plan_.cluster.classes[from.gpu_class].name, from.vgpus_per_gpu);
    for (int batch = 1; batch <= from.batch; ++batch) {
      stage.latency_us.push_back(measured->LatencyUs(batch, from.first_block, from.end_block));
    }
    if (index + 1 < candidate.stages.size()) stage.output_bytes = profile.output_bytes[from.end_block - 1];
    stage.transfer_us = from.transfer_us;
    return stage;
  }

  void SumUp() {
    std::ranges::stable_sort(plan_.pipelines, [](const Pipeline& a, const Pipeline& b) {
      return a.model != b.model ? a.model < b.model : a.throughput > b.throughput;
    });
    plan_.value = std::numeric_limits<double>::infinity();
    for (const ServedModel& model : plan_.models) plan_.value = std::min(plan_.value, model.throughput / model.weight);
    if (options_.objective == Objective::kThroughput) return;
    plan_.value = 0;
    for (size_t i = 0; i < plan_.cluster.classes.size(); ++i) {
      plan_.value += plan_.GpusUsed(static_cast<int>(i)) * plan_.cluster.classes[i].cost;
    }
  }

  const std::vector<Demand>& demands_;
  const PlannerOptions& options_;
  Plan plan_;
  std::vector<double> weights_;
  std::vector<std::vector<Candidate>> candidates_;
  Relaxation relaxation_;
  Solution best_;
  bool proven_ = false;  // that there is no better
};

// Batches fill up as fast as the cluster serves the model uncut, batches being there at once.
absl::StatusOr<std::vector<Demand>> WithExpectedRates(const Cluster& cluster, std::vector<Demand> demands,
                                                      const PlannerOptions& options) {
  const auto is_known = [](const Demand& demand) { return demand.expected_rate.has_value(); };
  if (std::ranges::all_of(demands, is_known)) return demands;
  if (options.objective == Objective::kCost) {
    for (Demand& demand : demands) demand.expected_rate = demand.expected_rate.value_or(demand.weight);
    return demands;
  }
  std::vector<Demand> at_once = demands;
  for (Demand& demand : at_once) demand.expected_rate = 0;
  PlannerOptions uncut = options;
  uncut.rules.mode = Mode::kNoPartitioning;
  auto plan = Planning(cluster, at_once, uncut).Make();
  if (!plan.ok()) plan = Planning(cluster, at_once, options).Make();  // some model does not fit uncut
  WHARF_RETURN_IF_ERROR(plan.status());
  for (size_t i = 0; i < demands.size(); ++i) {
    demands[i].expected_rate = demands[i].expected_rate.value_or(plan->models[i].throughput);
  }
  return demands;
}

}  // namespace

absl::StatusOr<Plan> MakePlan(const Cluster& cluster, const std::vector<Demand>& demands,
                              const PlannerOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  WHARF_RETURN_IF_ERROR(Check(cluster));
  if (demands.empty()) return InvalidArgument("there is no model to plan for");
  if (options.rules.max_partitions < 1) return InvalidArgument("a model has at least one partition");
  if (!options.rules.unify_batches && options.rules.max_partitions > 2) {
    return InvalidArgument("stages with batch sizes of their own are planned for at most 2 partitions");
  }
  if (options.spend_slack && (options.rules.mode != Mode::kOurs || options.objective == Objective::kCost)) {
    return InvalidArgument("slack is spent by plans of ours, for the most throughput");
  }
  const bool exact_pair = cluster.classes.size() == 2 && options.objective == Objective::kThroughput &&
                          PoolGrid::CountPoints(cluster) <= options.max_grid_points;
  if (options.sharing == Sharing::kFastestAsUncut && !exact_pair) {
    return InvalidArgument("an uncut plan's sharing is for the most throughput of two GPU classes, of 40,000 ways");
  }
  for (const Demand& demand : demands) WHARF_RETURN_IF_ERROR(CheckDemand(demand));
  WHARF_ASSIGN_OR_RETURN(const std::vector<Demand> known, WithExpectedRates(cluster, demands, options));
  WHARF_ASSIGN_OR_RETURN(Plan plan, Planning(cluster, known, options).Make());
  if (options.spend_slack) SpendSlack(known, plan);
  plan.solve_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return plan;
}

}  // namespace wharf::pipeline
