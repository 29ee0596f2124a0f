#include "wharf/split/bounds/bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "wharf/split/bounds/certain_rows.h"

namespace wharf::split {
namespace {

constexpr double kStep = 4;  // of the multiplicative updates, in units of the limits' spread

// The largest share of rows by which a range of `op` exceeds what it needs of `input`. O(rows^2).
double Saving(const RowGraph& graph, int op, const RowGraph::Edge& edge) {
  const int rows = graph.Rows(op);
  double saving = 0;
  for (int lo = 0; lo < rows; ++lo) {
    for (int hi = lo + 1; hi <= rows; ++hi) {
      const double needed = static_cast<double>(graph.Needed(op, edge, {lo, hi}).Size()) / edge.rows;
      saving = std::max(saving, static_cast<double>(hi - lo) / rows - needed);
    }
  }
  return saving < 1e-12 ? 0 : saving;
}

}  // namespace

LowerBound::LowerBound(const RowGraph& graph) : graph_(graph), cutter_(graph), saving_(graph.Size(), 0) {
  last_user_.assign(graph.Size(), 0);
  for (int op = 0; op < graph.Size(); ++op) {
    for (const auto& edge : graph.Inputs(op)) last_user_[edge.from] = op;
  }
  FindRequired();
  chain_.emplace(graph, required_);
  FindSavings();
  FindGate();
  FindTail();
}

void LowerBound::FindRequired() {
  std::vector<std::vector<bool>> rows(graph_.Size());
  for (int op = 0; op < graph_.Size(); ++op) rows[op].assign(graph_.Rows(op), op == graph_.Output());
  for (int op = graph_.Output(); op > 0; --op) {
    for (int row = 0; row < graph_.Rows(op); ++row) {
      if (!rows[op][row]) continue;
      for (const auto& edge : graph_.Inputs(op)) {
        ForCertainRows(graph_, op, edge, row, [&](int one) { rows[edge.from][one] = true; });
      }
    }
  }
  for (const auto& of_one : rows) required_.push_back(std::find(of_one.begin(), of_one.end(), false) == of_one.end());
}

// An input that some user needs in full proportion is not tied to users that can do with less.
void LowerBound::FindSavings() {
  std::map<std::tuple<int, int, int, int, int, int, int>, double> known;
  std::vector<std::vector<bool>> tied(graph_.Size());
  std::vector<std::vector<double>> savings(graph_.Size());
  std::vector<bool> has_strict_user(graph_.Size(), false);
  for (int op = 0; op < graph_.Size(); ++op) {
    for (const auto& edge : graph_.Inputs(op)) {
      const graph::RowRule& rule = edge.rule;
      const auto [entry, added] = known.try_emplace({static_cast<int>(rule.kind), rule.kernel, rule.stride,
                                                     rule.padding, rule.dilation, edge.rows, graph_.Rows(op)});
      if (added) entry->second = Saving(graph_, op, edge);
      savings[op].push_back(entry->second);
      tied[op].push_back(required_[op] && required_[edge.from]);
      if (tied[op].back() && entry->second == 0) has_strict_user[edge.from] = true;
    }
  }
  for (int op = 0; op < graph_.Size(); ++op) {
    for (size_t i = 0; i < tied[op].size(); ++i) {
      const int input = graph_.Inputs(op)[i].from;
      if (savings[op][i] > 0 && has_strict_user[input]) tied[op][i] = false;
      if (tied[op][i]) saving_[input] = std::max(saving_[input], savings[op][i]);
    }
  }
  cutter_.IgnoreEdges(std::move(tied));
}

void LowerBound::FindGate() {
  int last = 0;  // user of anything so far
  for (gate_ = 1; gate_ < graph_.Output(); ++gate_) {
    last = std::max(last, last_user_[gate_ - 1]);
    if (graph_.Rows(gate_) == 1 && last <= gate_) return;
  }
}

// Operators of one row are computed as a whole, one after the other where they read each other.
void LowerBound::FindTail() {
  std::vector<double> path(graph_.Size(), 0);
  double smallest = std::numeric_limits<double>::infinity();
  for (int op = gate_; op < graph_.Size(); ++op) {
    if (op < graph_.Output()) smallest = std::min(smallest, graph_.BytesPerRow(op));
    if (op == gate_) continue;
    for (const auto& edge : graph_.Inputs(op)) path[op] = std::max(path[op], path[edge.from]);
    if (graph_.Rows(op) == 1) path[op] += std::min(graph_.FullMs(kDevice, op), graph_.FullMs(kServer, op));
  }
  tail_ms_ = path[graph_.Output()];
  smallest_result_ = gate_ == graph_.Output() ? 0 : smallest;
}

std::vector<LowerBound::Limit> LowerBound::Limits(const Link& link, Side gate_side) const {
  const double message = link.message_overhead_ms + link.round_trip_ms / 2;
  const bool on_server = gate_side == kServer;
  // With the gate on the server, everything is followed by a result on its way down; with the gate on the device, all
  // that the server contributes is followed by its results before the gate.
  const double tail =
      tail_ms_ + graph_.FullMs(gate_side, gate_) + (on_server ? message + smallest_result_ / link.bytes_per_ms : 0);
  const double through_server = tail + message + (on_server ? 0 : message);
  const double on_device = tail + (on_server ? message : 0);
  return {{on_device, kDevice, false},
          {through_server, kServer, false},
          {through_server, kDevice, true},
          {through_server, kServer, true}};
}

double LowerBound::Ms(const Link& link, const Limit& limit, int op) const {
  if (!required_[op]) return 0;
  if (!limit.sends) return LeastMs(graph_, limit.side, op);
  return last_user_[op] <= gate_ ? graph_.Bytes(op) / link.bytes_per_ms : 0;
}

LayerCosts LowerBound::Weigh(const Link& link, const std::vector<Limit>& limits,
                             const std::vector<double>& weights) const {
  LayerCosts costs(graph_.Size());
  for (size_t i = 0; i < limits.size(); ++i) {
    auto& all = limits[i].sends ? costs.send : costs.compute;
    for (int op = 0; op < gate_; ++op) all[limits[i].side][op] += weights[i] * Ms(link, limits[i], op);
  }
  return costs;
}

double LowerBound::Value(const Link& link, const Limit& limit, const LayerCut& cut) const {
  const auto& counts = (limit.sends ? cut.sent : cut.on)[limit.side];
  double value = limit.constant_ms;
  for (int op = 0; op < gate_; ++op) {
    if (counts[op]) value += Ms(link, limit, op);
  }
  return value;
}

double LowerBound::Bound(const Link& link, Side gate_side, int rounds) {
  const std::vector<Limit> limits = Limits(link, gate_side);
  std::vector<double>& weights = weights_[gate_side];
  if (weights.empty()) weights.assign(limits.size(), 1.0 / static_cast<double>(limits.size()));
  cutter_.Require(gate_, gate_side);
  double best = 0;
  for (int round = 1; round <= rounds; ++round) {
    const LayerCosts costs = Weigh(link, limits, weights);
    const LayerCut cut = cutter_.Cheapest(costs, Replication::kYes);
    double bound = cut.cost;
    for (size_t i = 0; i < limits.size(); ++i) bound += weights[i] * limits[i].constant_ms;
    for (int op = 0; op < gate_; ++op) bound -= saving_[op] * (costs.send[kDevice][op] + costs.send[kServer][op]);
    best = std::max(best, bound);
    std::vector<double> values;
    for (const Limit& limit : limits) values.push_back(Value(link, limit, cut));
    Shift(weights, values, kStep / std::sqrt(round));
  }
  return best;
}

void LowerBound::Shift(std::vector<double>& weights, const std::vector<double>& values, double step) {
  const double highest = *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = std::max(1e-6, weights[i] * std::exp(step * (values[i] - highest) / highest));
    sum += weights[i];
  }
  for (double& weight : weights) weight /= sum;
}

double LowerBound::BoundAlone(const Link& link) const {
  double alone = 0, until_gate = 0;
  for (int op = 0; op < graph_.Size(); ++op) {
    if (!required_[op]) continue;
    alone += LeastMs(graph_, kDevice, op);
    if (op <= gate_) until_gate += LeastMs(graph_, kDevice, op);
  }
  const bool alone_only = link.bytes_per_ms <= 0 || gate_ == graph_.Output();
  return alone_only ? alone : std::min(alone, until_gate + tail_ms_);
}

std::vector<LowerBound::Partition> LowerBound::Mixture(const Link& link, int rounds) {
  constexpr double kSmallStep = 0.15;  // around the optimum, whose partitions take turns
  if (link.bytes_per_ms <= 0 || OfChain(link) >= Quick(link, rounds)) return {};
  const double on_device = Bound(link, kDevice, rounds);
  const double on_server = gate_ == graph_.Output() ? on_device : Bound(link, kServer, rounds);
  if (BoundAlone(link) <= std::min(on_device, on_server)) return {};
  const Side side = on_server < on_device ? kServer : kDevice;
  const std::vector<Limit> limits = Limits(link, side);
  std::vector<double> weights = weights_[side];
  cutter_.Require(gate_, side);
  std::map<std::vector<double>, int> times;
  for (int round = 0; round < rounds; ++round) {
    const LayerCut cut = cutter_.Cheapest(Weigh(link, limits, weights), Replication::kYes);
    std::vector<double> values, loads;
    for (const Limit& limit : limits) {
      values.push_back(Value(link, limit, cut));
      loads.push_back(values.back() - limit.constant_ms);
    }
    ++times[loads];
    Shift(weights, values, kSmallStep);
  }
  std::vector<Partition> mixture;
  for (const auto& [loads, count] : times) {
    mixture.push_back({static_cast<double>(count) / rounds, loads[0], loads[1], loads[2], loads[3]});
  }
  std::sort(mixture.begin(), mixture.end(), [](const Partition& a, const Partition& b) { return a.share > b.share; });
  return mixture;
}

double LowerBound::Quick(const Link& link, int rounds) {
  double bound = BoundAlone(link);
  if (link.bytes_per_ms <= 0) return bound;
  bound = std::min(bound, Bound(link, kDevice, rounds));
  if (gate_ != graph_.Output()) bound = std::min(bound, Bound(link, kServer, rounds));
  return bound;
}

double LowerBound::OfChain(const Link& link) {
  const std::array<double, 3> question = {link.bytes_per_ms, link.message_overhead_ms, link.round_trip_ms};
  if (of_chain_ && of_chain_->first == question) return of_chain_->second;
  double alone_ms = 0;
  for (int op = 0; op < graph_.Size(); ++op) alone_ms += required_[op] ? LeastMs(graph_, kDevice, op) : 0;
  const double on_server = Evaluator(graph_).Evaluate(ServerOnlyPlan(graph_), link).latency_ms;
  of_chain_.emplace(question, chain_->Latency(link, std::min(alone_ms, on_server)));
  return of_chain_->second;
}

double LowerBound::Latency(const Link& link, int rounds) {
  const double quick = Quick(link, rounds);
  return link.bytes_per_ms > 0 ? std::max(quick, OfChain(link)) : quick;
}

}  // namespace wharf::split
