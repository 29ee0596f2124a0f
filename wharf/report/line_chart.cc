#include "wharf/report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "wharf/report/markup.h"

namespace wharf::report {
namespace {

constexpr double kLeft = 70, kTop = 46, kWidth = 520, kHeight = 260, kRight = 170, kBottom = 44;
constexpr double kLegendLine = 18;

// Values to the picture's vertical coordinate.
class Axis {
 public:
  Axis(const LineChart& chart) : logarithmic_(chart.logarithmic) {
    double least = INFINITY;
    for (const Line& line : chart.lines) {
      for (double value : line.values) {
        if (!Shows(value)) continue;
        least = std::min(least, value);
        most_ = std::max(most_, value);
      }
    }
    if (!std::isfinite(least)) return;
    bottom_ = logarithmic_ ? std::pow(10, std::floor(std::log10(least))) : 0;
    top_ = logarithmic_ ? std::pow(10, std::ceil(std::log10(most_))) : most_;
    if (top_ <= bottom_) top_ = bottom_ > 0 ? 10 * bottom_ : 1;
  }
  bool Shows(double value) const { return std::isfinite(value) && value >= 0 && (!logarithmic_ || value > 0); }
  double Y(double value) const {
    const double share = logarithmic_ ? std::log(value / bottom_) / std::log(top_ / bottom_) : value / top_;
    return kTop + kHeight * (1 - share);
  }
  // Where lines are drawn across: decades, or quarters.
  std::vector<double> Marks() const {
    std::vector<double> marks;
    if (logarithmic_) {
      for (double mark = bottom_; mark <= top_ * 1.001; mark *= 10) marks.push_back(mark);
    } else {
      for (int quarter = 0; quarter <= 4; ++quarter) marks.push_back(top_ * quarter / 4);
    }
    return marks;
  }

 private:
  const bool logarithmic_;
  double bottom_ = 1, top_ = 10, most_ = 0;
};

std::string Polyline(const Line& line, const Axis& axis, double step, const char* colour) {
  std::string points, dots;
  size_t shown = 0;
  for (size_t i = 0; i < line.values.size(); ++i) {
    if (!axis.Shows(line.values[i])) continue;
    const double x = kLeft + step * static_cast<double>(i), y = axis.Y(line.values[i]);
    points += fmt::format("{:.1f},{:.1f} ", x, y);
    dots = fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x, y, colour);
    ++shown;
  }
  if (shown < 2) return dots;
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"/>\n", points, colour);
}

}  // namespace

std::string LineChart::Svg() const {
  const Axis axis(*this);
  size_t longest = 2;
  for (const Line& line : lines) longest = std::max(longest, line.values.size());
  const double step = kWidth / static_cast<double>(longest - 1);
  std::string body;
  for (double mark : axis.Marks()) {
    body += fmt::format(
        "<line x1=\"{0:.0f}\" x2=\"{1:.0f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#dddddd\"/>"
        "<text x=\"{3:.0f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
        kLeft, kLeft + kWidth, axis.Y(mark), kLeft - 6, axis.Y(mark) + 4, ChartNumber(mark));
  }
  for (size_t i = 0; i < longest; i += std::max<size_t>(1, longest / 10)) {
    body += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n",
                        kLeft + step * static_cast<double>(i), kTop + kHeight + 16, first + static_cast<int>(i));
  }
  Palette palette;
  double legend = kTop + 10;
  for (const Line& line : lines) {
    const char* colour = palette.ColourOf(line.label);
    body += Polyline(line, axis, step, colour);
    body += fmt::format(
        "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"12\" height=\"12\" fill=\"{}\"/>"
        "<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n",
        kLeft + kWidth + 14, legend - 10, colour, kLeft + kWidth + 32, legend, EscapeMarkup(line.label));
    legend += kLegendLine;
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" font-family=\"sans-serif\" "
             "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
             "<text x=\"8\" y=\"24\" font-size=\"16\">{}, {}{}</text>\n"
             "<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n",
             kLeft + kWidth + kRight, std::max(kTop + kHeight + kBottom, legend), EscapeMarkup(title),
             EscapeMarkup(unit), logarithmic ? " (logarithmic scale)" : "", kLeft + kWidth / 2, kTop + kHeight + 36,
             EscapeMarkup(x_title)) +
         body + "</svg>\n";
}

}  // namespace wharf::report
