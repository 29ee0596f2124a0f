// The arithmetic of `wharf bench offload`: the modes, what one inference cost, from two runs of the program, and the
// energy model. No clock, no process: bench_offload_run.h has those; bench_offload_report.h shows the rows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"

namespace wharf::cli {

// What replay knew of a run's operations for the server.
struct Prediction {
  uint64_t predicted = 0, sent_whole = 0;
};

// What one run of the program left behind.
struct ProgramRun {
  std::vector<double> latencies_ms;  // of each inference, first to last; the program's own
  uint64_t calls = 0, blocking_round_trips = 0, bytes_up = 0, bytes_down = 0, device_busy_ns = 0;
  std::map<std::string, uint64_t> per_function;  // calls
  bool replays = false;                          // a replaying mode
  Prediction prediction;
};

// Reads the program's `--json` file ("latency_ms") and the counters of WHARF_STATS. kDataLoss if either is not that.
absl::StatusOr<ProgramRun> ParseRun(const std::string& program_json, const std::string& counters_json);

// A way to run the program.
struct BenchMode {
  enum class Way { kNoLink, kLink, kByHand };
  std::string name;
  Way way = Way::kLink;
  std::vector<std::string> options;  // of `wharf run`
  int warm_up = 0;                   // inferences before those that count
  int most = 0;                      // measured inferences: fewer in the slow modes; 0: as many as wanted
};

// In the order in which they are measured: native beside replay, because they are compared.
const std::vector<BenchMode>& BenchModes();
// "local" is device_only. kNotFound.
absl::StatusOr<BenchMode> FindBenchMode(const std::string& name);

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
  // Of the measured inferences: "replaying" if most operations were predicted, "recording" if not; "none" in other
  // modes and without a link.
  std::string phase = "none";
  int programs = 1;  // at once: what follows is of each
  int inferences = 0;
  double latency_ms_median = 0, latency_ms_p95 = 0;
  double calls = 0, blocking_round_trips = 0, bytes_up = 0, bytes_down = 0;  // per inference
  double device_busy_fraction = 0;
  double energy_j_modelled = 0, power_w_modelled = 0;  // of the device: of an inference; over all the time
  // Not in the JSON, from here on. What the link alone takes for these bytes and one round trip; 0 without a link.
  double link_limit_ms = 0;
  // The median beside the same scenario's when offloaded by hand; 0 if that was not measured.
  double times_native = 0;
  // Of the operations that reach the server, in the measured inferences; 0 in modes that predict nothing.
  double predicted_fraction = 0;
  std::vector<double> latencies_ms;  // of every inference of the first round, the warm-up included
};

// A run of the warm-up alone and one that goes on: what its further inferences cost is the difference, so that loading,
// warming up and ending do not count.
struct MeasuredRound {
  ProgramRun warm, all;
};
// One row from all rounds together. kFailedPrecondition if there are none, or if a round's runs do not have `warm_up`
// inferences and more. REQUIRES: all rounds are of one mode and one link.
absl::StatusOr<BenchRow> MakeRow(const std::vector<MeasuredRound>& rounds, int warm_up, const Scenario& scenario);

// Fills times_native of every row whose scenario has a row of mode "native".
void CompareWithNative(std::vector<BenchRow>& rows);

// Calls by function in the stages of a program's life (RRTO, table III).
struct CallStages {
  std::map<std::string, double> load, first, loop;  // loop: per inference
};
// From runs of 0 and 1 inferences, of a warm-up and of more. Ending counts as loading, because every run ends.
CallStages StagesOfCalls(const ProgramRun& none, const ProgramRun& one, const ProgramRun& warm, const ProgramRun& all);

// Joules of one inference of `latency_ms`. Without a link the device computes all the while. With one it communicates
// for as long as its round trips and bytes take on that link, at most all the while, and stands by for the rest.
double ModelEnergy(double latency_ms, double round_trips, double bytes, const Scenario& scenario,
                   const PowerStates& states = {});

}  // namespace wharf::cli
