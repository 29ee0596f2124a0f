#include "wharf/cli/bench/serving/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "wharf/report/bar_chart.h"
#include "wharf/report/line_chart.h"
#include "wharf/report/statistics.h"

namespace wharf::cli {
namespace {

using report::Align;
using report::Table;
using serving::System;

constexpr size_t kSamplesASecond = 10;
constexpr double kFps = 60;  // of the tables' videos

report::MeanAndSpread Metric(const ServingRow& row, const std::string& name) {
  const auto found = row.metrics.find(name);
  return found == row.metrics.end() ? report::MeanAndSpread{} : found->second;
}
double Mean(const ServingRow& row, const std::string& name) { return Metric(row, name).mean; }

std::string SettingOf(const ServingRow& row) {
  const ServingCase& setting = row.setting;
  return fmt::format("{}, {}, {} videos, SLA {}", setting.task, setting.link.name, setting.videos, setting.Sla());
}

std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

// How many times the clients of a baseline ARISE serves, over all SLAs of a figure, as far as the text says it.
std::string ThesisRatio(const ServingRow& row) {
  if (row.system == System::kArise) return "1";
  if (row.system > System::kArise) return "";  // the thesis has none
  if (row.setting.figure == "3.16") return "2.5 - 5.6";
  if (row.setting.figure == "3.22") return "1.9 - 2.1";
  if (row.setting.figure != "3.13") return "";
  switch (row.system) {
    case System::kAlpha:
      return "1.7 - 3.9";
    case System::kClipper:
      return "<= 5.2";
    case System::kChameleon:
      return "<= 6.9";
    default:
      return ">= 1.7";
  }
}

std::string Ratio(const std::vector<ServingRow>& rows, const ServingRow& row, const std::string& metric) {
  const ServingRow* arise = FindServingRow(rows, row, System::kArise);
  const double value = Mean(row, metric);
  if (arise == nullptr || value <= 0) return "";
  return fmt::format("{:.2f}", Mean(*arise, metric) / value);
}

void AddBars(const std::vector<ServingRow>& rows, report::HtmlPage& page) {
  report::BarChart chart{"Clients served", "clients", false, {}};
  for (const ServingRow& row : rows) {
    const std::string title = fmt::format("{}: {}", row.setting.figure, SettingOf(row));
    if (chart.groups.empty() || chart.groups.back().title != title) chart.groups.push_back({title, {}});
    report::Bar bar{std::string(SystemName(row.system)), Mean(row, "clients")};
    if (Mean(row, "bound") > 0) bar.bound = Mean(row, "bound");
    chart.groups.back().bars.push_back(std::move(bar));
  }
  page.AddPicture(chart.Svg());
}

// Means over a second each.
report::Line LineOf(const std::string& label, const std::vector<serving::Sample>& samples,
                    double (*value)(const serving::Sample& sum)) {
  report::Line line{label, {}};
  for (size_t i = 0; i + kSamplesASecond <= samples.size(); i += kSamplesASecond) {
    serving::Sample sum;
    for (size_t j = i; j < i + kSamplesASecond; ++j) {
      sum.clients += samples[j].clients / kSamplesASecond;
      sum.drop_rate += samples[j].drop_rate / kSamplesASecond;
      sum.offloads += samples[j].offloads;
      sum.batches += samples[j].batches;
    }
    line.values.push_back(value(sum));
  }
  return line;
}

void AddTimeline(const ServingRow& row, report::HtmlPage& page) {
  using serving::Sample;
  page.AddHeading("ARISE over time: " + SettingOf(row));
  const auto add = [&](const std::string& title, const std::string& unit, double (*value)(const Sample& sum)) {
    report::LineChart chart{title, "second", unit, false, 0, {LineOf("arise", row.first.samples, value)}};
    page.AddPicture(chart.Svg());
  };
  add("Drop rate, mean of the clients", "a frame", [](const Sample& sum) { return sum.drop_rate; });
  add("Offloads of a client", "a second",
      [](const Sample& sum) { return sum.clients > 0 ? sum.offloads / sum.clients : 0; });
  add("Batch", "requests", [](const Sample& sum) { return sum.batches > 0 ? sum.offloads / sum.batches : 0; });
  add("Clients", "", [](const Sample& sum) { return sum.clients; });
}

// Figure 3.14: clients in the order of their SLAs.
void AddDropsAgainstSlas(const ServingRow& row, report::HtmlPage& page) {
  constexpr auto kLeastFrames = static_cast<int64_t>(5 * kFps);
  std::vector<std::pair<double, double>> clients;
  for (const serving::ClientOutcome& client : row.first.clients) {
    if (client.account.frames >= kLeastFrames) clients.emplace_back(client.sla, client.account.MeanDrop());
  }
  std::sort(clients.begin(), clients.end());
  report::Line slas{"SLA: no drop should be above it", {}, true}, drops{"mean drop", {}};
  for (const auto& [sla, drop] : clients) {
    slas.values.push_back(sla);
    drops.values.push_back(drop);
  }
  page.AddHeading("Each client's drop and its SLA: " + SettingOf(row));
  report::LineChart chart{"ARISE, seed 1", "client", "accuracy", false, 0, {slas, drops}};
  page.AddPicture(chart.Svg());
}

// Figure 3.20.
void AddStartDeviations(const ServingRow& row, report::HtmlPage& page) {
  const std::vector<double> late(row.first.late_ms.begin(), row.first.late_ms.end());
  report::Line line{"arise", {}};
  for (int percent = 0; percent <= 100; ++percent) line.values.push_back(report::Percentile(late, percent / 100.0));
  page.AddHeading("Batches begun after their planned latest start: " + SettingOf(row));
  report::LineChart chart{"Start less latest start", "percent of the batches", "ms", false, 0, {line}};
  page.AddPicture(chart.Svg());
}

// The value at each percentile.
report::Line InOrder(const std::string& label, const std::vector<double>& values) {
  report::Line line{label, {}};
  for (int percent = 1; percent <= 100; ++percent) line.values.push_back(report::Percentile(values, percent / 100.0));
  return line;
}

// Figure 3.18: rows of one setting.
void AddDropsInOrder(const std::vector<const ServingRow*>& rows, report::HtmlPage& page) {
  report::LineChart chart{"Clients' mean drops, from the least: " + SettingOf(*rows.front()), "percent of the clients",
                          "accuracy", false, 1};
  for (const ServingRow* row : rows) {
    const std::vector<double> drops = ClientDrops(row->first, kFps);
    if (!drops.empty()) chart.lines.push_back(InOrder(std::string(SystemName(row->system)), drops));
  }
  if (chart.lines.empty()) return;
  if (rows.front()->setting.sla_from == rows.front()->setting.sla_to) {
    chart.lines.push_back({"SLA", std::vector<double>(100, rows.front()->setting.sla_from), true});
  }
  page.AddPicture(chart.Svg());
}

// Figure 3.21: ARISE's, by SLA.
void AddErrorsInOrder(const std::vector<ServingRow>& rows, report::HtmlPage& page) {
  report::LineChart chart{"Estimates of mean drops less the drops, from the least", "percent of the videos", "accuracy",
                          false, 1};
  for (const ServingRow& row : rows) {
    if (row.system != System::kArise) continue;
    const std::vector<double> errors = EstimateErrors(row.first);
    if (!errors.empty()) chart.lines.push_back(InOrder(SettingOf(row), errors));
  }
  if (!chart.lines.empty()) page.AddPicture(chart.Svg());
}

}  // namespace

Table ServingDistributionsTable(const std::vector<ServingRow>& rows) {
  Table table({{"setting"},
               {"system"},
               {"clients' drops: p5", Align::kRight},
               {"p50", Align::kRight},
               {"p95", Align::kRight},
               {"most", Align::kRight},
               {"estimates by video: least", Align::kRight},
               {"p10", Align::kRight},
               {"p50", Align::kRight},
               {"p90", Align::kRight},
               {"most", Align::kRight}});
  for (const ServingRow& row : rows) {
    std::vector<std::string> cells = {SettingOf(row), std::string(SystemName(row.system))};
    for (const char* name : {"client_drop_p5", "client_drop_p50", "client_drop_p95", "client_drop_p100"}) {
      cells.push_back(fmt::format("{:.4f}", Mean(row, name)));
    }
    for (const char* name : {"estimate_error_low", "estimate_error_p10", "estimate_error_p50", "estimate_error_p90",
                             "estimate_error_high"}) {
      cells.push_back(fmt::format("{:+.4f}", Mean(row, name)));
    }
    table.AddRow(std::move(cells));
  }
  return table;
}

Table ServingClientsTable(const std::vector<ServingRow>& rows) {
  Table table({{"figure"},
               {"setting"},
               {"system"},
               {"clients", Align::kRight},
               {"ARISE / it", Align::kRight},
               {"within SLA", Align::kRight},
               {"ARISE / it", Align::kRight},
               {"thesis", Align::kRight},
               {"bound", Align::kRight},
               {"batch", Align::kRight},
               {"interval", Align::kRight},
               {"idle", Align::kRight},
               {"drop rate", Align::kRight},
               {"chosen offline"}});
  for (size_t i = 0; i < rows.size(); ++i) {
    const ServingRow& row = rows[i];
    const bool first =
        i == 0 || SettingOf(rows[i - 1]) != SettingOf(row) || rows[i - 1].setting.figure != row.setting.figure;
    if (first && i > 0) table.AddRule();
    const report::MeanAndSpread clients = Metric(row, "clients");
    table.AddRow({first ? row.setting.figure : "", first ? SettingOf(row) : "", std::string(SystemName(row.system)),
                  fmt::format("{:.1f} ± {:.1f}", clients.mean, clients.spread), Ratio(rows, row, "clients"),
                  fmt::format("{:.1f}", Mean(row, "clients_within")), Ratio(rows, row, "clients_within"),
                  ThesisRatio(row), fmt::format("{:.1f}", Mean(row, "bound")),
                  fmt::format("{:.2f}", Mean(row, "batch")), fmt::format("{:.1f}", Mean(row, "interval")),
                  Percent(Mean(row, "idle")), fmt::format("{:.4f}", Mean(row, "drop_rate")), row.chosen});
  }
  return table;
}

Table ServingQualityTable(const std::vector<ServingRow>& rows) {
  Table table({{"setting"},
               {"system"},
               {"mean drop", Align::kRight},
               {"of the truth", Align::kRight},
               {"clients within", Align::kRight},
               {"worst over", Align::kRight},
               {"estimate off by", Align::kRight},
               {"late batches", Align::kRight},
               {"> 1 ms", Align::kRight},
               {"start p1 / p50 / p99 ms", Align::kRight},
               {"arrivals off by ms", Align::kRight},
               {"batch / profile", Align::kRight},
               {"p99", Align::kRight},
               {"round ms", Align::kRight},
               {"p99", Align::kRight},
               {"evicted/s", Align::kRight}});
  for (const ServingRow& row : rows) {
    const bool planned = row.metrics.contains("late_batches");
    table.AddRow(
        {SettingOf(row), std::string(SystemName(row.system)), fmt::format("{:.4f}", Mean(row, "drop")),
         fmt::format("{:.4f}", Mean(row, "true_drop")), Percent(Mean(row, "within_sla")),
         fmt::format("{:+.4f}", Mean(row, "worst_excess")),
         fmt::format("{:+.4f} .. {:+.4f}", Mean(row, "estimate_error_low"), Mean(row, "estimate_error_high")),
         planned ? Percent(Mean(row, "late_batches")) : "", planned ? Percent(Mean(row, "late_1ms")) : "",
         planned ? fmt::format("{:.1f} / {:.1f} / {:.1f}", Mean(row, "start_p1_ms"), Mean(row, "start_p50_ms"),
                               Mean(row, "start_p99_ms"))
                 : "",
         planned ? fmt::format("{:+.2f} ± {:.2f}", Mean(row, "arrival_error_ms"), Mean(row, "arrival_deviation_ms"))
                 : "",
         fmt::format("{:.3f}", Mean(row, "stretch")), fmt::format("{:.3f}", Mean(row, "stretch_p99")),
         fmt::format("{:.3f}", Mean(row, "round_ms")), fmt::format("{:.3f}", Mean(row, "round_p99_ms")),
         fmt::format("{:.2f}", Mean(row, "evicted"))});
  }
  return table;
}

Table ServingAdherenceTable(const std::vector<ServingRow>& rows) {
  Table table({{"setting"},
               {"system"},
               {"client-hours", Align::kRight},
               {"above SLA", Align::kRight},
               {"clients of 5 s or more", Align::kRight},
               {"above SLA", Align::kRight},
               {"within", Align::kRight},
               {"worst over", Align::kRight}});
  for (const ServingRow& row : rows) {
    const ServingTotals& totals = row.totals;
    const auto clients = static_cast<double>(totals.clients), above = static_cast<double>(totals.above);
    table.AddRow({SettingOf(row), std::string(SystemName(row.system)), fmt::format("{:.1f}", totals.client_hours),
                  fmt::format("{:.2f}", totals.hours_above), fmt::format("{}", totals.clients),
                  fmt::format("{}", totals.above),
                  clients > 0 ? fmt::format("{:.3f} %", 100 * (1 - above / clients)) : "",
                  clients > 0 ? fmt::format("{:+.4f}", totals.worst_excess) : ""});
  }
  return table;
}

void AddServingCharts(const std::vector<ServingRow>& rows, report::HtmlPage& page) {
  AddBars(rows, page);
  for (size_t i = 0; i < rows.size();) {
    std::vector<const ServingRow*> setting;
    const size_t first = i;
    for (; i < rows.size() && SettingOf(rows[i]) == SettingOf(rows[first]); ++i) setting.push_back(&rows[i]);
    AddDropsInOrder(setting, page);
  }
  AddErrorsInOrder(rows, page);
  for (const ServingRow& row : rows) {
    if (row.system != System::kArise || row.setting.figure != "3.13") continue;
    if (row.setting.sla_from < row.setting.sla_to) AddDropsAgainstSlas(row, page);
    if (row.setting.sla_from != 0.06) continue;
    AddTimeline(row, page);
    AddStartDeviations(row, page);
  }
}

}  // namespace wharf::cli
