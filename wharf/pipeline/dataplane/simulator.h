// Simulator: a scheduler on a virtual clock, with virtual GPUs that take the plan's times, more or less, and hosts
// whose links are shared. The scheduler is the one that serves for real (scheduler.h); only clock and workers are
// others.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "wharf/pipeline/dataplane/arrivals.h"
#include "wharf/pipeline/dataplane/scheduler.h"

namespace wharf::pipeline {

enum class VariationKind { kLognormal, kGaussian };
// Of what computations and transfers take: each is multiplied by a random factor of mean 1.
struct Variation {
  VariationKind kind = VariationKind::kLognormal;
  double compute_cv = 0, transfer_cv = 0;  // standard deviation over mean; a Gaussian factor is at least 0.1
};

// A virtual GPU is lost at `from` and back at `until`.
struct Outage {
  int vgpu = 0;
  TimePoint from, until;
};

struct SimulationOptions {
  SchedulerKind scheduler = SchedulerKind::kReserving;
  SchedulerOptions scheduling;
  Variation variation;
  std::vector<Outage> outages;  // not two of one virtual GPU at a time
  uint64_t seed = 1;            // of the variation
  double seconds = 0;           // utilisation is measured over [0, seconds)
  bool keep_records = false, keep_timeline = false;
};

// What kept a resource busy.
struct BusySpan {
  bool transfer = false;
  int pipeline = 0, stage = 0, requests = 0;
  int vgpu = 0, from_vgpu = -1;  // where it was computed, or moved to and from
  TimePoint start, end;
};

struct ModelResult {
  uint64_t requests = 0;
  std::array<uint64_t, kFates> fates{};  // by Fate; they add up to `requests`
  // Of those that were answered: milliseconds.
  double mean_ms = 0, p50_ms = 0, p99_ms = 0;
  double queued_ms = 0, computed_ms = 0, transferred_ms = 0, waited_ms = 0;  // means; they add up to mean_ms

  uint64_t Of(Fate fate) const { return fates[static_cast<size_t>(fate)]; }
  // The share that was answered on time; 1 if nothing was asked.
  double Attainment() const {
    return requests == 0 ? 1 : static_cast<double>(Of(Fate::kOnTime)) / static_cast<double>(requests);
  }
};

struct PipelineResult {
  uint64_t requests = 0;  // answered through it
  double mean_batch = 0;  // that such a request was in
};

struct SimulationResult {
  std::vector<ModelResult> models;
  std::vector<PipelineResult> pipelines;
  std::vector<double> utilisation;     // of each class: of all its GPUs' time, used by the plan or not
  std::vector<RequestRecord> records;  // if kept, in the order of ending
  std::vector<BusySpan> timeline;      // if kept, in the order of ending

  double Attainment() const;  // of all requests
};

// Serves `arrivals` (by time) until the last request has ended. Deterministic.
SimulationResult Simulate(const Deployment& deployment, const std::vector<Arrival>& arrivals,
                          const SimulationOptions& options);

}  // namespace wharf::pipeline
