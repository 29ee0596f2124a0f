#include "wharf/cli/bench/pipeline/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "wharf/report/bar_chart.h"
#include "wharf/report/line_chart.h"

namespace wharf::cli {
namespace {

using report::Align;
using report::Table;

bool SameCase(const PipelineBenchRow& a, const PipelineBenchRow& b) {
  return a.varied == b.varied && a.cluster == b.cluster && a.dnns == b.dnns;
}

// Means over the cases of a cluster and what is varied.
struct MeanRow {
  std::string title, algorithm;
  double cases = 0, load = 0, planned = 0, util_low = 0, util_high = 0;
};

// In the order of the rows.
std::vector<MeanRow> MeansOf(const std::vector<PipelineBenchRow>& rows) {
  std::vector<MeanRow> means;
  for (const PipelineBenchRow& row : rows) {
    const std::string title = row.varied.empty() ? row.cluster : row.cluster + ", " + row.varied;
    auto mean = std::find_if(means.begin(), means.end(),
                             [&](const MeanRow& one) { return one.title == title && one.algorithm == row.algorithm; });
    if (mean == means.end()) mean = means.insert(means.end(), {title, row.algorithm});
    const auto ours = std::find_if(rows.begin(), rows.end(), [&](const PipelineBenchRow& one) {
      return SameCase(one, row) && one.algorithm == "ours";
    });
    ++mean->cases;
    mean->load += row.max_load_factor_99;
    mean->planned += ours != rows.end() && ours->planned_xput > 0 ? row.planned_xput / ours->planned_xput : 0;
    mean->util_low += row.util_low;
    mean->util_high += row.util_high;
  }
  for (MeanRow& mean : means) {
    for (double* sum : {&mean.load, &mean.planned, &mean.util_low, &mean.util_high}) *sum /= mean.cases;
  }
  return means;
}

std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string Bars(const std::vector<MeanRow>& means, const std::string& title, double MeanRow::*value, double scale,
                 const std::string& unit) {
  report::BarChart chart{title, unit, false, {}};
  for (const MeanRow& mean : means) {
    if (chart.groups.empty() || chart.groups.back().title != mean.title) chart.groups.push_back({mean.title, {}});
    chart.groups.back().bars.push_back({mean.algorithm, scale * (mean.*value)});
  }
  return chart.Svg();
}

// Of each case, attainment by load (Figure 4.7).
void AddCurves(const std::vector<PipelineBenchRow>& rows, report::HtmlPage& page) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i > 0 && SameCase(rows[i - 1], rows[i])) continue;
    report::LineChart chart{rows[i].cluster + ": requests in time by load", "", "share", false, 1, {}};
    for (size_t j = i; j < rows.size() && SameCase(rows[i], rows[j]); ++j) {
      if (!rows[j].attainment.empty()) chart.lines.push_back({rows[j].algorithm, rows[j].attainment});
    }
    if (chart.lines.empty()) continue;
    const size_t loads = chart.lines[0].values.size();
    for (size_t load = 1; load <= loads; ++load)
      chart.x.push_back(100 * static_cast<double>(load) / static_cast<double>(loads));
    std::string models = rows[i].dnns;
    for (size_t at = models.find('|'); at != std::string::npos; at = models.find('|', at)) models.replace(at, 1, ", ");
    chart.x_title = fmt::format("load in percent of our plan's; {}", models);
    page.AddPicture(chart.Svg());
  }
}

}  // namespace

std::string PipelineRowsAsJson(const std::vector<PipelineBenchRow>& rows) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const PipelineBenchRow& row : rows) {
    array.push_back({{"dnns", row.dnns},
                     {"weights", row.weights},
                     {"cluster", row.cluster},
                     {"algorithm", row.algorithm},
                     {"varied", row.varied},
                     {"planned_xput", row.planned_xput},
                     {"bound_xput", row.bound_xput},
                     {"gap", row.gap},
                     {"solve_s", row.solve_s},
                     {"max_load_factor_99", row.max_load_factor_99},
                     {"max_load_factors_99", row.max_load_factors_99},
                     {"util_low", row.util_low},
                     {"util_high", row.util_high},
                     {"simulated", true}});
    if (!row.attainment.empty()) array.back()["attainment"] = row.attainment;
  }
  return array.dump(1) + "\n";
}

Table PipelineRowsAsTable(const std::vector<PipelineBenchRow>& rows) {
  Table table({{"DNNs"},
               {"cluster"},
               {"algorithm"},
               {"planned/s", Align::kRight},
               {"bound/s", Align::kRight},
               {"gap", Align::kRight},
               {"solved in s", Align::kRight},
               {"max load at 99 %", Align::kRight},
               {"of its models", Align::kRight},
               {"busy low", Align::kRight},
               {"busy high", Align::kRight}});
  for (size_t i = 0; i < rows.size(); ++i) {
    const PipelineBenchRow& row = rows[i];
    const bool new_case = i == 0 || !SameCase(rows[i - 1], row);
    if (new_case && i > 0) table.AddRule();
    std::string loads;
    for (const double load : row.max_load_factors_99) loads += fmt::format("{}{:.2f}", loads.empty() ? "" : " ", load);
    table.AddRow({new_case ? row.dnns : "", new_case ? row.cluster + (row.varied.empty() ? "" : ", " + row.varied) : "",
                  row.algorithm, fmt::format("{:.1f}", row.planned_xput), fmt::format("{:.1f}", row.bound_xput),
                  fmt::format("{:.2f} %", 100 * row.gap), fmt::format("{:.3f}", row.solve_s),
                  fmt::format("{:.3f}", row.max_load_factor_99), loads, Percent(row.util_low), Percent(row.util_high)});
  }
  return table;
}

Table PipelineMeansAsTable(const std::vector<PipelineBenchRow>& rows) {
  Table table({{"cluster"},
               {"algorithm"},
               {"groups", Align::kRight},
               {"planned, of ours", Align::kRight},
               {"max load at 99 %", Align::kRight},
               {"ours is more by", Align::kRight},
               {"busy low", Align::kRight},
               {"busy high", Align::kRight}});
  const std::vector<MeanRow> means = MeansOf(rows);
  for (size_t i = 0; i < means.size(); ++i) {
    const MeanRow& mean = means[i];
    const bool new_title = i == 0 || means[i - 1].title != mean.title;
    if (new_title && i > 0) table.AddRule();
    const auto ours = std::find_if(means.begin(), means.end(), [&](const MeanRow& one) {
      return one.title == mean.title && one.algorithm == "ours";
    });
    const bool compared = ours != means.end() && mean.algorithm != "ours" && mean.load > 0;
    table.AddRow({new_title ? mean.title : "", mean.algorithm, fmt::format("{:.0f}", mean.cases), Percent(mean.planned),
                  fmt::format("{:.3f}", mean.load), compared ? Percent(ours->load / mean.load - 1) : "",
                  Percent(mean.util_low), Percent(mean.util_high)});
  }
  return table;
}

void AddPipelineCharts(const std::vector<PipelineBenchRow>& rows, report::HtmlPage& page) {
  const std::vector<MeanRow> means = MeansOf(rows);
  page.AddPicture(Bars(means, "Maximum load factor at 99 % attainment, of our plan", &MeanRow::load, 1, ""));
  page.AddPicture(Bars(means, "Utilisation of the slower GPUs", &MeanRow::util_low, 100, "%"));
  page.AddPicture(Bars(means, "Utilisation of the fastest GPUs", &MeanRow::util_high, 100, "%"));
  AddCurves(rows, page);
}

}  // namespace wharf::cli
