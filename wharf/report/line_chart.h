// LineChart: values over time, load or rate, one line a series, as an SVG picture. Needs no viewer's scripts or fonts.
#pragma once

#include <string>
#include <vector>

namespace wharf::report {

struct Line {
  std::string label;
  std::vector<double> values;  // at the chart's `x`, or at first, first + 1, …
  bool bound = false;          // what no line can be beyond: grey and dotted
};
struct LineChart {
  std::string title, x_title, unit;
  bool logarithmic = false;  // of the values; those not above 0 are then left out
  int first = 0;
  std::vector<Line> lines;
  std::vector<double> x;       // increasing; empty: first, first + 1, …
  bool logarithmic_x = false;  // then each of `x` is a tick

  // A whole SVG document with a legend below the lines, as wide as what it stands in. Lines of the same label have the
  // same colour; a line of one value is a dot. A line that runs on top of an earlier one is dashed, so that both are
  // seen, and where it does so at every point, the legend says so.
  std::string Svg() const;
};

}  // namespace wharf::report
