#include "wharf/split/simulation/simulate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace wharf::split {
namespace {

constexpr double kMegabyte = 1e3;  // bytes/ms of 1 MB/s
constexpr int kEstimateSteps = 3;  // of 0.1 s
constexpr int kFixedRounds = 200;  // of a bound that begins from nothing

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

double Sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// Of values that count for so much each.
double Deviation(const std::vector<double>& values, const std::vector<double>& weights, double mean) {
  double squares = 0;
  for (size_t i = 0; i < values.size(); ++i) squares += weights[i] * (values[i] - mean) * (values[i] - mean);
  return std::sqrt(squares / Sum(weights));
}

}  // namespace

struct Simulation::Tally {
  std::vector<Outcome> inferences;
  double bound_ms = 0;

  void Add(const Outcome& outcome, double bound) {
    inferences.push_back(outcome);
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

const Plan& PlanTable::ChooseKnowing(const Link& link) {
  size_t chosen = 0;
  double best = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < plans_.size(); ++i) {
    const double score = objective_.Score(EvaluatorOf(plans_[i].encoding).Evaluate(plans_[i], link));
    if (score < best) best = score, chosen = i;
  }
  return plans_[chosen];
}

SimulatedRow RowOf(std::span<const Outcome> inferences) {
  const auto count = static_cast<double>(inferences.size());
  SimulatedRow row;
  std::vector<double> latency, link, joules, watts;
  for (const Outcome& one : inferences) {
    latency.push_back(one.latency_ms);
    link.push_back(one.link_ms);
    joules.push_back(one.Joules());
    watts.push_back(joules.back() / (one.latency_ms / 1e3));
    row.device_ms_mean += one.busy_ms[kDevice] / count;
    row.server_ms_mean += one.busy_ms[kServer] / count;
    row.lost_inferences += std::isfinite(one.latency_ms) ? 0 : 1;
  }
  const std::vector<double> once(inferences.size(), 1);
  const double total_ms = Sum(latency);
  row.inferences = static_cast<int>(inferences.size());
  row.latency_ms_mean = total_ms / count;
  row.latency_ms_std = Deviation(latency, once, row.latency_ms_mean);
  row.link_ms_mean = Sum(link) / count;
  row.link_ms_std = Deviation(link, once, row.link_ms_mean);
  row.transmission_share = total_ms > 0 ? Sum(link) / total_ms : 0;
  row.energy_j = Sum(joules) / count;
  row.energy_j_std = Deviation(joules, once, row.energy_j);
  row.power_w = Sum(joules) / (total_ms / 1e3);
  row.power_w_std = Deviation(watts, latency, row.power_w);
  std::sort(latency.begin(), latency.end());
  row.latency_ms_p95 = NearestRank(latency, 0.95);
  row.latency_ms_p99 = NearestRank(latency, 0.99);
  return row;
}

Link Simulation::LinkOf(double bytes_per_ms) const {
  Link link = link_;
  link.bytes_per_ms = bytes_per_ms;
  return link;
}

double Simulation::FixedBound(double bytes_per_ms) {
  const auto [entry, added] = fixed_bounds_.try_emplace(bytes_per_ms, 0);
  if (added) entry->second = LowerBound(graph_).Latency(LinkOf(bytes_per_ms), kFixedRounds);
  return entry->second;
}

double Simulation::TraceBound(int megabytes) {
  for (auto next = trace_bounds_.size(); next <= static_cast<size_t>(megabytes); ++next) {
    trace_bounds_.push_back(sweep_bound_.Quick(LinkOf(static_cast<double>(next) * kMegabyte)));
  }
  return trace_bounds_[megabytes];
}

void Simulation::RunTrace(PlanTable& plans, const RateTrace& trace, KnownRates known, Tally& tally) {
  Link link = link_;
  link.trace = &trace;
  const double end_ms = trace.step_ms * static_cast<double>(trace.bytes_per_ms.size());
  double latency = 0;
  for (double now = 0; now < end_ms && std::isfinite(latency); now += latency) {
    link.trace_start_ms = now;
    const Plan& plan =
        known == KnownRates::kFuture ? plans.ChooseKnowing(link) : plans.Choose(Estimate(trace, now), Doubt(latency));
    const Outcome outcome = evaluator_.Evaluate(plan, link);
    latency = outcome.latency_ms;
    // A faster link's bound holds too; whole MB/s are few.
    const double highest = HighestRate(trace, now, now + latency);
    tally.Add(outcome, TraceBound(static_cast<int>(std::ceil(highest / kMegabyte))));
  }
}

SimulatedRow Simulation::Run(PlanTable& plans, const Scenario& scenario, KnownRates known) {
  Tally tally;
  for (const RateTrace& trace : scenario.traces) RunTrace(plans, trace, known, tally);
  if (scenario.traces.empty()) {
    const Link link = LinkOf(scenario.bytes_per_ms);
    tally.Add(evaluator_.Evaluate(plans.Choose(link.bytes_per_ms, 0), link), FixedBound(link.bytes_per_ms));
  }
  SimulatedRow row = RowOf(tally.inferences);
  row.lower_bound_ms = tally.bound_ms / row.inferences;
  return row;
}

}  // namespace wharf::split
