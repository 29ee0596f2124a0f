// What the baselines have chosen offline, by trying it on the very workload (thesis 3.6.3).
#pragma once

#include "wharf/serving/emulation.h"

namespace wharf::serving {

struct PilotOptions {
  double seconds = 60;       // of each try
  int most_interval = 12;    // tried from 1 on
  double least_seconds = 5;  // that a client must have been served to count
};

// Whether every client that counts lost no more than its SLA allows.
bool AllWithinSla(const EmulationResult& result, double least_frames);

// Static: of all intervals and batch sizes, those with which the most clients can be served, each within its SLA on
// average. `workload.system` is ignored. 0 clients: not one can be.
ReactiveOptions::Fixed FindStatic(const std::vector<DropTable>& tables, const InferenceProfile& profile,
                                  EmulationOptions workload, const PilotOptions& pilot);
// Clipper-like: the interval with which the most clients are served, each within its SLA; if some never are, that with
// which the fewest are not.
int FindClipperInterval(const std::vector<DropTable>& tables, const InferenceProfile& profile,
                        EmulationOptions workload, const PilotOptions& pilot);

}  // namespace wharf::serving
