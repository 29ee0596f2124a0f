// The arithmetic of `wharf bench offload`: what one inference cost, from two runs of the program; the energy model; the
// rows and how they are shown. No clock, no process: see bench_offload_run.h for those.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"

namespace wharf::cli {

// What one run of the program left behind.
struct ProgramRun {
  std::vector<double> latencies_ms;  // of each inference, first to last; the program's own
  uint64_t calls = 0, blocking_round_trips = 0, bytes_up = 0, bytes_down = 0, device_busy_ns = 0;
};

// Reads the program's `--json` file ("latency_ms") and the counters of WHARF_STATS. kDataLoss if either is not that.
absl::StatusOr<ProgramRun> ParseRun(const std::string& program_json, const std::string& counters_json);

// A link to measure over.
struct Scenario {
  std::string name;
  double mean_bits_per_second = 0;  // 0: no link
  Nanoseconds round_trip{0};
};

// Power states of the device, watts (measured on a Jetson Xavier NX; RRTO, table II).
struct PowerStates {
  double inference = 13.35, communication = 4.25, standby = 4.04;
};

struct BenchRow {
  std::string program, mode, scenario;
  int inferences = 0;
  double latency_ms_median = 0, latency_ms_p95 = 0;
  double calls = 0, blocking_round_trips = 0, bytes_up = 0, bytes_down = 0;  // per inference
  double device_busy_fraction = 0;
  double energy_j_modelled = 0;
  // What the link alone takes for these bytes and one round trip; 0 without a link. Not in the JSON.
  double link_limit_ms = 0;
};

// One row from a run of `warm_up` inferences and one of `warm_up` + N: what the N cost is the difference, so that
// loading, warming up and ending do not count. kFailedPrecondition if the runs do not have these lengths.
absl::StatusOr<BenchRow> MakeRow(const ProgramRun& short_run, const ProgramRun& long_run, int warm_up,
                                 const Scenario& scenario);

// Joules of one inference of `latency_ms`. Without a link the device computes all the while. With one it communicates
// for as long as its round trips and bytes take on that link, at most all the while, and stands by for the rest.
double ModelEnergy(double latency_ms, double round_trips, double bytes, const Scenario& scenario,
                   const PowerStates& states = {});

// A flat array of rows.
std::string RowsAsJson(const std::vector<BenchRow>& rows);
enum class TableStyle { kText, kMarkdown };
std::string RowsAsTable(const std::vector<BenchRow>& rows, TableStyle style);
// Latency by scenario and mode.
std::string RowsAsChart(const std::vector<BenchRow>& rows);

}  // namespace wharf::cli
