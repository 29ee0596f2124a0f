// Emulation: hundreds of clients and one server in one process (thesis 3.6.1). Sessions begin as a Poisson process,
// each replays a video drawn at random, from its beginning to its end; the server takes as many as it can, and another
// one, without limits, has the rest. The scheduler is the one that serves for real, on a virtual clock or on a real
// one; its engine takes the profile's times, more or less.
#pragma once

#include <vector>

#include "wharf/serving/batch_engine.h"
#include "wharf/serving/emulation/emulated_client.h"
#include "wharf/serving/system.h"

namespace wharf::serving {

struct EmulationOptions {
  SystemOptions system;
  double seconds = 600;
  double warm_up_s = 10;  // left out of everything but the clients' accounts
  uint64_t seed = 1;
  LinkKind link = kMmWave;
  double arrivals_per_s = 10;
  double sla_from = 0.02, sla_to = 0.02;  // of each session, uniform
  Measure measure = Measure::kNetwork;    // of drops
  // What clients take drops to grow like where the server keeps account of them, and where it does not; those of
  // System::kPublishedRateArise, in proportion.
  track::DropCurve curve = track::kDepthCurve, cautious_curve = track::kCautiousDepthCurve;
  // Inference takes the profile's time with this standard deviation over mean, normally distributed, at least half.
  double inference_cv = 0.02;
  // This share of the sessions behaves so, the others honestly.
  Behaviour behaviour = Behaviour::kHonest;
  double misbehaving = 0;
};

struct ClientOutcome {
  size_t table = 0;  // its video
  double sla = 0;
  bool honest = true;
  Account account;
};

// Every 100 ms.
struct Sample {
  double clients = 0, drop_rate = 0;  // the latter: mean of the clients'
  double offloads = 0, batches = 0;   // done since the sample before
  // Of an engine that is never idle and whose batches are always of the best size and never waited for: the share that
  // those clients would need.
  double least_share = 0;
};

struct EmulationResult {
  std::vector<Sample> samples;         // after warming up
  std::vector<ClientOutcome> clients;  // that were served, however briefly, in the order of leaving
  std::vector<float> late_ms;          // of batches that were planned: begun after (before: negative) the latest start
  std::vector<float> round_ms;         // CPU time of each of the scheduler's rounds
  std::vector<float> stretch;          // of each batch: how long it took, by the profile's time
  double busy_s = 0;                   // of the engine
  double measured_s = 0;               // without warming up
  SchedulerStats stats;

  double MeanClients() const;
  // Of them, in the time of those whose mean drop while they were served is within their SLAs.
  double MeanClientsWithin() const;
  double ClientsDeviation() const;  // standard deviation over time
  double MeanBatch() const;
  double MeanInterval(double fps) const;  // frames between a client's offloads
  // As many such clients as an engine like that could serve: no scheduler can serve more of them.
  double Bound() const;
  double IdleShare() const { return measured_s > 0 ? 1 - busy_s / measured_s : 0; }
};

// Deterministic, but for round_ms. REQUIRES: tables, of 2 s or more each, and a rate of arrivals.
EmulationResult Emulate(const std::vector<DropTable>& tables, const InferenceProfile& profile,
                        const EmulationOptions& options);
// The same, taking as long as it says.
EmulationResult EmulateInRealTime(const std::vector<DropTable>& tables, const InferenceProfile& profile,
                                  const EmulationOptions& options, Clock& clock);
// The same, with all batches computed by `engine`, which does nothing else meanwhile and goes by that clock. Fails as
// it does.
absl::StatusOr<EmulationResult> EmulateOnEngine(const std::vector<DropTable>& tables, const InferenceProfile& profile,
                                                const EmulationOptions& options, const Clock& clock,
                                                BatchEngine& engine);

}  // namespace wharf::serving
