#include "wharf/cli/bench/multitask/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "wharf/report/bar_chart.h"
#include "wharf/report/line_chart.h"
#include "wharf/scene/world/world.h"

namespace wharf::cli {
namespace {

using report::Align;
using report::Table;

constexpr const char* kCategories[] = {"L/L", "L/H", "H/L", "H/H"};

// Thesis, Table 2.3: depth and odometry errors in the order of kCategories; AccuMO's at weights 1:1.
struct Published {
  const char* system;
  std::array<double, 4> depth, odometry;
};
constexpr Published kPublished[] = {
    {"la", {0.288, 0.290, 0.276, 0.301}, {0.238, 0.244, 0.301, 0.221}},
    {"rr", {0.168, 0.160, 0.201, 0.239}, {0.053, 0.148, 0.051, 0.125}},
    {"wrr 3:1", {0.156, 0.145, 0.181, 0.221}, {0.167, 0.437, 0.119, 0.452}},
    {"wrr 2:1", {0.163, 0.149, 0.188, 0.226}, {0.113, 0.332, 0.088, 0.397}},
    {"wrr 1:2", {0.188, 0.175, 0.224, 0.265}, {0.034, 0.114, 0.022, 0.094}},
    {"wrr 1:3", {0.208, 0.200, 0.252, 0.292}, {0.037, 0.105, 0.026, 0.091}},
    {"aao", {0.197, 0.193, 0.236, 0.274}, {0.038, 0.156, 0.032, 0.108}},
    {"accumo", {0.155, 0.153, 0.174, 0.216}, {0.043, 0.098, 0.034, 0.083}},
};
// Baselines of the thesis: what AccuMO is compared with. The other systems are ablations.
constexpr const char* kBaselines[] = {"la", "rr", "wrr 3:1", "wrr 2:1", "wrr 1:2", "wrr 1:3", "aao"};
// Section 2.8.3: mean improvement over the best baseline, by weights.
constexpr std::pair<const char*, double> kPublishedGains[] = {
    {"4:1", 0.076}, {"2:1", 0.101}, {"1:1", 0.143}, {"1:2", 0.112}, {"1:4", 0.112}};
// Table 2.5, on H/H videos.
struct PublishedLink {
  const char* latencies;
  double rr_depth, rr_odometry, accumo_depth, accumo_odometry;
};
constexpr PublishedLink kPublishedLinks[] = {{"thesis", 0.239, 0.125, 0.216, 0.083},
                                             {"thesis-5g", 0.252, 0.181, 0.228, 0.162},
                                             {"thesis-a40", 0.217, 0.105, 0.200, 0.078}};

// AccuMO with the thesis's estimates, and with ours.
constexpr const char* kAccumos[] = {"accumo-published", "accumo"};

// The thesis's figure stands beside both.
std::string_view WithoutPublished(std::string_view system) {
  constexpr std::string_view kSuffix = "-published";
  if (system.ends_with(kSuffix)) system.remove_suffix(kSuffix.size());
  return system;
}

double Mean(const MultitaskRow& row, const char* metric) { return row.metrics.at(metric).mean; }

std::string Cell(const report::MeanAndSpread& value, std::optional<double> published = std::nullopt) {
  std::string text = fmt::format("{:.3f}", value.mean);
  if (value.spread > 0) text += fmt::format(" ± {:.3f}", value.spread);
  if (published.has_value()) text += fmt::format(" ({:.3f})", *published);
  return text;
}
std::string Percent(double share) { return fmt::format("{:+.1f} %", 100 * share); }
double Gain(double before, double after) { return before > 0 ? (before - after) / before : 0; }

std::vector<report::Column> Columns(std::string first, const std::vector<std::string>& rest) {
  std::vector<report::Column> columns = {{std::move(first), Align::kLeft}};
  for (const std::string& title : rest) columns.push_back({title, Align::kRight});
  return columns;
}

// The systems in the order of the rows, of the first latencies and these weights.
std::vector<std::string> Systems(const std::vector<MultitaskRow>& rows, const std::string& weights) {
  std::vector<std::string> systems;
  for (const MultitaskRow& row : rows) {
    if (row.weights == weights && row.latencies == rows.front().latencies &&
        std::find(systems.begin(), systems.end(), row.system) == systems.end())
      systems.push_back(row.system);
  }
  return systems;
}

std::vector<std::string> CategoriesOf(const std::vector<MultitaskRow>& rows) {
  std::vector<std::string> categories;
  for (const char* category : kCategories) {
    if (std::any_of(rows.begin(), rows.end(), [&](const MultitaskRow& row) { return row.category == category; }))
      categories.emplace_back(category);
  }
  return categories;
}

// Table 2.3.
TitledTable TaskErrors(const std::vector<MultitaskRow>& rows, const Weights& weights) {
  const std::string ratio = WeightsText(weights);
  const bool boxes = weights.size() > 2, published_ratio = ratio == "1:1";
  std::vector<std::string> titles = {"depth", "odometry"};
  if (boxes) titles.emplace_back("boxes");
  titles.emplace_back("overall");
  Table table(Columns("category, system", titles));
  for (const std::string& category : CategoriesOf(rows)) {
    if (category != CategoriesOf(rows).front()) table.AddRule();
    const auto at = std::find(std::begin(kCategories), std::end(kCategories), category) - std::begin(kCategories);
    for (const std::string& system : Systems(rows, ratio)) {
      const MultitaskRow* const row = FindRow(rows, category, system, ratio);
      if (row == nullptr) continue;
      const auto* const thesis = std::find_if(std::begin(kPublished), std::end(kPublished), [&](const Published& one) {
        return one.system == WithoutPublished(system);
      });
      const bool has = published_ratio && thesis != std::end(kPublished);
      const auto published = [&](double value) { return has ? std::optional(value) : std::nullopt; };
      const double depth = has ? thesis->depth[at] : 0, odometry = has ? thesis->odometry[at] : 0;
      std::vector<std::string> cells = {category + " " + system, Cell(row->metrics.at("abs_rel"), published(depth)),
                                        Cell(row->metrics.at("t_err"), published(odometry))};
      if (boxes) cells.push_back(Cell(row->metrics.at("box_error")));
      cells.push_back(Cell(row->metrics.at("overall"), published((depth + odometry) / 2)));
      table.AddRow(std::move(cells));
    }
  }
  return {
      fmt::format("Errors by task, weights {} (Table 2.3; thesis in brackets): depth AbsRel, odometry t_err", ratio),
      std::move(table)};
}

// The baseline of the lowest overall error in category `over`; nullptr if there is none.
const MultitaskRow* BestBaseline(const std::vector<MultitaskRow>& rows, const std::string& ratio,
                                 const std::string& over) {
  const MultitaskRow* best = nullptr;
  for (const std::string& system : Systems(rows, ratio)) {
    const bool fixed_turns = system.starts_with("wrr") && system.find(":0") == std::string::npos &&
                             system.find("0:") == std::string::npos && system.find('+') == std::string::npos;
    if (!fixed_turns && std::find(std::begin(kBaselines), std::end(kBaselines), system) == std::end(kBaselines))
      continue;
    const MultitaskRow* const row = FindRow(rows, over, system, ratio);
    if (row != nullptr && (best == nullptr || Mean(*row, "overall") < Mean(*best, "overall"))) best = row;
  }
  return best;
}

// Figure 2.12's summary, for AccuMO as `system`.
TitledTable Gains(const std::vector<MultitaskRow>& rows, const std::vector<Weights>& weights,
                  const std::string& system) {
  const std::vector<std::string> categories = CategoriesOf(rows);
  std::vector<std::string> titles = {"best baseline"};
  titles.insert(titles.end(), categories.begin(), categories.end());
  titles.insert(titles.end(), {"mean", "thesis's mean", "hindsight's"});
  Table table(Columns("weights", titles));
  for (const Weights& one : weights) {
    const std::string ratio = WeightsText(one);
    const MultitaskRow* const best = BestBaseline(rows, ratio, categories.size() > 1 ? "all" : categories.front());
    if (best == nullptr) continue;
    std::vector<std::string> cells = {ratio, best->system};
    double sum = 0, hindsight = 0;
    for (const std::string& category : categories) {
      const MultitaskRow *const ours = FindRow(rows, category, system, ratio), *const theirs = FindRow(
                                                                                   rows, category, best->system, ratio);
      if (ours == nullptr || theirs == nullptr) continue;
      const double gain = Gain(Mean(*theirs, "overall"), Mean(*ours, "overall"));
      sum += gain;
      hindsight += Gain(Mean(*theirs, "overall"), Mean(*BestBaseline(rows, ratio, category), "overall"));
      cells.push_back(Percent(gain));
    }
    cells.push_back(Percent(sum / static_cast<double>(categories.size())));
    const auto* const published = std::find_if(std::begin(kPublishedGains), std::end(kPublishedGains),
                                               [&](const auto& one_published) { return ratio == one_published.first; });
    cells.push_back(published == std::end(kPublishedGains) ? "" : Percent(published->second));
    cells.push_back(Percent(hindsight / static_cast<double>(categories.size())));
    table.AddRow(std::move(cells));
  }
  return {fmt::format("How far the overall error of {} is below the best baseline's (Figure 2.12); hindsight: each "
                      "category's own best baseline",
                      system),
          std::move(table)};
}

// Table 2.1.
TitledTable OffloadingSchedules(const std::vector<MultitaskRow>& rows, const std::string& over) {
  Table table(Columns("error", {"single task", "rr", "wrr 1:2"}));
  const MultitaskRow *const depth = FindRow(rows, over, "wrr 1:0", "1:1"),
                            *const odometry = FindRow(rows, over, "wrr 0:1", "1:1"),
                            *const rr = FindRow(rows, over, "rr", "1:1"),
                            *const wrr = FindRow(rows, over, "wrr 1:2", "1:1");
  if (depth != nullptr && odometry != nullptr && rr != nullptr && wrr != nullptr) {
    const auto cell = [](const MultitaskRow& row, const char* metric, double published) {
      return Cell(row.metrics.at(metric), published);
    };
    table.AddRow({"depth", cell(*depth, "abs_rel", 0.166), cell(*rr, "abs_rel", 0.192), cell(*wrr, "abs_rel", 0.213)});
    table.AddRow({"odometry", cell(*odometry, "t_err", 0.038), cell(*rr, "t_err", 0.094), cell(*wrr, "t_err", 0.066)});
    table.AddRow({"overall 0.5, 0.5", "", cell(*rr, "overall", 0.143), cell(*wrr, "overall", 0.140)});
    const auto weighted = [](const MultitaskRow& row) { return 0.7 * Mean(row, "abs_rel") + 0.3 * Mean(row, "t_err"); };
    table.AddRow({"overall 0.7, 0.3", "", Cell({weighted(*rr), 0}, 0.163), Cell({weighted(*wrr), 0}, 0.169)});
  }
  return {"What offloading two tasks costs (Table 2.1), mean over categories", std::move(table)};
}

// Table 2.4.
TitledTable Ablation(const std::vector<MultitaskRow>& rows, const std::string& over) {
  constexpr std::pair<const char*, std::optional<double>> kAblation[] = {{"rr", 0.192},
                                                                         {"rr+local-published", 0.180},
                                                                         {"rr+local", 0.180},
                                                                         {"accumo-local", 0.183},
                                                                         {"accumo-published", 0.175},
                                                                         {"accumo", 0.175},
                                                                         {"accumo+known", std::nullopt}};
  Table table(Columns("system", {"depth", "below rr", "thesis's", "odometry", "overall", "lite share"}));
  const MultitaskRow* const rr = FindRow(rows, over, "rr", "1:1");
  for (const auto& [system, published] : kAblation) {
    const MultitaskRow* const row = FindRow(rows, over, system, "1:1");
    if (row == nullptr || rr == nullptr) continue;
    table.AddRow({system, Cell(row->metrics.at("abs_rel"), published),
                  Percent(Gain(Mean(*rr, "abs_rel"), Mean(*row, "abs_rel"))),
                  published.has_value() ? Percent(Gain(0.192, *published)) : "", Cell(row->metrics.at("t_err")),
                  Cell(row->metrics.at("overall")), fmt::format("{:.2f}", Mean(*row, "lite_share"))});
  }
  return {"What scheduling and the lite network bring to depth (Table 2.4), mean over categories", std::move(table)};
}

// Table 2.5: what AccuMO gains under each of several latencies.
TitledTable Links(const std::vector<MultitaskRow>& rows) {
  Table table(Columns("category, latencies, system", {"depth", "odometry"}));
  for (const std::string& category : CategoriesOf(rows)) {
    if (category != CategoriesOf(rows).front()) table.AddRule();
    for (const PublishedLink& link : kPublishedLinks) {
      for (const std::string system : {"rr", kAccumos[0], kAccumos[1]}) {
        const MultitaskRow* const row = FindRow(rows, category, system, "1:1", link.latencies);
        if (row == nullptr) continue;
        const auto published = [&](double of_rr, double of_accumo) {
          return category == "H/H" ? std::optional(system == "rr" ? of_rr : of_accumo) : std::nullopt;
        };
        table.AddRow({fmt::format("{} {} {}", category, link.latencies, system),
                      Cell(row->metrics.at("abs_rel"), published(link.rr_depth, link.accumo_depth)),
                      Cell(row->metrics.at("t_err"), published(link.rr_odometry, link.accumo_odometry))});
      }
    }
  }
  return {"Networks and servers (Table 2.5)", std::move(table)};
}

bool OfSeveralLatencies(const std::vector<MultitaskRow>& rows) {
  return std::ranges::any_of(rows, [&](const MultitaskRow& row) { return row.latencies != rows.front().latencies; });
}

TitledTable Estimates(const std::vector<MultitaskRow>& rows, const Weights& weights) {
  Table table(Columns("category, system", {"tracker lost", "estimate off by", "correlation", "lite lost",
                                           "estimate off by", "correlation", "decision us", "most us"}));
  for (const std::string& category : CategoriesOf(rows)) {
    for (const char* system : kAccumos) {
      const MultitaskRow* const row = FindRow(rows, category, system, WeightsText(weights));
      if (row == nullptr) continue;
      std::vector<std::string> cells = {category + " " + system};
      for (const char* metric : {"tracker_drop", "tracker_estimate_error", "tracker_correlation", "lite_drop",
                                 "lite_estimate_error", "lite_correlation"})
        cells.push_back(fmt::format("{:.3f}", Mean(*row, metric)));
      for (const char* metric : {"decision_us", "decision_us_most"})
        cells.push_back(fmt::format("{:.1f}", Mean(*row, metric)));
      table.AddRow(std::move(cells));
    }
  }
  return {"Accuracy models of depth against the truth, in AbsRel, and the scheduler's real time", std::move(table)};
}

TitledTable Schedules(const std::vector<MultitaskRow>& rows, const Weights& weights, const std::string& over) {
  Table table(Columns("system", {"depth stride", "odometry stride", "depth share", "odometry share", "lite share"}));
  for (const std::string& system : Systems(rows, WeightsText(weights))) {
    const MultitaskRow* const row = FindRow(rows, over, system, WeightsText(weights));
    if (row == nullptr) continue;
    std::vector<std::string> cells = {system};
    for (const char* metric : {"depth_stride", "odometry_stride", "depth_share", "odometry_share", "lite_share"})
      cells.push_back(fmt::format("{:.2f}", Mean(*row, metric)));
    table.AddRow(std::move(cells));
  }
  return {"What was offloaded: mean strides in frames, shares of the offloads and of the frames", std::move(table)};
}

// Every `step`th value; those below 0 are unknown and left out by the chart.
report::Line Thinned(std::string label, const std::vector<double>& values, size_t step) {
  report::Line line{std::move(label), {}};
  for (size_t i = 0; i < values.size(); i += step) line.values.push_back(values[i]);
  return line;
}

}  // namespace

std::vector<TitledTable> MultitaskTables(const std::vector<MultitaskRow>& rows, const std::vector<Weights>& weights) {
  if (rows.empty()) return {};
  const std::vector<std::string> categories = CategoriesOf(rows);
  const std::string over = categories.size() > 1 ? "all" : categories.front();
  // Tables that are about one ratio show equal weights if there are any.
  const Weights equal(weights.front().size(), 1);
  const Weights& one = std::find(weights.begin(), weights.end(), equal) == weights.end() ? weights.front() : equal;
  std::vector<TitledTable> tables;
  tables.push_back(TaskErrors(rows, one));
  for (const char* system : kAccumos) {
    const auto is_of = [&](const MultitaskRow& row) { return row.system == system; };
    if (std::any_of(rows.begin(), rows.end(), is_of)) tables.push_back(Gains(rows, weights, system));
  }
  if (one.size() == 2) {
    tables.push_back(OffloadingSchedules(rows, over));
    tables.push_back(Ablation(rows, over));
    if (OfSeveralLatencies(rows)) tables.push_back(Links(rows));
  }
  tables.push_back(Schedules(rows, one, over));
  tables.push_back(Estimates(rows, one));
  return tables;
}

TitledTable TimesTable(const multitask::ComponentTimes& times) {
  Table table(Columns("part", {"ms here", "thesis's"}));
  const auto row = [&](const char* part, double ms, const char* published) {
    table.AddRow({part, fmt::format("{:.2f}", ms), published});
  };
  row("server: depth network", times.depth, "50.39");
  row("server: odometry", times.odometry, "53.73");
  row("server: detector", times.boxes, "");
  row("client, every frame: warping", times.warp, "15.04");
  row("client, every frame: lite network", times.lite, "13.42");
  row("client, every frame: Kalman filter", times.filter, "0.03");
  row("client, every frame: box tracker", times.box_tracker, "");
  row("client, beside frames: flow", times.flow, "66.15");
  return {"What parts compute, on one core of this machine; a frame time is 16.7 ms", std::move(table)};
}

void AddOverallCharts(const std::vector<MultitaskRow>& rows, const std::vector<Weights>& weights,
                      report::HtmlPage& page) {
  for (const Weights& one : weights) {
    const std::string ratio = WeightsText(one);
    report::BarChart chart{"Overall error, weights " + ratio, "", false, {}};
    for (const std::string& category : CategoriesOf(rows)) {
      report::BarGroup& group = chart.groups.emplace_back(report::BarGroup{category, {}});
      for (const std::string& system : Systems(rows, ratio)) {
        const MultitaskRow* const row = FindRow(rows, category, system, ratio);
        if (row != nullptr) group.bars.push_back({system, Mean(*row, "overall")});
      }
    }
    page.AddPicture(chart.Svg());
  }
}

void AddTimelines(const std::string& title, const multitask::Timeline& accumo, const std::vector<NamedTimeline>& others,
                  report::HtmlPage& page) {
  constexpr size_t kStep = 4;
  const std::string x_title = "seconds";
  const auto add = [&](const std::string& what, const std::string& unit, std::vector<report::Line> lines) {
    report::LineChart chart{what, x_title, unit, false, 0, std::move(lines)};
    for (size_t i = 0; i < accumo.depth_rate.size(); i += kStep)
      chart.x.push_back(static_cast<double>(i) / scene::World::kFramesPerSecond);
    page.AddPicture(chart.Svg());
  };
  page.AddHeading(title);
  add("Estimated drop rates", "per frame of stride",
      {Thinned("depth", accumo.depth_rate, kStep), Thinned("odometry", accumo.odometry_rate, kStep)});
  add("Drop of depth by its tracker, estimated and in truth", "AbsRel",
      {Thinned("estimated", accumo.tracker_drop, kStep), Thinned("in truth", accumo.tracker_lost, kStep)});
  add("Drop of depth by the lite network, estimated and in truth", "AbsRel",
      {Thinned("estimated", accumo.lite_drop, kStep), Thinned("in truth", accumo.lite_lost, kStep)});
  add("Depth's offloads over odometry's, of the last 8; lite network in use", "",
      {Thinned("ratio", accumo.offload_ratio, kStep), Thinned("lite network", accumo.lite, kStep)});
  std::vector<report::Line> errors = {Thinned("accumo", accumo.abs_rel, kStep)};
  for (const NamedTimeline& other : others) errors.push_back(Thinned(other.system, other.timeline->abs_rel, kStep));
  add("Error of depth, mean of 16 frames", "AbsRel", std::move(errors));
}

}  // namespace wharf::cli
