#include "wharf/report/gantt_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "wharf/report/markup.h"
#include "wharf/report/scale.h"

namespace wharf::report {
namespace {

constexpr double kSize = 1240, kRight = 40, kGap = 10, kThin = 5, kFont = 14, kSmall = 12, kLine = 20;
constexpr double kLeastLane = 26, kMostLane = 190;  // high
constexpr size_t kListed = 12;                      // names without room

// Where lanes lie. A lane is as high as the longest name that has to be written up a bar of its, within limits.
struct Layout {
  double left = 0, width = 0;
  std::vector<double> tops, heights;
  double bottom = 0;
};

double WidthOf(const GanttChart& chart, const GanttBar& bar, double width) {
  const double start = std::max(bar.start, chart.from), end = std::min(bar.end, chart.to);
  return width * (end - start) / (chart.to - chart.from);
}

bool FitsAlong(const GanttBar& bar, double width) { return kSmall * TextWidth(bar.name) + 6 <= width; }
bool FitsUp(const GanttBar& bar, double width, double height) {
  return width >= kSmall + 2 && kSmall * TextWidth(bar.name) + 6 <= height;
}

Layout LayoutOf(const GanttChart& chart, double top) {
  Layout layout;
  double labels = 0;
  for (const std::string& lane : chart.lanes) labels = std::max(labels, TextWidth(lane));
  layout.left = kFont * labels + 20;
  layout.width = kSize - layout.left - kRight;
  layout.heights.assign(chart.lanes.size(), kLeastLane);
  for (const GanttBar& bar : chart.bars) {
    const double width = WidthOf(chart, bar, layout.width);
    if (bar.thin || bar.name.empty() || FitsAlong(bar, width) || !FitsUp(bar, width, kMostLane)) continue;
    double& height = layout.heights[bar.lane];
    height = std::max(height, kSmall * TextWidth(bar.name) + 8);
  }
  double y = top;
  for (const double height : layout.heights) {
    layout.tops.push_back(y);
    y += height + kGap;
  }
  layout.bottom = y;
  return layout;
}

std::string Axis(const GanttChart& chart, const Layout& layout, double top) {
  std::string text;
  const double step = RoundStep(chart.to - chart.from, 10);
  for (double tick = step * std::ceil(chart.from / step - 1e-9); tick <= chart.to + step * 1e-9; tick += step) {
    const double x = layout.left + layout.width * (tick - chart.from) / (chart.to - chart.from);
    text += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1:.0f}\" x2=\"{0:.1f}\" y2=\"{2:.0f}\" stroke=\"#dddddd\"/>"
        "<text x=\"{0:.1f}\" y=\"{3:.0f}\" text-anchor=\"middle\">{4}</text>\n",
        x, top - 4, layout.bottom, layout.bottom + 16, ChartNumber(std::abs(tick) < step / 1e6 ? 0 : tick));
  }
  return text + fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n",
                            layout.left + layout.width / 2, layout.bottom + 36, EscapeMarkup(chart.unit));
}

std::string NameIn(const GanttBar& bar, double x, double y, double width, double height) {
  if (bar.thin || bar.name.empty()) return "";
  const char* style = "font-size=\"12\" fill=\"white\" text-anchor=\"middle\" pointer-events=\"none\"";
  const std::string name = EscapeMarkup(bar.name);
  const double middle = x + width / 2, centre = y + height / 2;
  if (FitsAlong(bar, width))
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", middle, centre + 4, style, name);
  if (!FitsUp(bar, width, height)) return "";
  return fmt::format("<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" {}>{}</text>\n", middle + 4, centre,
                     style, name);
}

// The names that are nowhere in the picture, those of the longest bars.
std::string NamesWithoutRoom(std::vector<const GanttBar*> bars) {
  std::stable_sort(bars.begin(), bars.end(),
                   [](const GanttBar* a, const GanttBar* b) { return a->end - a->start > b->end - b->start; });
  std::string text;
  for (size_t i = 0; i < std::min(bars.size(), kListed); ++i) text += (i > 0 ? "; " : "") + bars[i]->detail;
  if (bars.size() > kListed) text += fmt::format("; and {} shorter ones", bars.size() - kListed);
  return text;
}

}  // namespace

std::string GanttChart::Svg() const {
  double top = 0;
  std::string body = ChartTitle(title, kSize, top);
  const Layout layout = LayoutOf(*this, top);
  body += Axis(*this, layout, top);
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    body += fmt::format("<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", layout.left - 8,
                        layout.tops[lane] + layout.heights[lane] / 2 + 5, EscapeMarkup(lanes[lane]));
  }
  Palette palette;
  std::vector<std::string> kinds;
  std::vector<const GanttBar*> without_room;
  for (const GanttBar& bar : bars) {
    if (!std::isfinite(bar.end) || bar.end <= from || bar.start >= to) continue;
    if (std::find(kinds.begin(), kinds.end(), bar.kind) == kinds.end()) kinds.push_back(bar.kind);
    const double x = layout.left + layout.width * (std::max(bar.start, from) - from) / (to - from);
    const double width = WidthOf(*this, bar, layout.width), height = layout.heights[bar.lane];
    const double y = layout.tops[bar.lane];
    body += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\"{}>"
        "<title>{}</title></rect>\n",
        x, bar.thin ? y + height - kThin + 1 : y, std::max(0.4, width), bar.thin ? kThin : height,
        palette.ColourOf(bar.kind), width > 3 ? " stroke=\"white\" stroke-width=\"0.5\"" : "",
        EscapeMarkup(bar.detail));
    const std::string name = NameIn(bar, x, y, width, height);
    if (name.empty() && !bar.name.empty()) without_room.push_back(&bar);
    body += name;
  }
  std::sort(kinds.begin(), kinds.end());
  double y = layout.bottom + 64, x = layout.left;
  for (const std::string& kind : kinds) {
    const double entry = 40 + kFont * TextWidth(kind);
    if (x > layout.left && x + entry > kSize) {
      x = layout.left;
      y += kLine;
    }
    body += fmt::format(
        "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"14\" height=\"14\" fill=\"{}\"/><text x=\"{:.0f}\" "
        "y=\"{:.0f}\">{}</text>\n",
        x, y - 12, palette.ColourOf(kind), x + 20, y, EscapeMarkup(kind));
    x += entry;
  }
  y += kLine + 6;
  if (list_names && !without_room.empty()) {
    for (const std::string& line : WrapText("Without room for their names: " + NamesWithoutRoom(without_room), 150)) {
      body += fmt::format("<text x=\"12\" y=\"{:.0f}\" font-size=\"13\" fill=\"#444444\">{}</text>\n", y,
                          EscapeMarkup(line));
      y += kLine;
    }
  }
  return SvgDocument(kSize, y + 4, body);
}

}  // namespace wharf::report
