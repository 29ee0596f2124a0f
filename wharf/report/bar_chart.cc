#include "wharf/report/bar_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "wharf/report/markup.h"
#include "wharf/report/scale.h"

namespace wharf::report {
namespace {

constexpr double kSize = 720, kBar = 20, kGap = 14, kFont = 14, kLine = 20;

std::vector<double> ValuesOf(const BarChart& chart) {
  std::vector<double> values;
  for (const BarGroup& group : chart.groups) {
    for (const Bar& bar : group.bars) {
      // Room below the least, so that its bar can be seen.
      values.push_back(chart.logarithmic ? bar.value / 1.26 : bar.value);
      values.push_back(bar.value);
      if (bar.bound) values.push_back(*bar.bound);
    }
  }
  return values;
}

// What is written where: labels need room on the left, values behind the longest bar.
struct Layout {
  double left = 60, width = 400;
};
Layout LayoutOf(const BarChart& chart) {
  double labels = 0, values = 0;
  for (const BarGroup& group : chart.groups) {
    for (const Bar& bar : group.bars) {
      labels = std::max(labels, TextWidth(bar.label));
      values = std::max(values, TextWidth(ChartNumber(bar.value) + " " + chart.unit));
    }
  }
  const double left = kFont * labels + 24;
  return {left, std::max(120.0, kSize - left - kFont * values - 16)};
}

}  // namespace

std::string BarChart::Svg() const {
  const Scale scale(ValuesOf(*this), logarithmic);
  const Layout layout = LayoutOf(*this);
  const auto x = [&](double value) {
    return layout.left + layout.width * (scale.Shows(value) ? std::clamp(scale.Share(value), 0.0, 1.0) : 0);
  };
  Palette palette;
  double y = 0;
  std::string head = ChartTitle(title + (logarithmic ? " (logarithmic scale)" : ""), kSize, y), body;
  const double top = y;
  bool bounds = false;
  for (const BarGroup& group : groups) {
    for (const std::string& line : WrapText(group.title, 84)) {
      body += fmt::format("<text x=\"8\" y=\"{:.0f}\" font-weight=\"bold\">{}</text>\n", y + kFont, EscapeMarkup(line));
      y += kLine;
    }
    for (const Bar& bar : group.bars) {
      body += fmt::format(
          "<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>"
          "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\" fill=\"{}\"/>"
          "<text x=\"{:.1f}\" y=\"{:.0f}\" stroke=\"white\" stroke-width=\"3\" paint-order=\"stroke\">{} {}</text>\n",
          layout.left - 8, y + 14, EscapeMarkup(bar.label), layout.left, y, x(bar.value) - layout.left, kBar - 4,
          palette.ColourOf(bar.label), x(bar.value) + 6, y + 14, ChartNumber(bar.value), EscapeMarkup(unit));
      if (bar.bound) {
        bounds = true;
        body += fmt::format(
            "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.0f}\" y2=\"{2:.0f}\" stroke=\"black\" "
            "stroke-width=\"2.5\"/>\n",
            x(*bar.bound), y - 2, y + kBar - 2);
      }
      y += kBar;
    }
    y += kGap;
  }
  std::string axis;
  for (const double tick : scale.Ticks()) {
    axis += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.0f}\" y2=\"{2:.0f}\" stroke=\"#dddddd\"/>"
        "<text x=\"{0:.1f}\" y=\"{3:.0f}\" text-anchor=\"middle\">{4}</text>\n",
        x(tick), top, y, y + 16, ChartNumber(tick));
  }
  y += kLine + 16;
  if (!unit.empty())
    axis += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n",
                        layout.left + layout.width / 2, y, EscapeMarkup(unit));
  if (bounds) axis += fmt::format("<text x=\"8\" y=\"{:.0f}\">▏: bound</text>\n", y);
  return SvgDocument(kSize, y + 12, head + axis + body);
}

}  // namespace wharf::report
