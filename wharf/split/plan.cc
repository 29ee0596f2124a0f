#include "wharf/split/plan.h"

namespace wharf::split {
namespace {

// Whether the rows of `needed` that `own` lacks are all in `other`. What is missing lies before or behind `own`.
bool Covered(RowRange needed, RowRange own, RowRange other) {
  const RowRange held = Intersection(needed, own);
  if (held.Empty()) return other.Contains(needed);
  return other.Contains(Intersection(needed, {needed.lo, held.lo})) &&
         other.Contains(Intersection(needed, {held.hi, needed.hi}));
}

}  // namespace

std::array<std::vector<RowRange>, 2> NeededRows(const RowGraph& graph, const Plan& plan) {
  std::array<std::vector<RowRange>, 2> needed;
  FindNeededRows(graph, plan, needed);
  return needed;
}

void FindNeededRows(const RowGraph& graph, const Plan& plan, std::array<std::vector<RowRange>, 2>& needed) {
  for (const Side side : kSides) {
    needed[side].assign(graph.Size(), {});
    for (int op = 0; op < graph.Size(); ++op) {
      for (const auto& edge : graph.Inputs(op)) {
        needed[side][edge.from] = Hull(needed[side][edge.from], graph.Needed(op, edge, plan.rows[side][op]));
      }
    }
  }
  needed[kDevice][graph.Output()] = {0, graph.Rows(graph.Output())};
}

absl::Status Check(const RowGraph& graph, const Plan& plan) {
  for (const Side side : kSides) {
    if (plan.rows[side].size() != static_cast<size_t>(graph.Size())) {
      return InvalidArgument("a plan for {} operators, the model has {}", plan.rows[side].size(), graph.Size());
    }
    for (int op = 0; op < graph.Size(); ++op) {
      const RowRange rows = plan.rows[side][op];
      if (rows.lo < 0 || rows.hi > graph.Rows(op) || (rows.Empty() && rows != RowRange{})) {
        return InvalidArgument("operator {}: rows {} to {} of {}", op, rows.lo, rows.hi, graph.Rows(op));
      }
    }
  }
  for (int op = 0; graph.IsInput(op); ++op) {
    if (plan.rows[kDevice][op].Size() != graph.Rows(op) || !plan.rows[kServer][op].Empty()) {
      return InvalidArgument("the input lies on the device, whole");
    }
  }
  if (plan.rows[kDevice][graph.Output()].Size() != graph.Rows(graph.Output())) {
    return InvalidArgument("the output must be on the device, whole");
  }
  const auto needed = NeededRows(graph, plan);
  for (int op = 0; op < graph.Size(); ++op) {
    for (const Side side : kSides) {
      if (!Covered(needed[side][op], plan.rows[side][op], plan.rows[Other(side)][op])) {
        return InvalidArgument("operator {}: the {} needs rows {} to {} that nobody computes in full", op,
                               side == kDevice ? "device" : "server", needed[side][op].lo, needed[side][op].hi);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPlan(const RowGraph& plain, const Plan& plan) {
  if (plan.layout.Plain()) return Check(plain, plan);
  WHARF_RETURN_IF_ERROR(Check(plain, plan.layout));
  return Check(WithLayout(plain, plan.layout), plan);
}

Plan InLayout(const RowGraph& laid_out, const Layout& layout, const Plan& plan) {
  Plan parted(laid_out.Size());
  parted.layout = layout;
  parted.encoding = plan.encoding;
  PartRows(laid_out, plan, parted.rows);
  return parted;
}

void PartRows(const RowGraph& laid_out, const Plan& plan, std::array<std::vector<RowRange>, 2>& parted) {
  for (const Side side : kSides) {
    parted[side].resize(laid_out.Size());
    for (int op = 0; op < laid_out.Size(); ++op) {
      const RowRange rows = plan.rows[side][laid_out.Operator(op)];
      const int first = laid_out.FirstRow(op);
      parted[side][op] = Intersection(RowRange{rows.lo - first, rows.hi - first}, {0, laid_out.Rows(op)});
    }
  }
}

std::vector<Transfer> Transfers(const RowGraph& graph, const Plan& plan) {
  const auto needed = NeededRows(graph, plan);
  std::vector<Transfer> transfers;
  for (int op = 0; op < graph.Size(); ++op) {
    for (const Side from : kSides) {
      const Side to = Other(from);
      const int rows = needed[to][op].Size() - Intersection(needed[to][op], plan.rows[to][op]).Size();
      if (rows > 0) transfers.push_back({op, from, rows, rows * graph.BytesPerRow(op)});
    }
  }
  return transfers;
}

}  // namespace wharf::split
