#include "wharf/split/timeline_error.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace wharf::split {
namespace {

using MessageEnds = std::map<std::pair<Resource, int>, double>;

// Sums up one side; the ends of its messages.
MessageEnds Tally(std::span<const Event> events, std::array<double, 4>& busy_ms, double& end_ms) {
  MessageEnds ends;
  for (const Event& event : events) {
    if (!std::isfinite(event.end_ms)) continue;
    busy_ms[static_cast<size_t>(event.resource)] += event.end_ms - event.start_ms;
    end_ms = std::max(end_ms, event.end_ms);
    if (event.resource == Resource::kDevice || event.resource == Resource::kServer) continue;
    double& end = ends[{event.resource, event.op}];
    end = std::max(end, event.end_ms);
  }
  return ends;
}

}  // namespace

TimelineError CompareTimelines(std::span<const Event> planned, std::span<const Event> measured) {
  TimelineError error;
  const MessageEnds should = Tally(planned, error.planned_ms, error.planned_end_ms);
  const MessageEnds did = Tally(measured, error.measured_ms, error.measured_end_ms);
  for (const auto& [message, end_ms] : should) {
    const auto found = did.find(message);
    if (found == did.end()) continue;
    const double apart = std::abs(found->second - end_ms);
    ++error.messages;
    error.message_ms_mean += apart;
    error.message_ms_worst = std::max(error.message_ms_worst, apart);
  }
  if (error.messages > 0) error.message_ms_mean /= error.messages;
  error.unmatched = static_cast<int>(should.size() + did.size()) - 2 * error.messages;
  return error;
}

}  // namespace wharf::split
