#include "wharf/report/bar_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "wharf/report/markup.h"

namespace wharf::report {
namespace {

constexpr double kLeft = 130, kBarWidth = 480, kBarHeight = 18, kGroupGap = 26, kTop = 46, kRight = 110;

// Where a value ends, as a share of the axis.
class Scale {
 public:
  Scale(const BarChart& chart) : logarithmic_(chart.logarithmic) {
    double least = INFINITY;
    for (const BarGroup& group : chart.groups) {
      for (const Bar& bar : group.bars) {
        most_ = std::max(most_, bar.value);
        if (bar.value > 0) least = std::min(least, bar.value);
      }
    }
    // The least bar gets a tenth of a decade at least, so that it can be seen.
    if (logarithmic_ && std::isfinite(least)) least_ = std::pow(10, std::floor(std::log10(least / 1.26)));
  }
  double Share(double value) const {
    if (value <= 0 || most_ <= 0) return 0;
    if (!logarithmic_) return value / most_;
    return std::log(value / least_) / std::log(most_ / least_);
  }

 private:
  bool logarithmic_;
  double most_ = 0, least_ = 1;
};

}  // namespace

std::string BarChart::Svg() const {
  const Scale scale(*this);
  Palette palette;
  std::string body;
  double y = kTop;
  for (const BarGroup& group : groups) {
    body +=
        fmt::format("<text x=\"8\" y=\"{:.0f}\" font-weight=\"bold\">{}</text>\n", y + 12, EscapeMarkup(group.title));
    y += kGroupGap - 6;
    for (const Bar& bar : group.bars) {
      const double width = kBarWidth * scale.Share(bar.value);
      body += fmt::format(
          "<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>"
          "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\" fill=\"{}\"/>"
          "<text x=\"{:.1f}\" y=\"{:.0f}\">{} {}</text>\n",
          kLeft - 8, y + 13, EscapeMarkup(bar.label), kLeft, y, width, kBarHeight - 3, palette.ColourOf(bar.label),
          kLeft + width + 6, y + 13, ChartNumber(bar.value), EscapeMarkup(unit));
      y += kBarHeight;
    }
    y += kGroupGap / 2;
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" font-family=\"sans-serif\" "
             "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
             "<text x=\"8\" y=\"24\" font-size=\"16\">{}{}</text>\n",
             kLeft + kBarWidth + kRight, y + 8, EscapeMarkup(title), logarithmic ? " (logarithmic scale)" : "") +
         body + "</svg>\n";
}

}  // namespace wharf::report
