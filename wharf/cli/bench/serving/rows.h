// What `wharf bench serving` measures: many emulated clients on one server, by SLA setting and system.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "wharf/report/statistics.h"
#include "wharf/serving/emulation/pilot_search.h"

namespace wharf::cli {

struct ServingCase {
  std::string figure;          // of the thesis
  std::string task = "depth";  // or "detection"
  std::string videos = "all";  // or "hard", "easy": the half with the higher, the lower drop rates
  serving::LinkKind link = serving::kMmWave;
  double sla_from = 0.02, sla_to = 0.02;
  std::vector<serving::System> systems{};
  std::string Sla() const;  // "0.02", "0.02-0.06"
};

struct ServingBenchOptions {
  double seconds = 600, pilot_seconds = 120, arrivals_per_s = 10;
  int seeds = 3;  // of each case and system: 1, 2, …; pilots have the first
  serving::Measure measure = serving::Measure::kNetwork;
  double adherence = 0;  // not 0: what the pilots are to find (serving::PilotOptions)
  bool real = false;     // by the real clock
  // Computes the batches, by the real clock; null: their times are emulated. Must outlive the run.
  serving::BatchEngine* engine = nullptr;
};

// Over all seeds of a row.
struct ServingTotals {
  double client_hours = 0;          // in which clients were served, for however short a time each
  double hours_above = 0;           // of them, those of clients above their SLAs
  int64_t clients = 0, above = 0;   // that count: all, and those above their SLAs
  double worst_excess = -INFINITY;  // of those that count: mean drop over SLA
};

struct ServingRow {
  ServingCase setting;
  serving::System system = serving::System::kArise;
  std::string chosen;  // offline: "16 clients, interval 3, batches of 5"
  std::string profile;
  std::vector<double> profile_ms;  // of batches of 1, 2, …
  serving::Measure measure = serving::Measure::kNetwork;
  double adherence = 0;   // that pilots looked for
  bool real = false;      // the clock
  bool computed = false;  // by an engine; otherwise the engine's times are emulated
  std::vector<uint64_t> seeds;
  std::map<std::string, report::MeanAndSpread> metrics;
  ServingTotals totals;
  serving::EmulationResult first;  // of the first seed
};

// A row for each of the case's systems, which take turns: seed by seed. `progress` hears what is run. Fails as the
// engine does.
absl::StatusOr<std::vector<ServingRow>> RunServingCase(const ServingCase& setting,
                                                       const std::vector<serving::DropTable>& tables,
                                                       const serving::InferenceProfile& profile,
                                                       const ServingBenchOptions& options,
                                                       const std::function<void(const std::string&)>& progress);

// What one run says, by name; shares are of 1. Clients count where they were served for 5 s or more.
//   clients, clients_within (of them, in the time of those whose mean drop is within their SLAs), clients_over_time
//   (standard deviation), batch, interval (frames), idle
//   bound (clients like those served that an engine never idle or waited for could serve)
//   drop (mean over frames, from the reference, as SLAs measure it), true_drop (against the truth), drop_rate (mean of
//   those served)
//   within_sla (share of the clients), worst_excess (of a client's mean drop over its SLA)
//   client_drop_p5, _p50, _p95, _p100 (over clients: mean drop while they were served)
//   estimate_error_p10, _p50, _p90 (over videos: as the next two)
//   estimate_error_low, estimate_error_high (over videos: estimated less true mean drop)
//   late_batches, start_p1_ms, start_p50_ms, start_p99_ms (begun after the planned latest start; planned systems only)
//   late_1ms (of the same, those begun more than 1 ms after: what is less by a real clock is the machine's waking up)
//   stretch, stretch_p99 (a batch's time by the profile's)
//   arrival_error_ms, arrival_deviation_ms (of frames, from when they were expected; planned systems only)
//   round_ms, round_p99_ms, admitted, evicted (per s)
std::map<std::string, double> ServingMetrics(const serving::EmulationResult& result, double fps);

// Adds one run.
void AddToTotals(const serving::EmulationResult& result, double fps, ServingTotals& totals);

// Of the clients that count, their mean drops; of the videos, their estimated less true mean drops. Both rise.
std::vector<double> ClientDrops(const serving::EmulationResult& result, double fps);
std::vector<double> EstimateErrors(const serving::EmulationResult& result);

// The half of the tables with the higher or the lower mean drop rate; the order is kept.
std::vector<serving::DropTable> HalfByDropRate(const std::vector<serving::DropTable>& tables, bool higher);

// nullptr if there is none.
const ServingRow* FindServingRow(const std::vector<ServingRow>& rows, const ServingRow& like, serving::System system);

// An array of flat objects: "clients" and "clients_spread" for each metric.
std::string ServingRowsAsJson(const std::vector<ServingRow>& rows);

}  // namespace wharf::cli
