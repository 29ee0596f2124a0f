// Plan: which rows of each operator's output the device computes and which the server does. Rows may be computed on
// both sides; what a side needs and does not compute travels from the other.
#pragma once

#include <array>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/split/costs/encoding.h"
#include "wharf/split/layout.h"
#include "wharf/split/row_graph.h"

namespace wharf::split {

// Whatever takes a graph and a plan wants the graph laid out as the plan says: then bands are its operators.
struct Plan {
  std::array<std::vector<RowRange>, 2> rows;  // by Side, then operator of the laid-out graph
  Layout layout;
  Encoding encoding;  // of what travels

  explicit Plan(int operators = 0) { rows.fill(std::vector<RowRange>(operators)); }
  friend bool operator==(const Plan&, const Plan&) = default;
};

// The rows of every operator that each side's operators read: the hull over its users, and the whole output on the
// device. Result by Side, then operator.
std::array<std::vector<RowRange>, 2> NeededRows(const RowGraph& graph, const Plan& plan);
// The same into memory that is there already.
void FindNeededRows(const RowGraph& graph, const Plan& plan, std::array<std::vector<RowRange>, 2>& needed);

// kInvalidArgument unless the plan can be carried out: ranges within the operators' rows; the input whole on the device
// and not on the server; the output whole on the device; every needed row computed on its side or on the other.
absl::Status Check(const RowGraph& graph, const Plan& plan);
// The same for a plan of any layout, and its layout: of a model that is not laid out.
absl::Status CheckPlan(const RowGraph& plain, const Plan& plan);

// A plan without layout carried out in bands: each side computes of every band what it computed of the operator.
// `laid_out`: WithLayout(plain, layout). REQUIRES: Check(plain, plan).ok(). O(bands).
Plan InLayout(const RowGraph& laid_out, const Layout& layout, const Plan& plan);
// The rows alone, into memory that is there already.
void PartRows(const RowGraph& laid_out, const Plan& plan, std::array<std::vector<RowRange>, 2>& rows);

// What one side sends the other of an operator's output, once, when it has computed it.
struct Transfer {
  int op = 0;
  Side from = kDevice;
  int rows = 0;
  double bytes = 0;
};
// In the order of operators. REQUIRES: Check(graph, plan).ok().
std::vector<Transfer> Transfers(const RowGraph& graph, const Plan& plan);

}  // namespace wharf::split
