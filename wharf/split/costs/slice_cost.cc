#include "wharf/split/costs/slice_cost.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace wharf::split {
namespace {

constexpr size_t kEnough = 8;

bool ReadsRowForRow(const graph::Operator& op) {
  return !op.rules.empty() && std::all_of(op.rules.begin(), op.rules.end(),
                                          [](const graph::RowRule& rule) { return rule.kind == graph::RowKind::kRow; });
}

double MeanMs(const std::vector<const ProfiledOperator*>& operators, size_t count, Side side) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += operators[i]->full_ms[side];
  return sum / static_cast<double>(count);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

SliceCost SliceCostOf(const Profile& profile) {
  std::map<std::string, std::vector<const ProfiledOperator*>> kinds;
  for (const ProfiledOperator& one : profile.operators) {
    if (ReadsRowForRow(one.op)) kinds[one.op.name].push_back(&one);
  }
  std::array<std::vector<double>, 2> means;
  for (auto& [name, operators] : kinds) {
    const size_t all = operators.size();
    if (all < kEnough || MeanMs(operators, all, kDevice) == 0 || MeanMs(operators, all, kServer) == 0) continue;
    std::stable_sort(operators.begin(), operators.end(), [](const ProfiledOperator* a, const ProfiledOperator* b) {
      return a->op.output_bytes < b->op.output_bytes;
    });
    for (const Side side : kSides) means[side].push_back(MeanMs(operators, std::max(kEnough, all / 4), side));
  }
  SliceCost cost;
  if (means[kDevice].empty()) return cost;
  for (const Side side : kSides) cost.fixed_ms[side] = Median(means[side]);
  return cost;
}

}  // namespace wharf::split
