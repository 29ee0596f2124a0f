#include "wharf/split/planners/layer_cut.h"

#include <limits>

namespace wharf::split {
namespace {

constexpr double kForbidden = std::numeric_limits<double>::infinity();

double SendMs(const RowGraph& graph, const Link& link, int op) {
  if (link.bytes_per_ms <= 0) return kForbidden;
  return link.message_overhead_ms + graph.CodingMs(op, graph.Rows(op)) + graph.Bytes(op) / link.bytes_per_ms;
}

}  // namespace

// Two nodes an operator, one for each side; the source's side of the cut means "device only". The server's node is on
// the sink's side if the server computes the operator, the device's node on the source's side if the device does.
LayerCut LayerCutter::Cheapest(const LayerCosts& costs, Replication replication) {
  cut_.Reset();
  lacks_.clear();
  has_.clear();
  const int size = graph_.Size();
  for (int op = 0; op < size; ++op) {
    lacks_.push_back(cut_.AddNode());
    has_.push_back(cut_.AddNode());
    const bool input = graph_.IsInput(op), output = op == graph_.Output();
    cut_.AddArc(MinCut::kSource, lacks_[op], input ? kForbidden : costs.compute[kServer][op]);
    cut_.AddArc(has_[op], MinCut::kSink, costs.compute[kDevice][op]);
    if (input || output) cut_.AddArc(MinCut::kSource, has_[op], kForbidden);
    // Somebody computes it: not both "lacks" and "has not".
    cut_.AddArc(lacks_[op], has_[op], kForbidden, replication == Replication::kNo && !output ? kForbidden : 0);
  }
  if (required_ >= 0 && required_side_ == kDevice) cut_.AddArc(MinCut::kSource, has_[required_], kForbidden);
  if (required_ >= 0 && required_side_ == kServer) cut_.AddArc(lacks_[required_], MinCut::kSink, kForbidden);
  AddSends(costs);
  LayerCut result;
  result.cost = cut_.Solve();
  for (const Side side : kSides) {
    result.on[side].resize(size);
    result.sent[side].assign(size, false);
  }
  for (int op = 0; op < size; ++op) {
    result.on[kDevice][op] = cut_.OnSourceSide(has_[op]);
    result.on[kServer][op] = !cut_.OnSourceSide(lacks_[op]);
    for (size_t i = 0; i < graph_.Inputs(op).size(); ++i) {
      const int input = graph_.Inputs(op)[i].from;
      if (!Tied(op, i)) continue;
      for (const Side side : kSides) {
        if (result.on[side][op] && !result.on[side][input]) result.sent[Other(side)][input] = true;
      }
    }
  }
  return result;
}

// Each side's operators pay for an input that this side does not compute, once for all of them.
void LayerCutter::AddSends(const LayerCosts& costs) {
  for (int op = 0; op < graph_.Size(); ++op) {
    const double up = costs.send[kDevice][op], down = costs.send[kServer][op];
    int users = 0, up_node = -1, down_node = -1;
    for (const int user : graph_.Users(op)) {
      for (size_t i = 0; i < graph_.Inputs(user).size(); ++i) {
        if (graph_.Inputs(user)[i].from == op && Tied(user, i)) ++users;
      }
    }
    if (users > 1) {
      up_node = cut_.AddNode();
      down_node = cut_.AddNode();
      cut_.AddArc(lacks_[op], up_node, up);
      cut_.AddArc(down_node, has_[op], down);
    }
    for (const int user : graph_.Users(op)) {
      for (size_t i = 0; i < graph_.Inputs(user).size(); ++i) {
        if (graph_.Inputs(user)[i].from != op || !Tied(user, i)) continue;
        cut_.AddArc(users > 1 ? up_node : lacks_[op], lacks_[user], users > 1 ? kForbidden : up);
        cut_.AddArc(has_[user], users > 1 ? down_node : has_[op], users > 1 ? kForbidden : down);
      }
    }
  }
}

LayerCosts LatencyCosts(const RowGraph& graph, const Link& link) {
  LayerCosts costs(graph.Size());
  for (const Side side : kSides) {
    for (int op = 0; op < graph.Size(); ++op) {
      costs.compute[side][op] = graph.FullMs(side, op);
      costs.send[side][op] = SendMs(graph, link, op) + link.round_trip_ms / 2;
    }
  }
  return costs;
}

LayerCosts EnergyCosts(const RowGraph& graph, const Link& link, double joules_per_ms, const PowerStates& power) {
  LayerCosts costs(graph.Size());
  for (const Side side : kSides) {
    const double watts = side == kDevice ? power.inference : power.standby;
    for (int op = 0; op < graph.Size(); ++op) {
      costs.compute[side][op] = graph.FullMs(side, op) * (watts / 1e3 + joules_per_ms);
      costs.send[side][op] = SendMs(graph, link, op) * (power.communication / 1e3 + joules_per_ms) +
                             link.round_trip_ms / 2 * (power.standby / 1e3 + joules_per_ms);
    }
  }
  return costs;
}

Plan PlanOf(const RowGraph& graph, const LayerCut& cut) {
  Plan plan(graph.Size());
  for (const Side side : kSides) {
    for (int op = 0; op < graph.Size(); ++op) {
      if (cut.on[side][op]) plan.rows[side][op] = {0, graph.Rows(op)};
    }
  }
  return plan;
}

Plan DeviceOnlyPlan(const RowGraph& graph) {
  Plan plan(graph.Size());
  for (int op = 0; op < graph.Size(); ++op) plan.rows[kDevice][op] = {0, graph.Rows(op)};
  return plan;
}

Plan ServerOnlyPlan(const RowGraph& graph) { return CutBehind(graph, -1); }

Plan CutBehind(const RowGraph& graph, int op) {
  Plan plan(graph.Size());
  for (int i = 0; i < graph.Size(); ++i) {
    plan.rows[i <= op || graph.IsInput(i) || i == graph.Output() ? kDevice : kServer][i] = {0, graph.Rows(i)};
  }
  return plan;
}

}  // namespace wharf::split
