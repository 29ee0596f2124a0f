// LineChart: values in their order, one line a series, as an SVG picture. Needs no viewer's scripts or fonts.
#pragma once

#include <string>
#include <vector>

namespace wharf::report {

struct Line {
  std::string label;
  std::vector<double> values;  // of x = first, first + 1, …
};
struct LineChart {
  std::string title, x_title, unit;
  bool logarithmic = false;  // of the values; those not above 0 are then left out
  int first = 0;
  std::vector<Line> lines;

  // A whole SVG document with a legend. Lines of the same label have the same colour; a line of one value is a dot.
  std::string Svg() const;
};

}  // namespace wharf::report
