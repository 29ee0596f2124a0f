#include "wharf/split/planners/cuts.h"

namespace wharf::split {

namespace {

RowRange Mirror(RowRange range, int rows) { return range.Empty() ? range : RowRange{rows - range.hi, rows - range.lo}; }

// Replaces what the sides need by what they compute.
void Apply(const Cut& cut, RowRange& device, RowRange& server) {
  const RowRange all = Hull(device, server);
  const bool device_follows = cut.device_end == Cut::kFollow, server_follows = cut.server_begin == Cut::kFollow;
  const int end = device_follows ? cut.server_begin : cut.device_end;
  const int begin = server_follows ? cut.device_end : std::min(cut.server_begin, end);
  const RowRange first = Intersection(all, {all.lo, end}), second = Intersection(all, {begin, all.hi});
  device = device_follows ? Hull(device, first) : first;
  server = server_follows ? Hull(server, second) : second;
}

}  // namespace

void CutDecoder::Decode(const Cuts& cuts, Plan& plan) {
  const int size = graph_.Size();
  for (const Side side : kSides) {
    needed_[side].assign(size, {});
    plan.rows[side].resize(size);
  }
  needed_[kDevice][graph_.Output()] = {0, graph_.Rows(graph_.Output())};
  for (int op = graph_.Output(); op >= 0; --op) {
    RowRange device = needed_[kDevice][op], server = needed_[kServer][op];
    const Cut cut = cuts[op];
    if (graph_.IsInput(op)) {
      device = {0, graph_.Rows(op)};
      server = {};
    } else if (cut.Exchanges() && op != graph_.Output()) {
      if (cut.server_first) {
        device = Mirror(device, graph_.Rows(op));
        server = Mirror(server, graph_.Rows(op));
      }
      Apply(cut, device, server);
      if (cut.server_first) {
        device = Mirror(device, graph_.Rows(op));
        server = Mirror(server, graph_.Rows(op));
      }
    }
    plan.rows[kDevice][op] = device;
    plan.rows[kServer][op] = server;
    for (const auto& edge : graph_.Inputs(op)) {
      RowRange &on_device = needed_[kDevice][edge.from], &on_server = needed_[kServer][edge.from];
      if (!device.Empty()) on_device = Hull(on_device, graph_.Needed(op, edge, device));
      if (!server.Empty()) on_server = Hull(on_server, graph_.Needed(op, edge, server));
    }
  }
}

Cuts CutsOf(const RowGraph& graph, const Plan& plan) {
  const auto needed = NeededRows(graph, plan);
  Cuts cuts(graph.Size());
  for (int op = 1; op < graph.Output(); ++op) {
    const RowRange device = plan.rows[kDevice][op], server = plan.rows[kServer][op];
    const bool device_follows = device.Contains(needed[kDevice][op]),
               server_follows = server.Contains(needed[kServer][op]);
    if (device_follows && server_follows) continue;
    const int rows = graph.Rows(op);
    if (!device_follows || server.Empty()) cuts[op].device_end = device.Empty() ? 0 : device.hi;
    if (!server_follows || device.Empty()) cuts[op].server_begin = server.Empty() ? rows : server.lo;
  }
  return cuts;
}

}  // namespace wharf::split
