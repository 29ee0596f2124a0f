#include "wharf/split/bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

namespace wharf::split {
namespace {

// Operators at which limits are split, for either side.
constexpr int kPositions = 12;
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

// Operators before `end` that part `ms` into about equal sums.
std::vector<int> Quantiles(const RowGraph& graph, Side side, int end) {
  double total = 0, sum = 0;
  for (int op = 0; op < end; ++op) total += graph.FullMs(side, op);
  std::vector<int> positions;
  for (int op = 1; op < end; ++op) {
    sum += graph.FullMs(side, op);
    if (sum * kPositions >= total * static_cast<double>(positions.size())) positions.push_back(op);
  }
  return positions;
}

}  // namespace

LowerBound::LowerBound(const RowGraph& graph) : graph_(graph), cutter_(graph), saving_(graph.Size(), 0) {
  last_user_.assign(graph.Size(), 0);
  for (int op = 0; op < graph.Size(); ++op) {
    for (const auto& edge : graph.Inputs(op)) last_user_[edge.from] = op;
  }
  FindRequired();
  FindSavings();
  FindGate();
  FindTail();
}

// A row reads the range it needs in steps of its window's dilation; for transposed windows only the ends are certain.
void LowerBound::FindRequired() {
  std::vector<std::vector<bool>> rows(graph_.Size());
  for (int op = 0; op < graph_.Size(); ++op) rows[op].assign(graph_.Rows(op), op == graph_.Output());
  for (int op = graph_.Output(); op > 0; --op) {
    for (int row = 0; row < graph_.Rows(op); ++row) {
      if (!rows[op][row]) continue;
      for (const auto& edge : graph_.Inputs(op)) {
        const RowRange read = graph_.Needed(op, edge, {row, row + 1});
        if (read.Empty()) continue;
        const graph::RowRule& rule = edge.rule;
        const int step = rule.kind == graph::RowKind::kWindow                            ? rule.dilation
                         : rule.kind == graph::RowKind::kTransposed && rule.dilation > 1 ? read.Size()
                                                                                         : 1;
        for (int one = read.lo; one < read.hi; one += step) rows[edge.from][one] = true;
        rows[edge.from][read.hi - 1] = true;
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
  std::vector<Limit> limits;
  const auto add = [&](double constant, int device_until, int server_from, int server_until) -> Limit& {
    limits.push_back({constant, device_until, server_from, server_until, {}});
    return limits.back();
  };
  add(on_device, gate_, 0, 0);
  add(through_server, 0, 0, gate_);
  for (const Side sender : kSides) add(through_server, 0, 0, 0).sends[sender] = {0, gate_ + 1};
  for (const int position : Quantiles(graph_, kServer, gate_)) {
    add(through_server, 0, position, gate_).sends[kDevice] = {0, position + 1};
    if (!on_server) add(through_server, 0, 0, position + 1).sends[kServer] = {position, gate_ + 1};
  }
  for (const int position : Quantiles(graph_, kDevice, gate_)) {
    add(on_device, position + 1, 0, 0).sends[kDevice] = {position, gate_ + 1};
  }
  return limits;
}

LayerCosts LowerBound::Weigh(const Link& link, const std::vector<Limit>& limits,
                             const std::vector<double>& weights) const {
  LayerCosts costs(graph_.Size());
  for (int op = 0; op < gate_; ++op) {
    if (!required_[op]) continue;
    for (size_t i = 0; i < limits.size(); ++i) {
      const Limit& limit = limits[i];
      if (op < limit.device_until) costs.compute[kDevice][op] += weights[i] * graph_.FullMs(kDevice, op);
      if (op >= limit.server_from && op < limit.server_until) {
        costs.compute[kServer][op] += weights[i] * graph_.FullMs(kServer, op);
      }
      for (const Side sender : kSides) {
        if (Counts(limit, sender, op)) costs.send[sender][op] += weights[i] * graph_.Bytes(op) / link.bytes_per_ms;
      }
    }
  }
  return costs;
}

double LowerBound::Value(const Link& link, const Limit& limit, const LayerCut& cut) const {
  double value = limit.constant_ms;
  for (int op = 0; op < gate_; ++op) {
    if (!required_[op]) continue;
    if (op < limit.device_until && cut.on[kDevice][op]) value += graph_.FullMs(kDevice, op);
    if (op >= limit.server_from && op < limit.server_until && cut.on[kServer][op]) value += graph_.FullMs(kServer, op);
    for (const Side sender : kSides) {
      if (cut.sent[sender][op] && Counts(limit, sender, op)) value += graph_.Bytes(op) / link.bytes_per_ms;
    }
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
    const double highest = *std::max_element(values.begin(), values.end());
    double sum = 0;
    for (size_t i = 0; i < limits.size(); ++i) {
      weights[i] = std::max(1e-6, weights[i] * std::exp(kStep / std::sqrt(round) * (values[i] - highest) / highest));
      sum += weights[i];
    }
    for (double& weight : weights) weight /= sum;
  }
  return best;
}

double LowerBound::Latency(const Link& link, int rounds) {
  double alone = 0, until_gate = 0;
  for (int op = 0; op < graph_.Size(); ++op) {
    if (!required_[op]) continue;
    alone += graph_.FullMs(kDevice, op);
    if (op <= gate_) until_gate += graph_.FullMs(kDevice, op);
  }
  if (link.bytes_per_ms <= 0) return alone;
  // Nothing useful on the server; or only behind the gate; or the gate on the device, or on the server.
  double bound = std::min(alone, gate_ == graph_.Output() ? alone : until_gate + tail_ms_);
  bound = std::min(bound, Bound(link, kDevice, rounds));
  if (gate_ != graph_.Output()) bound = std::min(bound, Bound(link, kServer, rounds));
  return bound;
}

}  // namespace wharf::split
