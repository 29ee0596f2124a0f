#include "wharf/cli/split/gantt.h"

#include <algorithm>
#include <cmath>

#include "wharf/report/gantt_chart.h"

namespace wharf::cli {
namespace {

constexpr const char* kComputes[] = {"device computes", "sent to the server", "server computes", "sent to the device"};

}  // namespace

std::string TimelineAsSvg(const split::Profile& profile, const split::RowGraph& graph, const std::string& title,
                          const split::Outcome& outcome, const std::vector<split::Event>& events) {
  report::GanttChart chart{title, "ms", 0, outcome.latency_ms, {"device", "uplink", "server", "downlink"}, {}};
  for (const split::Event& event : events) chart.to = std::max(chart.to, event.end_ms);
  if (!(chart.to > 0) || !std::isfinite(chart.to)) chart.to = 1;
  for (const split::Event& event : events) {
    const bool computes = event.resource == split::Resource::kDevice || event.resource == split::Resource::kServer;
    const int op = graph.Operator(event.op);
    const std::string& name = profile.operators[op].op.name;
    const std::string what = computes ? fmt::format("rows {}-{}", event.rows.lo, event.rows.hi - 1)
                                      : fmt::format("{:.1f} kB", event.bytes / 1e3);
    const auto lane = static_cast<size_t>(event.resource);
    chart.bars.push_back({lane, event.start_ms, event.end_ms, kComputes[lane], name,
                          fmt::format("{} {}: {}, {:.2f} to {:.2f} ms", op, name, what, event.start_ms, event.end_ms)});
  }
  return chart.Svg();
}

}  // namespace wharf::cli
