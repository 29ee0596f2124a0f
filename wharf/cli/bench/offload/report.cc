#include "wharf/cli/bench/offload/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "wharf/report/bar_chart.h"
#include "wharf/report/html_page.h"
#include "wharf/report/line_chart.h"
#include "wharf/report/table.h"

namespace wharf::cli {
namespace {

using report::Align;

std::string Kilobytes(double bytes) { return fmt::format("{:.1f}", bytes / 1e3); }

std::string Shown(const report::Table& table, TableStyle style) {
  return style == TableStyle::kText ? table.Text() : table.Markdown();
}

report::Table RowTable(const std::vector<BenchRow>& rows) {
  report::Table table({{"scenario"},
                       {"mode"},
                       {"inferences", Align::kRight},
                       {"median ms", Align::kRight},
                       {"p95 ms", Align::kRight},
                       {"× native", Align::kRight},
                       {"link limit ms", Align::kRight},
                       {"calls", Align::kRight},
                       {"round trips", Align::kRight},
                       {"predicted", Align::kRight},
                       {"up kB", Align::kRight},
                       {"down kB", Align::kRight},
                       {"device busy", Align::kRight},
                       {"power W (modelled)", Align::kRight},
                       {"energy J (modelled)", Align::kRight},
                       {"phase"}});
  std::string last;
  for (const BenchRow& row : rows) {
    if (!last.empty() && row.scenario != last) table.AddRule();
    last = row.scenario;
    table.AddRow(
        {row.scenario, row.mode, fmt::format("{}", row.inferences), fmt::format("{:.1f}", row.latency_ms_median),
         fmt::format("{:.1f}", row.latency_ms_p95), row.times_native > 0 ? fmt::format("{:.3f}", row.times_native) : "",
         row.link_limit_ms > 0 ? fmt::format("{:.1f}", row.link_limit_ms) : "",
         row.calls > 0 ? fmt::format("{:.0f}", row.calls) : "", fmt::format("{:.1f}", row.blocking_round_trips),
         row.predicted_fraction > 0 ? fmt::format("{:.1f} %", 100 * row.predicted_fraction) : "",
         Kilobytes(row.bytes_up), Kilobytes(row.bytes_down), fmt::format("{:.1f} %", 100 * row.device_busy_fraction),
         fmt::format("{:.2f}", row.power_w_modelled), fmt::format("{:.2f}", row.energy_j_modelled),
         row.phase == "none" ? "" : row.phase});
  }
  return table;
}

double Sum(const std::map<std::string, double>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0.0,
                         [](double sum, const auto& entry) { return sum + entry.second; });
}

double CountOf(const std::map<std::string, double>& counts, const std::string& name) {
  const auto it = counts.find(name);
  return it == counts.end() ? 0 : it->second;
}

std::string CountAndShare(const std::map<std::string, double>& counts, const std::string& name, double sum) {
  const double count = CountOf(counts, name);
  return fmt::format("{:.0f} ({:.2f} %)", count, sum > 0 ? 100 * count / sum : 0.0);
}

report::Table CallTable(const CallStages& stages) {
  std::set<std::string> names;
  for (const auto* stage : {&stages.load, &stages.first, &stages.loop}) {
    for (const auto& [name, count] : *stage) names.insert(name);
  }
  std::vector<std::string> ordered(names.begin(), names.end());
  std::stable_sort(ordered.begin(), ordered.end(), [&](const std::string& a, const std::string& b) {
    return std::pair(CountOf(stages.loop, a), CountOf(stages.load, a)) >
           std::pair(CountOf(stages.loop, b), CountOf(stages.load, b));
  });
  report::Table table({{"call"},
                       {"loading and ending", Align::kRight},
                       {"first inference", Align::kRight},
                       {"loop, an inference", Align::kRight}});
  const double load = Sum(stages.load), first = Sum(stages.first), loop = Sum(stages.loop);
  for (const std::string& name : ordered) {
    table.AddRow({name, CountAndShare(stages.load, name, load), CountAndShare(stages.first, name, first),
                  CountAndShare(stages.loop, name, loop)});
  }
  table.AddRule();
  table.AddRow({"all", fmt::format("{:.0f}", load), fmt::format("{:.0f}", first), fmt::format("{:.0f}", loop)});
  return table;
}

std::string LinkOf(const BenchRow& row) { return row.scenario == "none" ? "without a link" : "link: " + row.scenario; }

// One bar a row, grouped by scenario. `bound`: what the value cannot be below, where it is not 0; null: nothing.
std::string Bars(const std::vector<BenchRow>& rows, const std::string& title, const std::string& unit, bool logarithmic,
                 double (*value)(const BenchRow&), double (*bound)(const BenchRow&) = nullptr) {
  report::BarChart chart{title, unit, logarithmic, {}};
  for (const BenchRow& row : rows) {
    if (chart.groups.empty() || chart.groups.back().title != LinkOf(row)) chart.groups.push_back({LinkOf(row), {}});
    report::Bar bar{row.mode, value(row)};
    if (bound != nullptr && bound(row) > 0) bar.bound = bound(row);
    chart.groups.back().bars.push_back(std::move(bar));
  }
  return chart.Svg();
}

// A picture a scenario: every inference from the first, where replay begins to show.
void AddLatencies(const std::vector<BenchRow>& rows, report::HtmlPage& page) {
  std::vector<report::LineChart> charts;
  for (const BenchRow& row : rows) {
    const std::string title = "Latency of every inference, " + LinkOf(row);
    if (charts.empty() || charts.back().title != title) charts.push_back({title, "inference", "ms", true, 1, {}});
    charts.back().lines.push_back({row.mode, row.latencies_ms});
  }
  for (const report::LineChart& chart : charts) page.AddPicture(chart.Svg());
}

}  // namespace

std::string RowsAsJson(const std::vector<BenchRow>& rows) {
  auto array = nlohmann::ordered_json::array();
  for (const BenchRow& row : rows) {
    array.push_back({{"program", row.program},
                     {"mode", row.mode},
                     {"scenario", row.scenario},
                     {"phase", row.phase},
                     {"programs", row.programs},
                     {"inferences", row.inferences},
                     {"latency_ms_median", row.latency_ms_median},
                     {"latency_ms_p95", row.latency_ms_p95},
                     {"calls", row.calls},
                     {"blocking_round_trips", row.blocking_round_trips},
                     {"bytes_up", row.bytes_up},
                     {"bytes_down", row.bytes_down},
                     {"device_busy_fraction", row.device_busy_fraction},
                     {"power_w_modelled", row.power_w_modelled},
                     {"energy_j_modelled", row.energy_j_modelled}});
  }
  return array.dump(2) + "\n";
}

std::string RowsAsTable(const std::vector<BenchRow>& rows, TableStyle style) { return Shown(RowTable(rows), style); }

std::string CallsAsTable(const CallStages& stages, TableStyle style) { return Shown(CallTable(stages), style); }

std::string RowsAsChart(const std::vector<BenchRow>& rows) {
  return Bars(
      rows, "Latency of one inference, median", "ms", /*logarithmic=*/true,
      [](const BenchRow& row) { return row.latency_ms_median; }, [](const BenchRow& row) { return row.link_limit_ms; });
}

namespace {

std::string SampleOf(const std::vector<BenchRow>& rows) {
  std::string text;
  for (const BenchRow& row : rows) {
    const std::string one = fmt::format("{} {}", row.inferences, row.mode);
    if (text.find(one) == std::string::npos) text += (text.empty() ? "inferences measured on each link: " : ", ") + one;
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::string RowsAsPage(const std::vector<BenchRow>& rows, const CallStages* stages) {
  report::HtmlPage page(fmt::format("What offloading {} costs", rows.empty() ? "" : rows.front().program),
                        report::RunRecord::OfThisProcess(SampleOf(rows)));
  page.AddParagraph("Calls, round trips, bytes and energy are per inference. The energy is modelled, not measured.");
  page.AddTable(RowTable(rows));
  page.AddHeading("Latency");
  page.AddPicture(RowsAsChart(rows));
  AddLatencies(rows, page);
  page.AddHeading("What travels");
  page.AddPicture(Bars(rows, "Blocking round trips of one inference", "", true,
                       [](const BenchRow& row) { return row.blocking_round_trips; }));
  page.AddPicture(Bars(rows, "Bytes of one inference, both ways", "kB", false,
                       [](const BenchRow& row) { return (row.bytes_up + row.bytes_down) / 1e3; }));
  page.AddHeading("Server and device");
  page.AddPicture(Bars(rows, "The server's device is busy", "% of the time", false,
                       [](const BenchRow& row) { return 100 * row.device_busy_fraction; }));
  page.AddPicture(Bars(rows, "Energy of one inference (modelled)", "J", true,
                       [](const BenchRow& row) { return row.energy_j_modelled; }));
  if (stages != nullptr) {
    page.AddHeading("Calls by function");
    page.AddTable(CallTable(*stages));
  }
  return page.Text();
}

}  // namespace wharf::cli
