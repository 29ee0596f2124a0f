#include "wharf/split/simulation/simulate.h"

#include <algorithm>
#include <cmath>

namespace wharf::split {
namespace {

constexpr double kMegabyte = 1e3;  // bytes/ms of 1 MB/s
constexpr int kEstimateSteps = 3;  // of 0.1 s

// The mean rate of the last steps before `now_ms`.
double Estimate(const RateTrace& trace, double now_ms) {
  const auto count = static_cast<int64_t>(trace.bytes_per_ms.size());
  const auto step = static_cast<int64_t>(now_ms / trace.step_ms);
  double sum = 0;
  for (int back = 1; back <= kEstimateSteps; ++back) sum += trace.bytes_per_ms[((step - back) % count + count) % count];
  return sum / kEstimateSteps;
}

double HighestRate(const RateTrace& trace, double from_ms, double until_ms) {
  const auto count = static_cast<int64_t>(trace.bytes_per_ms.size());
  const auto first = static_cast<int64_t>(from_ms / trace.step_ms);
  const auto last = std::min(static_cast<int64_t>(until_ms / trace.step_ms), first + count);
  double highest = 0;
  for (int64_t step = first; step <= last; ++step) highest = std::max(highest, trace.bytes_per_ms[step % count]);
  return highest;
}

double NearestRank(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<size_t>(rank, 1) - 1];
}

}  // namespace

struct Simulation::Tally {
  std::vector<double> latencies;
  double link_ms = 0, joules = 0, bound_ms = 0;

  void Add(const Outcome& outcome, double bound) {
    latencies.push_back(outcome.latency_ms);
    link_ms += outcome.link_ms;
    joules += outcome.Joules();
    bound_ms += bound;
  }
};

double Doubt(double latency_ms) { return std::clamp(latency_ms / 2e3, 0.2, 0.5); }

std::vector<double> PlanningRates() {
  std::vector<double> rates;
  for (int megabytes = 0; megabytes <= 50; ++megabytes) rates.push_back(megabytes * kMegabyte);
  return rates;
}

PlanTable::PlanTable(const RowGraph& graph, Planner& planner, const Link& link, const Objective& objective,
                     const Encoding& encoding)
    : PlanTable(graph, planner.Sweep(link, PlanningRates(), objective), link, objective, encoding) {}

PlanTable::PlanTable(const RowGraph& graph, std::vector<Plan> plans, const Link& link, const Objective& objective,
                     const Encoding& encoding)
    : link_(link), objective_(objective) {
  Add(graph, std::move(plans), encoding);
}

void PlanTable::Add(const RowGraph& graph, Planner& planner, const Encoding& encoding) {
  Add(graph, planner.Sweep(link_, PlanningRates(), objective_), encoding);
}

void PlanTable::Add(const RowGraph& graph, std::vector<Plan> plans, const Encoding& encoding) {
  Update(graph, encoding);
  for (Plan& plan : plans) {
    plan.encoding = encoding;
    if (std::find(plans_.begin(), plans_.end(), plan) == plans_.end()) plans_.push_back(std::move(plan));
  }
}

void PlanTable::Update(const RowGraph& graph, const Encoding& encoding) {
  encoded_.remove_if([&](const Encoded& one) { return one.encoding == encoding; });
  encoded_.push_back({encoding, PlanEvaluator(graph)});
  chosen_.clear();
}

PlanEvaluator& PlanTable::EvaluatorOf(const Encoding& encoding) {
  return std::find_if(encoded_.begin(), encoded_.end(), [&](const Encoded& one) { return one.encoding == encoding; })
      ->evaluator;
}

double PlanTable::Score(const Plan& plan, double bytes_per_ms) {
  link_.bytes_per_ms = bytes_per_ms;
  return objective_.Score(EvaluatorOf(plan.encoding).Evaluate(plan, link_));
}

const Plan& PlanTable::Choose(double bytes_per_ms, double doubt) {
  const int key = static_cast<int>(std::lround(bytes_per_ms / kMegabyte * 20));
  const int doubts = static_cast<int>(std::lround(doubt * 20));
  const auto [entry, added] = chosen_.try_emplace({key, doubts}, 0);
  if (added) {
    const double rate = key * kMegabyte / 20;
    double best = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < plans_.size(); ++i) {
      double score = Score(plans_[i], rate);
      if (doubts > 0)
        score += Score(plans_[i], rate * (1 - doubts / 20.0)) + Score(plans_[i], rate * (1 + doubts / 20.0));
      if (score < best) best = score, entry->second = i;
    }
  }
  return plans_[entry->second];
}

double Simulation::Bound(BoundKind kind, double bytes_per_ms) {
  const auto [entry, added] = bounds_.try_emplace({kind, bytes_per_ms}, 0);
  if (added) {
    Link link = link_;
    link.bytes_per_ms = bytes_per_ms;
    entry->second = kind == BoundKind::kQuick ? bound_.Quick(link) : bound_.Latency(link);
  }
  return entry->second;
}

void Simulation::RunTrace(PlanTable& plans, const RateTrace& trace, Tally& tally) {
  Link link = link_;
  link.trace = &trace;
  const double end_ms = trace.step_ms * static_cast<double>(trace.bytes_per_ms.size());
  double latency = 0;
  for (double now = 0; now < end_ms && std::isfinite(latency); now += latency) {
    link.trace_start_ms = now;
    const Outcome outcome = evaluator_.Evaluate(plans.Choose(Estimate(trace, now), Doubt(latency)), link);
    latency = outcome.latency_ms;
    // A faster link's bound holds too; whole MB/s are few.
    const double highest = HighestRate(trace, now, now + latency);
    tally.Add(outcome, Bound(BoundKind::kQuick, std::ceil(highest / kMegabyte) * kMegabyte));
  }
}

SimulatedRow Simulation::Run(PlanTable& plans, const Scenario& scenario) {
  Tally tally;
  for (const RateTrace& trace : scenario.traces) RunTrace(plans, trace, tally);
  if (scenario.traces.empty()) {
    Link link = link_;
    link.bytes_per_ms = scenario.bytes_per_ms;
    tally.Add(evaluator_.Evaluate(plans.Choose(link.bytes_per_ms, 0), link),
              Bound(BoundKind::kBest, link.bytes_per_ms));
  }
  std::vector<double>& latencies = tally.latencies;
  std::sort(latencies.begin(), latencies.end());
  const auto count = static_cast<double>(latencies.size());
  double sum = 0, squares = 0;
  for (const double latency : latencies) sum += latency;
  for (const double latency : latencies) squares += (latency - sum / count) * (latency - sum / count);
  SimulatedRow row;
  row.inferences = static_cast<int>(latencies.size());
  row.lost_inferences = static_cast<int>(
      std::count_if(latencies.begin(), latencies.end(), [](double latency) { return !std::isfinite(latency); }));
  row.latency_ms_mean = sum / count;
  row.latency_ms_std = std::sqrt(squares / count);
  row.latency_ms_p95 = NearestRank(latencies, 0.95);
  row.latency_ms_p99 = NearestRank(latencies, 0.99);
  row.transmission_share = sum > 0 ? tally.link_ms / sum : 0;
  row.energy_j = tally.joules / count;
  row.lower_bound_ms = tally.bound_ms / count;
  return row;
}

}  // namespace wharf::split
