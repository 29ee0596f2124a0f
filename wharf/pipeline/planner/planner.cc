#include "wharf/pipeline/planner/planner.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>

#include "wharf/pipeline/planner/pool_table.h"
#include "wharf/pipeline/planner/relaxation.h"

namespace wharf::pipeline {
namespace {

constexpr double kRounding = 1e-9;  // of sums of rates, as a share

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
    const auto relaxation = Relax(plan_.cluster, candidates_, weights_, options_.objective, options_.rules.mode);
    if (absl::IsFailedPrecondition(relaxation.status())) return TooSmall();
    WHARF_RETURN_IF_ERROR(relaxation.status());
    plan_.linear_bound = relaxation->bound;
    const bool exact = PoolGrid::CountPoints(plan_.cluster) <= options_.max_grid_points;
    WHARF_RETURN_IF_ERROR(exact ? SolveExactly() : SolveByMaster(*relaxation));
    SumUp();
    if (plan_.value <= 0) return TooSmall();
    const bool best = exact && options_.sharing == Sharing::kBest;
    plan_.bound = best ? plan_.value : plan_.linear_bound;
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

  absl::Status SolveExactly() {
    const PoolGrid grid(plan_.cluster);
    std::vector<PoolTable> tables;
    for (const auto& candidates : candidates_) tables.emplace_back(grid, candidates, options_.rules.mode);
    if (options_.sharing == Sharing::kFastestAsUncut) {
      AddAll(tables, PointsWithFastestAsUncut(grid, tables));
      return absl::OkStatus();
    }
    const Division division(grid, tables, weights_);
    size_t whole = grid.Points() - 1;
    if (options_.objective == Objective::kCost) {
      WHARF_ASSIGN_OR_RETURN(whole, CheapestPoint(grid, division));
    }
    AddAll(tables, division.Points(whole));
    return absl::OkStatus();
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
    std::vector<size_t> points = Division(grid, uncut_tables, weights_).Points(grid.Points() - 1);
    for (size_t& point : points) point -= static_cast<size_t>(grid.Gpus(point, 1)) * grid.Stride(1);
    // Who serves least gets what it needs to serve more, until nobody gains.
    std::vector<size_t> gaining(points.size());
    std::iota(gaining.begin(), gaining.end(), size_t{0});
    for (int left = grid.MaxGpus(1); !gaining.empty();) {
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

  void AddAll(const std::vector<PoolTable>& tables, const std::vector<size_t>& points) {
    for (size_t i = 0; i < points.size(); ++i) AddPipelines(static_cast<int>(i), tables[i].Shares(points[i]));
  }

  // The cheapest on which every model has its rate.
  absl::StatusOr<size_t> CheapestPoint(const PoolGrid& grid, const Division& division) const {
    double least = std::numeric_limits<double>::infinity();
    size_t cheapest = 0;
    for (size_t point = 0; point < grid.Points(); ++point) {
      if (division.Best(point) < 1 - kRounding) continue;
      double cost = 0;
      for (int i = 0; i < grid.Classes(); ++i) cost += grid.Gpus(point, i) * plan_.cluster.classes[i].cost;
      if (cost >= least) continue;
      least = cost;
      cheapest = point;
    }
    if (cheapest == 0) return TooSmall();
    return cheapest;
  }

  absl::Status SolveByMaster(const Relaxation& relaxation) {
    const auto shares = SolveMaster(plan_.cluster, candidates_, weights_, options_.objective, options_.rules.mode,
                                    relaxation, options_.master);
    if (absl::IsFailedPrecondition(shares.status())) return TooSmall();
    WHARF_RETURN_IF_ERROR(shares.status());
    for (size_t i = 0; i < shares->size(); ++i) AddPipelines(static_cast<int>(i), (*shares)[i]);
    return absl::OkStatus();
  }

  void AddPipelines(int model, const std::vector<Share>& shares) {
    for (const Share& share : shares) {
      const Candidate& candidate = candidates_[model][share.candidate];
      Pipeline pipeline{model, candidate.batch, {}, Throughput(candidate, share.gpus)};
      for (size_t i = 0; i < share.gpus.size(); ++i) {
        pipeline.stages.push_back(MakeStage(*demands_[model].profile, candidate, i, share.gpus[i]));
      }
      plan_.models[model].throughput += pipeline.throughput;
      plan_.pipelines.push_back(std::move(pipeline));
    }
  }

  Stage MakeStage(const ModelProfile& profile, const Candidate& candidate, size_t index, int gpus) const {
    const CandidateStage& from = candidate.stages[index];
    Stage stage{from.first_block, from.end_block, from.gpu_class, from.vgpus_per_gpu, gpus};
    const VgpuProfile* measured = profile.Find(plan_.cluster.classes[from.gpu_class].name, from.vgpus_per_gpu);
    for (int batch = 1; batch <= candidate.batch; ++batch) {
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
  const bool exact_pair = cluster.classes.size() == 2 && options.objective == Objective::kThroughput &&
                          PoolGrid::CountPoints(cluster) <= options.max_grid_points;
  if (options.sharing == Sharing::kFastestAsUncut && !exact_pair) {
    return InvalidArgument("an uncut plan's sharing is for the most throughput of two GPU classes, of 40,000 ways");
  }
  for (const Demand& demand : demands) WHARF_RETURN_IF_ERROR(CheckDemand(demand));
  WHARF_ASSIGN_OR_RETURN(const std::vector<Demand> known, WithExpectedRates(cluster, demands, options));
  WHARF_ASSIGN_OR_RETURN(Plan plan, Planning(cluster, known, options).Make());
  plan.solve_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return plan;
}

}  // namespace wharf::pipeline
