#include "wharf/cli/bench/pipeline/unification.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace wharf::cli {
namespace {

using report::Align;
using report::Table;

constexpr double kAlike = 1e-6, kProven = 1e-9;  // as shares

struct Mean {
  std::string cluster;
  int cases = 0;
  std::array<double, kUnificationRules.size()> share = {}, solve_s = {};
  std::array<int, kUnificationRules.size()> better = {}, worse = {};
};

std::vector<Mean> MeansOf(const std::vector<UnificationRow>& rows) {
  std::vector<Mean> means;
  for (const UnificationRow& row : rows) {
    if (std::ranges::min(row.planned) <= 0) continue;
    if (means.empty() || means.back().cluster != row.cluster) means.push_back({row.cluster});
    Mean& mean = means.back();
    ++mean.cases;
    for (size_t i = 0; i < row.planned.size(); ++i) {
      const double share = row.planned[i] / row.planned[kOurs];
      mean.share[i] += share;
      mean.solve_s[i] += row.solve_s[i];
      if (share > 1 + kAlike) ++mean.better[i];
      if (share < 1 - kAlike) ++mean.worse[i];
    }
  }
  for (Mean& mean : means) {
    for (size_t i = 0; i < mean.share.size(); ++i) {
      mean.share[i] /= mean.cases;
      mean.solve_s[i] /= mean.cases;
    }
  }
  return means;
}

}  // namespace

absl::StatusOr<UnificationRow> PlanUnification(const PipelineCase& one) {
  UnificationRow row{one.cluster.name, {}};
  for (const pipeline::Demand& demand : one.demands) {
    row.models += (row.models.empty() ? "" : ", ") + demand.profile->model;
  }
  for (size_t i = 0; i < kUnificationRules.size(); ++i) {
    PipelineAlgorithm algorithm{"ours"};
    algorithm.unify_batches = kUnificationRules[i].unify_batches;
    algorithm.divide_gpus = kUnificationRules[i].divide_gpus;
    WHARF_ASSIGN_OR_RETURN(const pipeline::Plan plan, PlanPipelineCase(one, algorithm));
    row.planned[i] = plan.value;
    row.solve_s[i] = plan.solve_s;
    row.proven[i] = plan.value > 0 && plan.Gap() <= kProven;
  }
  return row;
}

Table UnificationAsTable(const std::vector<UnificationRow>& rows) {
  std::vector<report::Column> columns = {{"cluster"}, {"models"}};
  for (const UnificationRule& rule : kUnificationRules) columns.push_back({std::string(rule.name), Align::kRight});
  Table table(columns);
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool first = i == 0 || rows[i - 1].cluster != rows[i].cluster;
    if (first && i > 0) table.AddRule();
    std::vector<std::string> cells = {first ? rows[i].cluster : "", rows[i].models};
    for (size_t rule = 0; rule < kUnificationRules.size(); ++rule) {
      const bool unproven = rows[i].planned[rule] > 0 && !rows[i].proven[rule];
      cells.push_back(fmt::format("{}{:.1f}", unproven ? "≥ " : "", rows[i].planned[rule]));
    }
    table.AddRow(std::move(cells));
  }
  return table;
}

Table UnificationMeansAsTable(const std::vector<UnificationRow>& rows) {
  Table table({{"cluster"},
               {"plans"},
               {"cases", Align::kRight},
               {"of ours", Align::kRight},
               {"better in", Align::kRight},
               {"worse in", Align::kRight},
               {"solved in s", Align::kRight}});
  const std::vector<Mean> means = MeansOf(rows);
  for (size_t i = 0; i < means.size(); ++i) {
    if (i > 0) table.AddRule();
    for (size_t rule = 0; rule < kUnificationRules.size(); ++rule) {
      const Mean& mean = means[i];
      table.AddRow({rule == 0 ? mean.cluster : "", std::string(kUnificationRules[rule].name),
                    rule == 0 ? std::to_string(mean.cases) : "", fmt::format("{:.1f} %", 100 * mean.share[rule]),
                    std::to_string(mean.better[rule]), std::to_string(mean.worse[rule]),
                    fmt::format("{:.3f}", mean.solve_s[rule])});
    }
  }
  return table;
}

std::string UnificationAsJson(const std::vector<UnificationRow>& rows) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const UnificationRow& row : rows) {
    for (size_t i = 0; i < kUnificationRules.size(); ++i) {
      array.push_back({{"cluster", row.cluster},
                       {"models", row.models},
                       {"unify_batches", kUnificationRules[i].unify_batches},
                       {"divide_gpus", kUnificationRules[i].divide_gpus},
                       {"planned_xput", row.planned[i]},
                       {"proven", row.proven[i]},
                       {"solve_s", row.solve_s[i]}});
    }
  }
  return array.dump(1) + "\n";
}

}  // namespace wharf::cli
