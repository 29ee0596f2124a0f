// `wharf bench pipeline --real`: one plan served for real on this machine beside its own simulation, and what faults
// do to it.
#pragma once

#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/report/table.h"

namespace wharf::cli {

struct RealPipelineOptions {
  std::string model;  // an ONNX file
  std::vector<double> loads = {0.3, 0.5, 0.7, 0.85, 0.95};
  double seconds = 30;  // how long requests come, of each load and fault
  bool faults = false;
};

// One load, both ways.
struct RealPipelineRow {
  struct Side {
    double attainment = 0, on_time_per_s = 0, p50_ms = 0, p99_ms = 0;
    // Means of what was answered, as the scheduler has it; the rest of a latency was waiting between stages.
    double mean_ms = 0, queued_ms = 0, computed_ms = 0, transferred_ms = 0;
  };
  double load = 0;
  int requests = 0;
  Side real, simulated;

  // The larger of the differences in attainment and in requests on time, as a share of what was simulated.
  double Difference() const;
};

// Requests while something fails.
struct FaultRow {
  std::string fault;
  int requests = 0, unanswered = 0, worker_lost = 0;
  double attainment = 0;
  double recovered_s = 0;  // RecoveryTime
};

struct RealPipelineResult {
  std::string plan;  // in words
  std::vector<RealPipelineRow> rows;
  std::vector<FaultRow> faults;
};

// How a request that was sent at `sent_s` ended; times are 0 if it was not answered.
struct SentRequest {
  double sent_s = 0;
  bool on_time = false, answered = false;
  double latency_ms = 0, queued_ms = 0, computed_ms = 0, transferred_ms = 0;
};
// From the fault until nine in ten of the requests of every second that begins later are on time; 0 if they always
// are. `requests` by sent_s.
double RecoveryTime(const std::vector<SentRequest>& requests, double fault_s);

// Starts etcd, workers, the scheduler and load on loopback, all ended when it returns. kNotFound: etcd is not
// installed; otherwise as the commands fail that it runs.
absl::StatusOr<RealPipelineResult> RunRealPipeline(const RealPipelineOptions& options);

report::Table RealRowsAsTable(const RealPipelineResult& result);
report::Table FaultRowsAsTable(const RealPipelineResult& result);
std::string RealPipelineAsJson(const RealPipelineResult& result);

}  // namespace wharf::cli
