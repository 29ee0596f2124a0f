// BarChart: groups of bars as an SVG picture, on a linear or logarithmic scale. Needs no viewer's scripts or fonts.
#pragma once

#include <string>
#include <vector>

namespace wharf::report {

struct Bar {
  std::string label;
  double value = 0;  // not negative; with a logarithmic scale, values of 0 are drawn as nothing
};
struct BarGroup {
  std::string title;
  std::vector<Bar> bars;
};
struct BarChart {
  std::string title, unit;
  bool logarithmic = false;
  std::vector<BarGroup> groups;

  // A whole SVG document. Bars of the same label have the same colour.
  std::string Svg() const;
};

}  // namespace wharf::report
