#include "wharf/cli/split/plan_table.h"

#include "wharf/report/table.h"

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

}  // namespace wharf::cli
