// How plans are shown: as a Gantt chart.
#pragma once

#include <string>
#include <vector>

#include "wharf/split/timeline.h"

namespace wharf::cli {

// A plan's timeline, as a picture (SVG): device, uplink, server and downlink over time.
std::string TimelineAsSvg(const split::Profile& profile, const split::RowGraph& graph, const std::string& title,
                          const split::Outcome& outcome, const std::vector<split::Event>& events);

}  // namespace wharf::cli
