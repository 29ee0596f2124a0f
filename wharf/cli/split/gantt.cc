#include "wharf/cli/split/gantt.h"

#include <algorithm>
#include <cmath>

#include "wharf/report/markup.h"

namespace wharf::cli {
namespace {

constexpr double kLeft = 80, kWidth = 900, kTop = 56, kLane = 40, kGap = 14;
constexpr const char* kLanes[] = {"device", "uplink", "server", "downlink"};
constexpr const char* kColours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7"};

double LaneTop(int lane) { return kTop + lane * (kLane + kGap); }

// A round step that gives about ten ticks.
double TickStep(double total) {
  const double rough = total / 10, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

std::string Axis(double total_ms) {
  std::string text;
  const double bottom = LaneTop(4) - kGap + 4;
  for (double tick = 0; tick <= total_ms * (1 + 1e-9); tick += TickStep(total_ms)) {
    const double x = kLeft + kWidth * tick / total_ms;
    text += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#ddd\"/>"
        "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\" fill=\"#555\">{4:g}</text>\n",
        x, kTop - 4, bottom, bottom + 16, tick);
  }
  return text + fmt::format("<text x=\"{}\" y=\"{}\" fill=\"#555\">ms</text>\n", kLeft + kWidth + 10, bottom + 16);
}

}  // namespace

std::string TimelineAsSvg(const split::Profile& profile, const split::RowGraph& graph, const std::string& title,
                          const split::Outcome& outcome, const std::vector<split::Event>& events) {
  double total_ms = outcome.latency_ms;
  for (const split::Event& event : events) total_ms = std::max(total_ms, event.end_ms);
  if (!(total_ms > 0) || !std::isfinite(total_ms)) total_ms = 1;
  std::string body = Axis(total_ms);
  for (int lane = 0; lane < 4; ++lane) {
    body += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kLeft - 8, LaneTop(lane) + 25,
                        kLanes[lane]);
  }
  for (const split::Event& event : events) {
    if (!std::isfinite(event.end_ms)) continue;
    const int lane = static_cast<int>(event.lane);
    const bool computes = event.lane == split::Lane::kDevice || event.lane == split::Lane::kServer;
    const int op = graph.Operator(event.op);
    const std::string what = computes ? fmt::format("rows {}-{}", event.rows.lo, event.rows.hi - 1)
                                      : fmt::format("{:.1f} KB", event.bytes / 1e3);
    body += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\" stroke=\"white\" stroke-width=\"0.3\">"
        "<title>{} {}: {}, {:.2f} to {:.2f} ms</title></rect>\n",
        kLeft + kWidth * event.start_ms / total_ms, LaneTop(lane),
        std::max(0.3, kWidth * (event.end_ms - event.start_ms) / total_ms), kLane, kColours[lane], op,
        report::EscapeMarkup(profile.operators[op].op.name), what, event.start_ms, event.end_ms);
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"24\" font-size=\"15\" font-weight=\"bold\">{3}</text>\n{4}</svg>\n",
      kLeft + kWidth + 50, LaneTop(4) + 30, kLeft, report::EscapeMarkup(title), body);
}

}  // namespace wharf::cli
