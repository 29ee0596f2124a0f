#include "wharf/report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "wharf/report/markup.h"
#include "wharf/report/scale.h"

namespace wharf::report {
namespace {

constexpr double kLeft = 72, kWidth = 620, kHeight = 280, kRight = 28, kFont = 14, kLine = 20;
constexpr double kSame = 2;  // lines nearer than this cannot be told apart

struct Point {
  double x = 0, y = 0;
};

// Values to places in the picture.
class Plot {
 public:
  Plot(const LineChart& chart, double top) : chart_(chart), top_(top), values_(AllValues(chart), chart.logarithmic) {
    longest_ = 2;
    for (const Line& line : chart.lines) longest_ = std::max(longest_, line.values.size());
  }
  double Y(double value) const { return top_ + kHeight * (1 - values_.Share(value)); }
  double ValueAt(size_t i) const {
    return chart_.x.empty() ? chart_.first + static_cast<double>(i) : chart_.x[std::min(i, chart_.x.size() - 1)];
  }
  double X(double value) const {
    const double low = ValueAt(0), high = ValueAt(chart_.x.empty() ? longest_ - 1 : chart_.x.size() - 1);
    if (!(high > low)) return kLeft + kWidth / 2;
    const double share =
        chart_.logarithmic_x ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return kLeft + kWidth * share;
  }
  std::vector<std::optional<Point>> Points(const Line& line) const {
    std::vector<std::optional<Point>> points;
    for (size_t i = 0; i < line.values.size(); ++i) {
      points.emplace_back();
      if (values_.Shows(line.values[i])) points.back() = Point{X(ValueAt(i)), Y(line.values[i])};
    }
    return points;
  }
  const std::vector<double>& Ticks() const { return values_.Ticks(); }
  // Round numbers, or the places that there are values for; none nearer to the one before than its text is wide.
  std::vector<double> XTicks() const {
    std::vector<double> ticks;
    if (chart_.logarithmic_x) {
      for (const double value : chart_.x) {
        if (ticks.empty() || X(value) - X(ticks.back()) > 30) ticks.push_back(value);
      }
      return ticks;
    }
    const double low = ValueAt(0), high = ValueAt(chart_.x.empty() ? longest_ - 1 : chart_.x.size() - 1);
    if (!(high > low)) return {low};
    double step = RoundStep(high - low, 8);
    if (chart_.x.empty()) step = std::max(1.0, step);
    for (double tick = step * std::ceil(low / step - 1e-9); tick <= high + step * 1e-9; tick += step)
      ticks.push_back(tick);
    if (ticks.empty() || ticks.front() > low + step / 2) ticks.insert(ticks.begin(), low);
    return ticks;
  }

 private:
  static std::vector<double> AllValues(const LineChart& chart) {
    std::vector<double> all;
    for (const Line& line : chart.lines) all.insert(all.end(), line.values.begin(), line.values.end());
    return all;
  }
  const LineChart& chart_;
  const double top_;
  const Scale values_;
  size_t longest_;
};

using Points = std::vector<std::optional<Point>>;

// How many of the points that both have are in the same place.
struct Overlap {
  int shared = 0, same = 0;
};
Overlap Compare(const Points& a, const Points& b) {
  Overlap overlap;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (!a[i] || !b[i]) continue;
    ++overlap.shared;
    overlap.same += std::abs(a[i]->y - b[i]->y) < kSame ? 1 : 0;
  }
  return overlap;
}

struct Drawn {
  const Line* line;
  Points points;
  int above = 0;             // how many lines it runs on top of, one on the other
  const Line* as = nullptr;  // it is the same as this one at every point
};

// Which lines run on which earlier ones, for at least a quarter of their points.
std::vector<Drawn> Stack(const std::vector<Line>& lines, const Plot& plot) {
  std::vector<Drawn> drawn;
  for (const Line& line : lines) {
    Drawn one{&line, plot.Points(line)};
    for (const Drawn& before : drawn) {
      const Overlap overlap = Compare(before.points, one.points);
      if (overlap.shared < 2 || 4 * overlap.same < overlap.shared) continue;
      one.above = std::max(one.above, before.above + 1);
      if (overlap.same == overlap.shared && one.as == nullptr) one.as = before.line;
    }
    drawn.push_back(std::move(one));
  }
  return drawn;
}

// Dashes with gaps in which the lines below show.
std::string StrokeOf(const Drawn& drawn, const char* colour) {
  if (drawn.line->bound) return "stroke=\"#555555\" stroke-width=\"2\" stroke-dasharray=\"2 4\"";
  std::string stroke = fmt::format("stroke=\"{}\" stroke-width=\"2.2\"", colour);
  if (drawn.above > 0)
    stroke +=
        fmt::format(" stroke-dasharray=\"9 {}\" stroke-dashoffset=\"{}\"", 9 * drawn.above, 9 * (drawn.above - 1));
  return stroke;
}

// A polyline for each run of values that are there, and where there are few, a dot at each.
std::string Shape(const Drawn& drawn, const char* colour) {
  std::string text, run;
  int in_run = 0;
  const bool dots = drawn.points.size() <= 24 && !drawn.line->bound;
  std::optional<Point> last;
  const auto end_run = [&] {
    if (in_run > 1) text += fmt::format("<polyline points=\"{}\" fill=\"none\" {}/>\n", run, StrokeOf(drawn, colour));
    if (in_run == 1 && !dots)
      text += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", last->x, last->y, colour);
    run.clear();
    in_run = 0;
  };
  for (const std::optional<Point>& point : drawn.points) {
    if (!point) {
      end_run();
      continue;
    }
    run += fmt::format("{}{:.1f},{:.1f}", run.empty() ? "" : " ", point->x, point->y);
    ++in_run;
    last = point;
  }
  end_run();
  if (!dots) return text;
  // A line on top has the smaller dots.
  const double radius = std::max(1.6, 4 - 1.2 * drawn.above);
  for (const std::optional<Point>& point : drawn.points) {
    if (point)
      text += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\"/>\n", point->x, point->y,
                          radius, colour);
  }
  return text;
}

std::string Axes(const Plot& plot, double top) {
  std::string text;
  for (const double tick : plot.Ticks()) {
    text += fmt::format(
        "<line x1=\"{0:.0f}\" x2=\"{1:.0f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#dddddd\"/>"
        "<text x=\"{3:.0f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
        kLeft, kLeft + kWidth, plot.Y(tick), kLeft - 8, plot.Y(tick) + 5, ChartNumber(tick));
  }
  const double bottom = top + kHeight;
  for (const double tick : plot.XTicks()) {
    text += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.0f}\" y2=\"{2:.0f}\" stroke=\"#888888\"/>"
        "<text x=\"{0:.1f}\" y=\"{3:.0f}\" text-anchor=\"middle\">{4}</text>\n",
        plot.X(tick), bottom, bottom + 5, bottom + 20, ChartNumber(tick));
  }
  return text + fmt::format("<line x1=\"{0:.0f}\" x2=\"{1:.0f}\" y1=\"{2:.0f}\" y2=\"{2:.0f}\" stroke=\"#888888\"/>\n",
                            kLeft, kLeft + kWidth, bottom);
}

// Entries from left to right, in as many rows as they need; returns where it ends.
double Legend(const std::vector<Drawn>& drawn, Palette& palette, double top, std::string& text) {
  double x = kLeft, y = top;
  for (const Drawn& one : drawn) {
    std::string label = one.line->label;
    if (one.as != nullptr) label += " (the same as " + one.as->label + ")";
    const double width = 34 + kFont * TextWidth(label) + 16;
    if (x > kLeft && x + width > kLeft + kWidth) {
      x = kLeft;
      y += kLine;
    }
    text += fmt::format(
        "<line x1=\"{:.0f}\" x2=\"{:.0f}\" y1=\"{:.0f}\" y2=\"{:.0f}\" {}/><text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n",
        x, x + 27, y - 5, y - 5, StrokeOf(one, palette.ColourOf(one.line->label)), x + 34, y, EscapeMarkup(label));
    x += width;
  }
  return y + kLine;
}

}  // namespace

std::string LineChart::Svg() const {
  double top = 0;
  std::string body = ChartTitle(title + (unit.empty() ? "" : ", " + unit) + (logarithmic ? " (logarithmic scale)" : ""),
                                kLeft + kWidth + kRight, top);
  const Plot plot(*this, top);
  body += Axes(plot, top);
  Palette palette;
  const std::vector<Drawn> drawn = Stack(lines, plot);
  for (const Drawn& one : drawn) body += Shape(one, one.line->bound ? "#555555" : palette.ColourOf(one.line->label));
  double bottom = top + kHeight + 40;
  for (const std::string& line : WrapText(x_title, 80)) {
    body += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n", kLeft + kWidth / 2,
                        bottom, EscapeMarkup(line));
    bottom += kLine;
  }
  bottom = Legend(drawn, palette, bottom + 6, body);
  return SvgDocument(kLeft + kWidth + kRight, bottom, body);
}

}  // namespace wharf::report
