#include "wharf/cli/bench/split/report.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "wharf/report/bar_chart.h"
#include "wharf/report/line_chart.h"

namespace wharf::cli {
namespace {

using report::Align;

std::string Number(double value, int digits = 1) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "never";
}

bool SameQuestion(const SplitBenchRow& a, const SplitBenchRow& b) {
  return a.model == b.model && a.scenario == b.scenario && a.encoding == b.encoding;
}

// The system without what says that it knows rates to come.
std::string_view Plain(const SplitBenchRow& row) {
  std::string_view name = row.system;
  if (name.ends_with(kKnowingRates)) name.remove_suffix(kKnowingRates.size());
  return name;
}

bool IsFixed(const SplitBenchRow& row) { return row.scenario.find("Mbit/s") != std::string::npos; }

nlohmann::ordered_json RowAsJson(const SplitBenchRow& row) {
  nlohmann::ordered_json json = {{"model", row.model},
                                 {"scenario", row.scenario},
                                 {"system", row.system},
                                 {"encoding", row.encoding},
                                 {"simulated", !row.measured},
                                 {"inferences", row.inferences},
                                 {"latency_ms_mean", row.latency_ms_mean},
                                 {"latency_ms_std", row.latency_ms_std},
                                 {"latency_ms_p95", row.latency_ms_p95},
                                 {"latency_ms_p99", row.latency_ms_p99},
                                 {"device_ms_mean", row.device_ms_mean},
                                 {"server_ms_mean", row.server_ms_mean},
                                 {"link_ms_mean", row.link_ms_mean},
                                 {"link_ms_std", row.link_ms_std},
                                 {"transmission_share", row.transmission_share},
                                 {"power_w_modelled", row.power_w},
                                 {"power_w_modelled_std", row.power_w_std},
                                 {"energy_j", row.energy_j},
                                 {"energy_j_modelled_std", row.energy_j_std},
                                 {"energy_is_modelled", true},
                                 {"lost_inferences", row.lost_inferences},
                                 {"lower_bound_ms", row.lower_bound_ms}};
  if (!row.measured) return json;
  const MeasuredSplit& measured = *row.measured;
  if (measured.energy_j) {
    json["energy_j"] = *measured.energy_j;
    json["energy_is_modelled"] = false;
  }
  json["slow_down"] = measured.slow_down;
  json["planned_ms_mean"] = measured.planned_ms_mean;
  json["message_error_ms_mean"] = measured.message_error_ms_mean;
  json["largest_share_of_bound"] = measured.largest_share_of_bound;
  json["finished_alone"] = measured.finished_alone;
  return json;
}

// A row each: names, then what `cells` says in these columns; rules between models and scenarios.
report::Table TableOf(const std::vector<SplitBenchRow>& rows, const std::vector<std::string>& columns,
                      const std::function<std::vector<std::string>(const SplitBenchRow&)>& cells) {
  std::vector<report::Column> all = {{"model"}, {"scenario"}, {"encoding"}, {"system"}};
  for (const std::string& column : columns) all.push_back({column, Align::kRight});
  report::Table table(std::move(all));
  for (size_t i = 0; i < rows.size(); ++i) {
    const SplitBenchRow& row = rows[i];
    const bool new_group = i == 0 || !SameQuestion(rows[i - 1], row);
    if (new_group && i > 0) table.AddRule();
    std::vector<std::string> texts = {new_group ? row.model : "", new_group ? row.scenario : "",
                                      new_group ? row.encoding : "", row.system};
    for (std::string& cell : cells(row)) texts.push_back(std::move(cell));
    table.AddRow(std::move(texts));
  }
  return table;
}

// The fixed links of one model and encoding.
std::string LatencyLines(const std::vector<const SplitBenchRow*>& rows) {
  std::map<double, double> bounds;  // by rate: the highest, which no system can be below
  std::vector<std::string> systems;
  std::map<std::pair<std::string, double>, double> latencies;
  for (const SplitBenchRow* row : rows) {
    if (!IsFixed(*row)) continue;
    const double megabits = std::atof(row->scenario.c_str());
    bounds[megabits] = std::max(bounds[megabits], row->lower_bound_ms);
    latencies[{row->system, megabits}] = row->latency_ms_mean;
    if (std::find(systems.begin(), systems.end(), row->system) == systems.end()) systems.push_back(row->system);
  }
  if (bounds.empty()) return "";
  report::LineChart chart{fmt::format("{}, {}: mean latency by the link's rate", rows[0]->model, rows[0]->encoding),
                          "Mbit/s (logarithmic scale)", "ms", true};
  chart.logarithmic_x = bounds.begin()->first > 0;
  for (const std::string& system : systems) {
    report::Line& line = chart.lines.emplace_back(report::Line{system, {}});
    for (const auto& [megabits, bound] : bounds) {
      const auto found = latencies.find({system, megabits});
      line.values.push_back(found == latencies.end() ? INFINITY : found->second);
    }
  }
  report::Line bound{"bound", {}, true};
  for (const auto& [megabits, ms] : bounds) {
    chart.x.push_back(megabits);
    bound.values.push_back(ms);
  }
  if (std::ranges::any_of(bound.values, [](double ms) { return ms > 0; })) chart.lines.push_back(std::move(bound));
  return chart.Svg();
}

// The others.
std::string LatencyBars(const std::vector<const SplitBenchRow*>& rows) {
  report::BarChart chart{fmt::format("{}, {}: mean latency", rows[0]->model, rows[0]->encoding), "ms", false, {}};
  for (const SplitBenchRow* row : rows) {
    if (IsFixed(*row) || !std::isfinite(row->latency_ms_mean)) continue;
    if (chart.groups.empty() || chart.groups.back().title != row->scenario) chart.groups.push_back({row->scenario, {}});
    report::Bar bar{row->system, row->latency_ms_mean};
    if (row->lower_bound_ms > 0) bar.bound = row->lower_bound_ms;
    chart.groups.back().bars.push_back(std::move(bar));
  }
  return chart.groups.empty() ? "" : chart.Svg();
}

}  // namespace

std::string SplitRowsAsJson(const std::vector<SplitBenchRow>& rows) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const SplitBenchRow& row : rows) array.push_back(RowAsJson(row));
  return array.dump(1) + "\n";
}

report::Table SplitRowsAsTable(const std::vector<SplitBenchRow>& rows) {
  const bool measured = std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.measured; });
  return TableOf(rows, {"mean ms", "std", "p95", "p99", measured ? "planned" : "bound"}, [](const SplitBenchRow& row) {
    return std::vector<std::string>{Number(row.latency_ms_mean), Number(row.latency_ms_std), Number(row.latency_ms_p95),
                                    Number(row.latency_ms_p99),
                                    Number(row.measured ? row.measured->planned_ms_mean : row.lower_bound_ms)};
  });
}

report::Table SplitPhasesAsTable(const std::vector<SplitBenchRow>& rows) {
  return TableOf(rows,
                 {"device ms", "server ms", "link ms", "std", "link", "W (modelled)", "std", "J (modelled)", "std"},
                 [](const SplitBenchRow& row) {
                   return std::vector<std::string>{Number(row.device_ms_mean),
                                                   Number(row.server_ms_mean),
                                                   Number(row.link_ms_mean),
                                                   Number(row.link_ms_std),
                                                   fmt::format("{:.0f} %", 100 * row.transmission_share),
                                                   Number(row.power_w, 2),
                                                   Number(row.power_w_std, 2),
                                                   Number(row.energy_j, 3),
                                                   Number(row.energy_j_std, 3)};
                 });
}

report::Table SplitGainsAsTable(const std::vector<SplitBenchRow>& rows) {
  report::Table table({{"model"},
                       {"scenario"},
                       {"encoding"},
                       {"best other"},
                       {"its mean ms", Align::kRight},
                       {"intra-dp", Align::kRight},
                       {"less by", Align::kRight},
                       {"bound ms", Align::kRight},
                       {"possible at most", Align::kRight}});
  for (const SplitBenchRow& ours : rows) {
    if (ours.system != "intra-dp") continue;
    const SplitBenchRow* best = nullptr;
    for (const SplitBenchRow& row : rows) {
      if (!SameQuestion(row, ours) || row.system == ours.system || Plain(row) != row.system) continue;
      if (best == nullptr || row.latency_ms_mean < best->latency_ms_mean) best = &row;
    }
    if (best == nullptr) continue;
    const auto less = [&](double ms) { return fmt::format("{:.1f} %", 100 * (1 - ms / best->latency_ms_mean)); };
    const bool bounded = ours.lower_bound_ms > 0;
    table.AddRow({ours.model, ours.scenario, ours.encoding, best->system, Number(best->latency_ms_mean),
                  Number(ours.latency_ms_mean), less(ours.latency_ms_mean), bounded ? Number(ours.lower_bound_ms) : "",
                  bounded ? less(ours.lower_bound_ms) : ""});
  }
  return table;
}

report::Table SplitLossesAsTable(const std::vector<SplitBenchRow>& rows) {
  report::Table table({{"model"},
                       {"scenario"},
                       {"encoding"},
                       {"system"},
                       {"mean ms", Align::kRight},
                       {"rates known", Align::kRight},
                       {"bound", Align::kRight},
                       {"lost by predicting", Align::kRight},
                       {"by planning, at most", Align::kRight}});
  for (const SplitBenchRow& known : rows) {
    if (Plain(known) == known.system) continue;
    const auto row = std::ranges::find_if(
        rows, [&](const SplitBenchRow& one) { return SameQuestion(one, known) && one.system == Plain(known); });
    if (row == rows.end()) continue;
    const auto share = [&](double ms) { return fmt::format("{:.1f} %", 100 * ms / row->latency_ms_mean); };
    table.AddRow({known.model, known.scenario, known.encoding, row->system, Number(row->latency_ms_mean),
                  Number(known.latency_ms_mean), Number(known.lower_bound_ms),
                  share(row->latency_ms_mean - known.latency_ms_mean),
                  share(known.latency_ms_mean - known.lower_bound_ms)});
  }
  return table;
}

void AddSplitCharts(const std::vector<SplitBenchRow>& rows, report::HtmlPage& page) {
  std::vector<std::vector<const SplitBenchRow*>> groups;
  for (const SplitBenchRow& row : rows) {
    const auto same = [&](const auto& group) {
      return group[0]->model == row.model && group[0]->encoding == row.encoding;
    };
    auto group = std::find_if(groups.begin(), groups.end(), same);
    if (group == groups.end()) group = groups.insert(groups.end(), std::vector<const SplitBenchRow*>{});
    group->push_back(&row);
  }
  for (const auto& group : groups) {
    for (const std::string& svg : {LatencyLines(group), LatencyBars(group)}) {
      if (!svg.empty()) page.AddPicture(svg);
    }
  }
}

}  // namespace wharf::cli
