// LatencyProfile: how long a network takes for each size of batch on one machine, measured, and kept as JSON for what
// schedules batches without running them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"

namespace wharf::perception {

struct BatchLatency {
  int batch = 1;
  double ms = 0;  // of the whole batch
  friend bool operator==(const BatchLatency&, const BatchLatency&) = default;
};

struct LatencyProfile {
  std::string network, machine;  // "depth"; "AMD EPYC 7B13, LibTorch 1.13.0, 1 thread"
  std::vector<BatchLatency> batches;
  friend bool operator==(const LatencyProfile&, const LatencyProfile&) = default;
};

struct LatencyOptions {
  std::vector<int> batches = {1, 2, 4, 8};
  int rounds = 9;  // of which the median counts, after one that does not
};
// `run` runs a batch of that many images. The sizes take turns, so that a slower minute of the machine is every size's.
// Fails as `run` does; kInvalidArgument: no batches, or rounds < 1.
absl::StatusOr<std::vector<BatchLatency>> MeasureLatency(const std::function<absl::Status(int batch)>& run,
                                                         const LatencyOptions& options, const Clock& clock);

std::string ToJson(const LatencyProfile& profile);
// What ToJson writes. kInvalidArgument: it is something else, has no batches, or these do not grow from one to the
// next.
absl::StatusOr<LatencyProfile> ParseLatencyProfile(std::string_view json);

}  // namespace wharf::perception
