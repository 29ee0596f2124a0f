#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "wharf/cli/bench/pipeline/real.h"

namespace wharf::cli {
namespace {

double Apart(double real, double simulated) {
  return simulated > 0 ? std::abs(real - simulated) / simulated : std::abs(real - simulated);
}

std::string Quantity(double value) { return fmt::format("{:g}", value); }

}  // namespace

double RealPipelineRow::Difference() const {
  return std::max(Apart(real.attainment, simulated.attainment), Apart(real.on_time_per_s, simulated.on_time_per_s));
}

double RecoveryTime(const std::vector<SentRequest>& requests, double fault_s) {
  constexpr double kWindow = 1, kEnough = 0.9;
  double recovered = 0;
  for (size_t first = 0; first < requests.size(); ++first) {
    if (requests[first].sent_s < fault_s) continue;
    double sent = 0, on_time = 0;
    for (size_t i = first; i < requests.size() && requests[i].sent_s < requests[first].sent_s + kWindow; ++i) {
      ++sent;
      on_time += requests[i].on_time ? 1 : 0;
    }
    if (on_time < kEnough * sent) recovered = requests[first].sent_s - fault_s;
  }
  return recovered;
}

report::Table RealRowsAsTable(const RealPipelineResult& result) {
  using report::Align;
  report::Table table({{"load"},
                       {"run"},
                       {"requests", Align::kRight},
                       {"on time", Align::kRight},
                       {"on time/s", Align::kRight},
                       {"apart", Align::kRight},
                       {"p50 ms", Align::kRight},
                       {"p99", Align::kRight},
                       {"mean", Align::kRight},
                       {"= queue", Align::kRight},
                       {"+ compute", Align::kRight},
                       {"+ transfer", Align::kRight},
                       {"+ wait", Align::kRight}});
  const auto ms = [](double value) { return fmt::format("{:.1f}", value); };
  for (const RealPipelineRow& row : result.rows) {
    for (const auto& [side, simulated] : {std::pair(&row.real, false), std::pair(&row.simulated, true)}) {
      table.AddRow(
          {simulated ? "" : Quantity(row.load), simulated ? "simulated" : "real",
           simulated ? "" : std::to_string(row.requests), fmt::format("{:.2f} %", 100 * side->attainment),
           fmt::format("{:.1f}", side->on_time_per_s), simulated ? fmt::format("{:.1f} %", 100 * row.Difference()) : "",
           ms(side->p50_ms), ms(side->p99_ms), ms(side->mean_ms), ms(side->queued_ms), ms(side->computed_ms),
           ms(side->transferred_ms), ms(side->mean_ms - side->queued_ms - side->computed_ms - side->transferred_ms)});
    }
  }
  return table;
}

report::Table FaultRowsAsTable(const RealPipelineResult& result) {
  using report::Align;
  report::Table table({{"while"},
                       {"requests", Align::kRight},
                       {"no answer", Align::kRight},
                       {"reported lost", Align::kRight},
                       {"on time", Align::kRight},
                       {"recovered after s", Align::kRight}});
  for (const FaultRow& row : result.faults) {
    table.AddRow({row.fault, std::to_string(row.requests), std::to_string(row.unanswered),
                  std::to_string(row.worker_lost), fmt::format("{:.2f} %", 100 * row.attainment),
                  fmt::format("{:.2f}", row.recovered_s)});
  }
  return table;
}

std::string RealPipelineAsJson(const RealPipelineResult& result) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const RealPipelineRow& row : result.rows) {
    for (const auto& [side, simulated] : {std::pair(&row.real, false), std::pair(&row.simulated, true)}) {
      rows.push_back({{"load", row.load},
                      {"requests", row.requests},
                      {"attainment", side->attainment},
                      {"on_time_per_s", side->on_time_per_s},
                      {"p50_ms", side->p50_ms},
                      {"p99_ms", side->p99_ms},
                      {"simulated", simulated}});
    }
  }
  for (const FaultRow& row : result.faults) {
    rows.push_back({{"fault", row.fault},
                    {"requests", row.requests},
                    {"unanswered", row.unanswered},
                    {"worker_lost", row.worker_lost},
                    {"attainment", row.attainment},
                    {"recovered_s", row.recovered_s},
                    {"simulated", false}});
  }
  return rows.dump(1) + "\n";
}

}  // namespace wharf::cli
