// What the tests of this room share: small profiles by hand, random ones, random valid plans.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "wharf/split/costs/profile.h"
#include "wharf/split/plan.h"

namespace wharf::split {

// A profile operator by operator; times are exact (no cost of slicing) unless slice_cost is set.
class ProfileBuilder {
 public:
  explicit ProfileBuilder(int input_rows, int64_t input_bytes) {
    profile_.model = "test";
    profile_.slice_cost = {{0, 0}, 1};
    Add({}, std::vector<graph::RowRule>(), input_rows, input_bytes, 0, 0);
  }
  // Reads every input by the same rule.
  int Add(std::vector<int> inputs, graph::RowRule rule, int rows, int64_t bytes, double device_ms, double server_ms) {
    std::vector<graph::RowRule> rules(inputs.size(), rule);
    return Add(std::move(inputs), std::move(rules), rows, bytes, device_ms, server_ms);
  }
  int Add(std::vector<int> inputs, std::vector<graph::RowRule> rules, int rows, int64_t bytes, double device_ms,
          double server_ms) {
    ProfiledOperator one;
    one.op.name = fmt::format("op{}", profile_.Size());
    one.op.inputs = std::move(inputs);
    one.op.rules = std::move(rules);
    one.op.rows = rows;
    one.op.output_bytes = bytes;
    one.full_ms = {device_ms, server_ms};
    profile_.operators.push_back(std::move(one));
    return profile_.Size() - 1;
  }
  int Rows(int op) const { return profile_.operators[op].op.rows; }
  // The result: what the device must hold of `inputs`.
  Profile End(std::vector<int> inputs) {
    Add(std::move(inputs), graph::RowRule{graph::RowKind::kGlobal}, 1, 4, 0, 0);
    return profile_;
  }

 private:
  Profile profile_;
};

inline const graph::RowRule kElementwise{graph::RowKind::kRow};
inline const graph::RowRule kConv3{graph::RowKind::kWindow, 3, 1, 1, 1};
inline const graph::RowRule kGlobalRule{graph::RowKind::kGlobal};

// A random DAG of local and global operators, most of them reading their predecessor.
inline Profile ArbitraryProfile(int max_operators, int max_rows) {
  int rows = *rc::gen::inRange(1, max_rows + 1);
  ProfileBuilder builder(rows, *rc::gen::inRange(1, 2000) * rows);
  std::vector<int> heights = {rows};
  const int operators = *rc::gen::inRange(1, max_operators + 1);
  for (int i = 1; i <= operators; ++i) {
    const int input = *rc::gen::weightedOneOf<int>({{3, rc::gen::just(i - 1)}, {1, rc::gen::inRange(0, i)}});
    graph::RowRule rule = *rc::gen::weightedElement<graph::RowRule>(
        {{3, kElementwise}, {3, kConv3}, {1, {graph::RowKind::kWindow, 2, 2, 0, 1}}, {1, kGlobalRule}});
    int height = heights[input];
    if (rule.kind == graph::RowKind::kWindow && rule.stride == 2) height = (height - 2) / 2 + 1;
    if (heights[input] < 2 && rule.stride == 2) rule = kElementwise, height = heights[input];
    if (rule.kind == graph::RowKind::kGlobal) height = 1;
    std::vector<int> inputs = {input};
    std::vector<graph::RowRule> rules = {rule};
    if (rule.kind == graph::RowKind::kRow && *rc::gen::arbitrary<bool>()) {
      // Added row for row, or read whole: the second matrix of a product, what is broadcast.
      const int second = *rc::gen::inRange(0, i);
      const bool row_for_row = heights[second] == height && *rc::gen::arbitrary<bool>();
      inputs.push_back(second);
      rules.push_back(row_for_row ? kElementwise : kGlobalRule);
    }
    const int64_t bytes = *rc::gen::inRange(1, 2000) * height;
    const double server_ms = *rc::gen::inRange(0, 40) / 10.0;
    builder.Add(std::move(inputs), std::move(rules), height, bytes, server_ms * *rc::gen::inRange(1, 20), server_ms);
    heights.push_back(height);
  }
  return builder.End({operators});
}

// Some bands in some order in which they can be computed.
inline Layout ArbitraryLayout(const RowGraph& plain) {
  std::vector<Band> waiting, input;
  for (int op = 0; op + 1 < plain.Size(); ++op) {
    for (int lo = 0, left = *rc::gen::inRange(1, 4); lo < plain.Rows(op); --left) {
      const int hi = left <= 1 ? plain.Rows(op) : *rc::gen::inRange(lo + 1, plain.Rows(op) + 1);
      (op == 0 ? input : waiting).push_back({op, {lo, hi}});
      lo = hi;
    }
  }
  Layout layout;
  layout.bands = std::move(input);
  const auto ready = [&](const Band& band) {
    return std::none_of(waiting.begin(), waiting.end(), [&](const Band& later) {
      const auto edges = plain.Inputs(band.op);
      return std::any_of(edges.begin(), edges.end(), [&](const RowGraph::Edge& edge) {
        return edge.from == later.op &&
               !Intersection(plain.Needed(band.op, AsBandsRead(plain, band.op, edge), band.rows), later.rows).Empty();
      });
    });
  };
  while (!waiting.empty()) {
    std::vector<size_t> next;
    for (size_t i = 0; i < waiting.size(); ++i) {
      if (ready(waiting[i])) next.push_back(i);
    }
    const size_t chosen = next[*rc::gen::inRange<size_t>(0, next.size())];
    layout.bands.push_back(waiting[chosen]);
    waiting.erase(waiting.begin() + static_cast<int64_t>(chosen));
  }
  layout.bands.push_back({plain.Output(), {0, plain.Rows(plain.Output())}});
  return layout;
}

// Some valid plan: random ranges, widened where somebody needs more.
inline Plan ArbitraryPlan(const RowGraph& graph) {
  Plan plan(graph.Size());
  std::array<std::vector<RowRange>, 2> needed;
  for (auto& side : needed) side.resize(graph.Size());
  needed[kDevice][graph.Output()] = {0, graph.Rows(graph.Output())};
  for (int op = graph.Output(); op >= 0; --op) {
    const RowRange all = Hull(needed[kDevice][op], needed[kServer][op]);
    const int cut = all.lo + (all.Empty() ? 0 : *rc::gen::inRange(0, all.Size() + 1));
    RowRange first = Intersection(all, {all.lo, cut}), second = Intersection(all, {cut, all.hi});
    if (*rc::gen::arbitrary<bool>()) std::swap(first, second);
    if (*rc::gen::inRange(0, 4) == 0) first = Hull(first, needed[kDevice][op]);
    if (*rc::gen::inRange(0, 4) == 0) second = Hull(second, needed[kServer][op]);
    if (op == graph.Output()) first = needed[kDevice][op];
    if (graph.IsInput(op)) first = {0, graph.Rows(op)}, second = {};
    plan.rows[kDevice][op] = first;
    plan.rows[kServer][op] = second;
    for (const Side side : kSides) {
      for (const auto& edge : graph.Inputs(op)) {
        needed[side][edge.from] = Hull(needed[side][edge.from], graph.Needed(op, edge, plan.rows[side][op]));
      }
    }
  }
  return plan;
}

// In no layout, in bands, or gathered.
inline Plan ArbitraryLaidOutPlan(const RowGraph& plain) {
  Layout layout;
  if (*rc::gen::inRange(0, 3) > 0) layout = ArbitraryLayout(plain);
  layout.gathered = *rc::gen::inRange(0, 5) == 0;
  Plan plan = ArbitraryPlan(WithLayout(plain, layout));
  plan.layout = std::move(layout);
  return plan;
}

}  // namespace wharf::split
