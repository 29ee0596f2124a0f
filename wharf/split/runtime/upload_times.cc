#include "wharf/split/runtime/upload_times.h"

#include <algorithm>

namespace wharf::split {
namespace {

constexpr double kLongestMs = 3600e3;  // the peer may say anything

}  // namespace

UploadTimes TimeUploads(std::span<const Event> recorded, std::span<const Arrival> arrivals, double begun_ms) {
  UploadTimes times;
  double free_ms = 0, busy_ms = 0;
  bool clock_is_late = false;
  for (Event event : recorded) {
    if (event.resource != Resource::kUplink || times.sent.size() == arrivals.size()) continue;
    const Arrival& arrival = arrivals[times.sent.size()];
    const double ended_ms = std::min(static_cast<double>(arrival.end_nanoseconds) / 1e6, kLongestMs);
    const double reading_ms = ended_ms - static_cast<double>(arrival.start_nanoseconds) / 1e6;
    const double came_ms = begun_ms + ended_ms;
    clock_is_late = clock_is_late || came_ms <= event.start_ms;
    event.start_ms = std::max(event.start_ms, free_ms);
    event.end_ms = std::max(event.start_ms, came_ms);
    free_ms = event.end_ms;
    busy_ms += std::max(event.end_ms - event.start_ms, reading_ms);
    times.bytes += event.bytes;
    times.sent.push_back(event);
  }
  if (!clock_is_late && busy_ms > 0) times.busy_ms = busy_ms;
  return times;
}

}  // namespace wharf::split
