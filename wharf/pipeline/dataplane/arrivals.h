// Arrivals: when requests come in a simulation. Deterministic: the same seed gives the same arrivals on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"

namespace wharf::pipeline {

struct Arrival {
  TimePoint at;
  int model = 0;
};

// Of Markov-modulated Poisson arrivals: bursts, exponential in length, with calmer times between; the mean is kept.
struct Burstiness {
  double peak = 1.5;          // rate in a burst, of the mean rate
  double share = 0.25;        // of the time is a burst
  double mean_seconds = 0.5;  // of a burst
};

// Recorded arrivals: a CSV table with the header `time_s` or `time_s,model`.
struct ArrivalTrace {
  std::vector<double> seconds;  // not negative, not decreasing, the last above 0
  std::vector<int> models;      // of each; empty: the table does not say
};

// kInvalidArgument, one line: no such table, or a model that is not in `models`.
absl::StatusOr<ArrivalTrace> ParseArrivalTrace(std::string_view csv, const std::vector<std::string>& models);

// Those of [0, seconds), by time. `rates`: requests/s of each model.
std::vector<Arrival> PoissonArrivals(const std::vector<double>& rates, double seconds, uint64_t seed);
// All models burst together. kInvalidArgument: a peak below 1 or one that leaves nothing for the calmer times.
absl::StatusOr<std::vector<Arrival>> BurstyArrivals(const std::vector<double>& rates, const Burstiness& bursts,
                                                    double seconds, uint64_t seed);
// The trace, over and over, faster or slower so that its mean rate is that of all `rates` together. Without models in
// it, each request is of one drawn by `rates`.
std::vector<Arrival> TraceArrivals(const ArrivalTrace& trace, const std::vector<double>& rates, double seconds,
                                   uint64_t seed);

}  // namespace wharf::pipeline
