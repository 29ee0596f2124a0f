// Objective: what a plan is to be best at.
#pragma once

#include <limits>

#include "wharf/split/timeline.h"

namespace wharf::split {

struct Objective {
  bool energy = false;  // the device's joules among plans that meet the deadline, instead of latency
  double deadline_ms = std::numeric_limits<double>::infinity();

  static Objective Latency() { return {}; }
  static Objective Energy(double deadline_ms) { return {true, deadline_ms}; }
  // What to minimise. Of plans equally fast, the one that takes less energy. Missing the deadline is worse than
  // anything that meets it; then the latest is the worst.
  double Score(const Outcome& outcome) const;
};

}  // namespace wharf::split
