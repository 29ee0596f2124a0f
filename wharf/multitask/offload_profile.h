// OffloadProfile: what an offload of each task takes from the camera's frame to the result in the client, and what its
// accuracy model takes. Schedulers plan by it; in virtual time it is what offloads take.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "wharf/base/clock.h"

namespace wharf::multitask {

struct TaskLatency {
  std::string task;       // its name
  double offload_ms = 0;  // end to end
  double model_ms = 0;    // of the tracker's accuracy model
};

struct OffloadProfile {
  std::string name;
  std::string source;  // where the figures come from, for whoever reads a table made with them
  std::vector<TaskLatency> tasks;

  const TaskLatency* Find(std::string_view task) const;
};

// "thesis": 802.11ac and an RTX 2080 Ti, as measured there (Figure 2.14, section 2.8.3). "thesis-5g" and "thesis-a40":
// derived from what 2.8.6 says of the other two configurations of Table 2.5. kNotFound for another name, listing these.
absl::StatusOr<OffloadProfile> NamedProfile(std::string_view name);
std::vector<std::string> ProfileNames();

// In whole frames, as what comes in between two frames serves the later; at least 1.
int LatencyFrames(double ms, double frames_per_s);

}  // namespace wharf::multitask
