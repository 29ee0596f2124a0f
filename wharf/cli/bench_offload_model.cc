#include "wharf/cli/bench_offload_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "wharf/report/bar_chart.h"
#include "wharf/report/statistics.h"
#include "wharf/report/table.h"

namespace wharf::cli {
namespace {

double LinkMs(double round_trips, double bytes, const Scenario& scenario) {
  if (scenario.mean_bits_per_second <= 0) return 0;
  return round_trips * Milliseconds(scenario.round_trip) + 8e3 * bytes / scenario.mean_bits_per_second;
}

std::string Kilobytes(double bytes) { return fmt::format("{:.1f}", bytes / 1e3); }

}  // namespace

absl::StatusOr<ProgramRun> ParseRun(const std::string& program_json, const std::string& counters_json) {
  ProgramRun run;
  try {
    run.latencies_ms = nlohmann::json::parse(program_json).at("latency_ms").get<std::vector<double>>();
  } catch (const nlohmann::json::exception& error) {
    return DataLoss("the program's --json file has no list \"latency_ms\": {}", error.what());
  }
  try {
    const auto counters = nlohmann::json::parse(counters_json);
    counters.at("calls").get_to(run.calls);
    counters.at("blocking_round_trips").get_to(run.blocking_round_trips);
    counters.at("bytes_up").get_to(run.bytes_up);
    counters.at("bytes_down").get_to(run.bytes_down);
    counters.at("device_busy_ns").get_to(run.device_busy_ns);
  } catch (const nlohmann::json::exception& error) {
    return DataLoss("the program's CUDA counters cannot be read (does it load CUDA's shared libraries?): {}",
                    error.what());
  }
  return run;
}

absl::StatusOr<BenchRow> MakeRow(const ProgramRun& short_run, const ProgramRun& long_run, int warm_up,
                                 const Scenario& scenario) {
  const size_t before = short_run.latencies_ms.size(), all = long_run.latencies_ms.size();
  if (before != static_cast<size_t>(warm_up) || all <= before) {
    return FailedPrecondition("the program ran {} and {} inferences, not {} and more", before, all, warm_up);
  }
  const std::vector<double> latencies(long_run.latencies_ms.begin() + warm_up, long_run.latencies_ms.end());
  const auto inferences = static_cast<double>(latencies.size());
  auto each = [&](uint64_t ProgramRun::*counter) {
    const auto difference = static_cast<double>(long_run.*counter) - static_cast<double>(short_run.*counter);
    return std::max(0.0, difference) / inferences;
  };
  BenchRow row;
  row.scenario = scenario.name;
  row.inferences = static_cast<int>(latencies.size());
  row.latency_ms_median = report::Median(latencies);
  row.latency_ms_p95 = report::Percentile(latencies, 0.95);
  row.calls = each(&ProgramRun::calls);
  row.blocking_round_trips = each(&ProgramRun::blocking_round_trips);
  row.bytes_up = each(&ProgramRun::bytes_up);
  row.bytes_down = each(&ProgramRun::bytes_down);
  const double mean_ms = report::Mean(latencies), bytes = row.bytes_up + row.bytes_down;
  if (mean_ms > 0) row.device_busy_fraction = each(&ProgramRun::device_busy_ns) / 1e6 / mean_ms;
  row.energy_j_modelled = ModelEnergy(mean_ms, row.blocking_round_trips, bytes, scenario);
  row.link_limit_ms = LinkMs(1, bytes, scenario);
  return row;
}

double ModelEnergy(double latency_ms, double round_trips, double bytes, const Scenario& scenario,
                   const PowerStates& states) {
  if (scenario.mean_bits_per_second <= 0) return states.inference * latency_ms / 1e3;
  const double communicating_ms = std::min(latency_ms, LinkMs(round_trips, bytes, scenario));
  return (states.communication * communicating_ms + states.standby * (latency_ms - communicating_ms)) / 1e3;
}

std::string RowsAsJson(const std::vector<BenchRow>& rows) {
  auto array = nlohmann::ordered_json::array();
  for (const BenchRow& row : rows) {
    array.push_back({{"program", row.program},
                     {"mode", row.mode},
                     {"scenario", row.scenario},
                     {"inferences", row.inferences},
                     {"latency_ms_median", row.latency_ms_median},
                     {"latency_ms_p95", row.latency_ms_p95},
                     {"calls", row.calls},
                     {"blocking_round_trips", row.blocking_round_trips},
                     {"bytes_up", row.bytes_up},
                     {"bytes_down", row.bytes_down},
                     {"device_busy_fraction", row.device_busy_fraction},
                     {"energy_j_modelled", row.energy_j_modelled}});
  }
  return array.dump(2) + "\n";
}

std::string RowsAsTable(const std::vector<BenchRow>& rows, TableStyle style) {
  using report::Align;
  report::Table table({{"scenario"},
                       {"mode"},
                       {"inferences", Align::kRight},
                       {"median ms", Align::kRight},
                       {"p95 ms", Align::kRight},
                       {"link limit ms", Align::kRight},
                       {"calls", Align::kRight},
                       {"round trips", Align::kRight},
                       {"up kB", Align::kRight},
                       {"down kB", Align::kRight},
                       {"device busy", Align::kRight},
                       {"energy J (modelled)", Align::kRight}});
  std::string last;
  for (const BenchRow& row : rows) {
    if (!last.empty() && row.scenario != last) table.AddRule();
    last = row.scenario;
    table.AddRow(
        {row.scenario, row.mode, fmt::format("{}", row.inferences), fmt::format("{:.1f}", row.latency_ms_median),
         fmt::format("{:.1f}", row.latency_ms_p95),
         row.link_limit_ms > 0 ? fmt::format("{:.1f}", row.link_limit_ms) : "", fmt::format("{:.0f}", row.calls),
         fmt::format("{:.0f}", row.blocking_round_trips), Kilobytes(row.bytes_up), Kilobytes(row.bytes_down),
         fmt::format("{:.1f} %", 100 * row.device_busy_fraction), fmt::format("{:.2f}", row.energy_j_modelled)});
  }
  return style == TableStyle::kText ? table.Text() : table.Markdown();
}

std::string RowsAsChart(const std::vector<BenchRow>& rows) {
  report::BarChart chart{"Latency of one inference, median", "ms", /*logarithmic*/ true, {}};
  for (const BenchRow& row : rows) {
    if (chart.groups.empty() || chart.groups.back().title != row.scenario) chart.groups.push_back({row.scenario, {}});
    chart.groups.back().bars.push_back({row.mode, row.latency_ms_median});
  }
  return chart.Svg();
}

}  // namespace wharf::cli
