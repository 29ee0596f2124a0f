#include "wharf/cli/split/plan_table.h"

#include <cmath>

#include "wharf/split/planners/layer_cut.h"

namespace wharf::cli {
namespace {

using split::RowRange;

std::string RangeText(const split::RowGraph& graph, int op, RowRange range) {
  if (range.Empty()) return "-";
  const int first = graph.FirstRow(op);
  return range.Size() == graph.OperatorRows(op) ? "all" : fmt::format("{}-{}", first + range.lo, first + range.hi - 1);
}

// Whether `next` is the operator behind `op`, with the same rows (of one band, if there are bands).
bool Follows(const split::RowGraph& graph, int next, int op) {
  return graph.Operator(next) == graph.Operator(op) + 1 && graph.FirstRow(next) == graph.FirstRow(op) &&
         graph.Rows(next) == graph.Rows(op);
}

std::string Kilobytes(double bytes) { return bytes > 0 ? fmt::format("{:.1f}", bytes / 1e3) : ""; }

}  // namespace

std::string PlanAsTable(const split::Profile& profile, const split::RowGraph& graph, const split::Plan& plan) {
  std::vector<double> up(graph.Size(), 0), down(graph.Size(), 0);
  for (const split::Transfer& transfer : split::Transfers(graph, plan)) {
    (transfer.from == split::kDevice ? up : down)[transfer.op] += transfer.bytes;
  }
  report::Table table({{"operators"},
                       {"name"},
                       {"rows", report::Align::kRight},
                       {"device", report::Align::kRight},
                       {"server", report::Align::kRight},
                       {"up KB", report::Align::kRight},
                       {"down KB", report::Align::kRight},
                       {"device ms", report::Align::kRight},
                       {"server ms", report::Align::kRight}});
  for (int first = 0, next = 0; first < graph.Size(); first = next) {
    double device_ms = 0, server_ms = 0;
    const RowRange device = plan.rows[split::kDevice][first], server = plan.rows[split::kServer][first];
    do {
      device_ms += graph.Ms(split::kDevice, next, plan.rows[split::kDevice][next].Size());
      server_ms += graph.Ms(split::kServer, next, plan.rows[split::kServer][next].Size());
      ++next;
    } while (next < graph.Size() && up[next - 1] == 0 && down[next - 1] == 0 && Follows(graph, next, next - 1) &&
             plan.rows[split::kDevice][next] == device && plan.rows[split::kServer][next] == server);
    const int last = next - 1, first_op = graph.Operator(first), last_op = graph.Operator(last);
    const std::string &from = profile.operators[first_op].op.name, &to = profile.operators[last_op].op.name;
    table.AddRow({first == last ? fmt::format("{}", first_op) : fmt::format("{}-{}", first_op, last_op),
                  first == last ? from : from + " … " + to, fmt::format("{}", graph.Rows(first)),
                  RangeText(graph, first, device), RangeText(graph, first, server), Kilobytes(up[last]),
                  Kilobytes(down[last]), fmt::format("{:.2f}", device_ms), fmt::format("{:.2f}", server_ms)});
  }
  return table.Text();
}

report::Table CutsAsTable(const split::Profile& profile, const split::RowGraph& graph, const split::Link& link) {
  using report::Align;
  report::Table table({{"cut behind", Align::kRight},
                       {"name"},
                       {"ms", Align::kRight},
                       {"device ms", Align::kRight},
                       {"link ms", Align::kRight},
                       {"server ms", Align::kRight},
                       {"up KB", Align::kRight},
                       {"down KB", Align::kRight},
                       {"W (modelled)", Align::kRight},
                       {"J (modelled)", Align::kRight}});
  const auto number = [](double value, int digits) {
    return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "never";
  };
  split::Evaluator evaluator(graph);
  for (int op = 0; op < graph.Output(); ++op) {
    if (graph.IsInput(op) && op + 1 < graph.Output() && graph.IsInput(op + 1)) continue;  // the same cut
    const split::Outcome outcome = evaluator.Evaluate(split::CutBehind(graph, op), link);
    const double joules = outcome.Joules();
    table.AddRow({fmt::format("{}", op), profile.operators[op].op.name, number(outcome.latency_ms, 1),
                  number(outcome.busy_ms[split::kDevice], 1), number(outcome.link_ms, 1),
                  number(outcome.busy_ms[split::kServer], 1), number(outcome.up_bytes / 1e3, 1),
                  number(outcome.down_bytes / 1e3, 1), number(joules / (outcome.latency_ms / 1e3), 2),
                  number(joules, 3)});
  }
  return table;
}

}  // namespace wharf::cli
