// BarChart: groups of bars as an SVG picture, on a linear or logarithmic scale. Needs no viewer's scripts or fonts.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace wharf::report {

struct Bar {
  std::string label;
  double value = 0;  // not negative; with a logarithmic scale, values of 0 are drawn as nothing
  std::optional<double> bound = std::nullopt;  // what the value cannot be beyond: a mark across the bar
};
struct BarGroup {
  std::string title;
  std::vector<Bar> bars;
};
struct BarChart {
  std::string title, unit;
  bool logarithmic = false;
  std::vector<BarGroup> groups;

  // A whole SVG document with an axis below the bars, as wide as what it stands in. Bars of the same label have the
  // same colour.
  std::string Svg() const;
};

}  // namespace wharf::report
