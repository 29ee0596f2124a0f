// What `wharf bench split` shows: rows of measured or simulated inferences as JSON, tables and plots.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/report/html_page.h"
#include "wharf/report/table.h"
#include "wharf/split/simulation/simulate.h"

namespace wharf::cli {

// What only real processes have.
struct MeasuredSplit {
  double slow_down = 1;               // how many times as long the device was made to take
  double planned_ms_mean = 0;         // of the plans, at the rates they were chosen for
  double message_error_ms_mean = 0;   // how far messages were from where they were planned
  double largest_share_of_bound = 0;  // of the latest inference
  int finished_alone = 0;             // by the device, when the link had failed
  std::optional<double> energy_j;     // an inference, where the machine has a sensor
};

// Behind the name of a system that knows the rates to come (split::KnownRates).
inline constexpr std::string_view kKnowingRates = "+known-rates";

struct SplitBenchRow : split::SimulatedRow {
  std::optional<MeasuredSplit> measured;  // else simulated
};

// A flat object each.
std::string SplitRowsAsJson(const std::vector<SplitBenchRow>& rows);
// All latencies; rules between models and scenarios.
report::Table SplitRowsAsTable(const std::vector<SplitBenchRow>& rows);
// What the time goes to, and what that takes: phases, the device's power, its energy.
report::Table SplitPhasesAsTable(const std::vector<SplitBenchRow>& rows);
// intra-dp beside the best of the others, by model, scenario and encoding.
report::Table SplitGainsAsTable(const std::vector<SplitBenchRow>& rows);
// Of each system with and without knowing rates: what predicting them loses, and planning at most, as shares of the
// mean without.
report::Table SplitLossesAsTable(const std::vector<SplitBenchRow>& rows);
// Of each model and encoding, the mean latencies in all scenarios, in the rows' order.
void AddSplitCharts(const std::vector<SplitBenchRow>& rows, report::HtmlPage& page);

}  // namespace wharf::cli
