#include "wharf/split/timeline.h"

#include <cmath>
#include <limits>

namespace wharf::split {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// A trace has some bandwidth somewhere in every period; more periods than this without enough of it is "never".
constexpr double kMaxPeriods = 1e4;

double SentOnTrace(const RateTrace& trace, double start_ms, double bytes) {
  const double period_ms = trace.step_ms * static_cast<double>(trace.bytes_per_ms.size());
  const double last_ms = start_ms + kMaxPeriods * period_ms;
  auto step = static_cast<size_t>(std::fmod(start_ms, period_ms) / trace.step_ms) % trace.bytes_per_ms.size();
  double now = start_ms, step_end = (std::floor(start_ms / trace.step_ms) + 1) * trace.step_ms;
  while (now < last_ms) {
    const double rate = trace.bytes_per_ms[step];
    if (rate * (step_end - now) >= bytes) return now + bytes / rate;
    bytes -= rate * (step_end - now);
    now = step_end;
    step_end += trace.step_ms;
    step = step + 1 == trace.bytes_per_ms.size() ? 0 : step + 1;
  }
  return kNever;
}

RowRange InOperator(const RowGraph& graph, int op, RowRange rows) {
  return {graph.FirstRow(op) + rows.lo, graph.FirstRow(op) + rows.hi};
}

}  // namespace

double Link::Sent(double start_ms, double bytes) const {
  if (bytes <= 0) return start_ms;
  if (trace != nullptr) return SentOnTrace(*trace, trace_start_ms + start_ms, bytes) - trace_start_ms;
  return bytes_per_ms > 0 ? start_ms + bytes / bytes_per_ms : kNever;
}

double Outcome::Joules(const PowerStates& power) const {
  const double busy = busy_ms[kDevice];
  return (power.inference * busy + power.standby * (latency_ms - busy) +
          (power.communication - power.standby) * link_ms) /
         1e3;
}

Evaluator::Evaluator(const RowGraph& graph) : graph_(graph) {
  for (const Side side : kSides) {
    arrival_[side].resize(graph.Size());
    messages_[side].reserve(graph.Size());
  }
}

Outcome Evaluator::Evaluate(const Plan& plan, const Link& link) {
  return Run(plan, NeededRows(graph_, plan), link, nullptr);
}

Outcome Evaluator::Record(const Plan& plan, const Link& link, std::vector<Event>& events) {
  events.clear();
  return Run(plan, NeededRows(graph_, plan), link, &events);
}

double Evaluator::Start(const Plan& plan, Side side, int op) const {
  double start = free_[side];
  for (const auto& edge : graph_.Inputs(op)) {
    const double arrival = arrival_[side][edge.from];
    if (arrival > start && !plan.rows[side][edge.from].Contains(graph_.Needed(op, edge, plan.rows[side][op]))) {
      start = arrival;
    }
  }
  return start;
}

void Evaluator::Compute(const Plan& plan, Side side, int op, Outcome& outcome, std::vector<Event>* events) {
  const double start = Start(plan, side, op), ms = graph_.Ms(side, op, plan.rows[side][op].Size());
  free_[side] = start + ms;
  outcome.busy_ms[side] += ms;
  if (events != nullptr && ms > 0) {
    events->push_back({side == kDevice ? Resource::kDevice : Resource::kServer, op,
                       InOperator(graph_, op, plan.rows[side][op]), start, start + ms, 0});
  }
}

void Evaluator::Send(const Plan& plan, RowRange needed, const Link& link, Side from, int op, Outcome& outcome,
                     std::vector<Event>* events) {
  const Side to = Other(from);
  const int rows = needed.Size() - Intersection(needed, plan.rows[to][op]).Size();
  if (rows <= 0) {
    arrival_[to][op] = 0;
    return;
  }
  const double bytes = rows * graph_.BytesPerRow(op);
  const double start = std::max(link_free_[from], free_[from]);
  const double sent = link.Sent(start + graph_.CodingMs(op, rows) + link.message_overhead_ms, bytes);
  link_free_[from] = sent;
  arrival_[to][op] = sent + link.round_trip_ms / 2;
  messages_[from].push_back({start, sent});
  (from == kDevice ? outcome.up_bytes : outcome.down_bytes) += bytes;
  ++outcome.messages;
  if (events != nullptr) {
    events->push_back({from == kDevice ? Resource::kUplink : Resource::kDownlink, op, InOperator(graph_, op, needed),
                       start, sent, bytes});
  }
}

Outcome Evaluator::Run(const Plan& plan, const Needed& needed, const Link& link, std::vector<Event>* events) {
  free_.fill(0);
  link_free_.fill(0);
  for (const Side side : kSides) messages_[side].clear();
  Outcome outcome;
  for (int op = 0; op < graph_.Size(); ++op) {
    for (const Side side : kSides) {
      if (!plan.rows[side][op].Empty()) Compute(plan, side, op, outcome, events);
    }
    for (const Side side : kSides) Send(plan, needed[Other(side)][op], link, side, op, outcome, events);
  }
  outcome.latency_ms = free_[kDevice];
  outcome.link_ms = LinkTime();
  return outcome;
}

// Messages of one direction follow each other; what both directions share is counted once.
double Evaluator::LinkTime() const {
  double total = 0, shared = 0;
  for (const Side side : kSides) {
    for (const Interval& message : messages_[side]) total += message.end - message.start;
  }
  auto up = messages_[kDevice].begin(), down = messages_[kServer].begin();
  while (up != messages_[kDevice].end() && down != messages_[kServer].end()) {
    shared += std::max(0.0, std::min(up->end, down->end) - std::max(up->start, down->start));
    if (up->end < down->end) {
      ++up;
    } else {
      ++down;
    }
  }
  return total - shared;
}

}  // namespace wharf::split
