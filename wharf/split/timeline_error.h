// What happened in an inference beside what its plan said would.
#pragma once

#include <array>
#include <span>

#include "wharf/split/timeline.h"

namespace wharf::split {

struct TimelineError {
  std::array<double, 4> planned_ms{}, measured_ms{};  // busy, by Resource
  double planned_end_ms = 0, measured_end_ms = 0;     // of the last event
  // Messages: of those of the plan that were sent, how far the ends of sending lie apart.
  int messages = 0;
  double message_ms_mean = 0, message_ms_worst = 0;
  int unmatched = 0;  // planned and not sent, or sent and not planned
};

// Messages are matched by resource and operator (what an operator sends in one direction is one message, however many
// frames it took); what is computed is compared resource by resource, because several operators may be computed in one
// go. Events that never end are left out. O(n log n).
TimelineError CompareTimelines(std::span<const Event> planned, std::span<const Event> measured);

}  // namespace wharf::split
