// GanttChart: what was done where and when, as an SVG picture: a lane for each place, a bar for each thing done.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace wharf::report {

struct GanttBar {
  size_t lane = 0;
  double start = 0, end = 0;
  std::string kind;    // bars of a kind have a colour, which the legend names
  std::string name;    // written in the bar, along it or up it, if it has room: never in part
  std::string detail;  // shown when the pointer is on it
  bool thin = false;   // at the lane's bottom, below others
};

struct GanttChart {
  std::string title, unit;
  double from = 0, to = 1;  // what is shown; bars are cut there. REQUIRES: from < to
  std::vector<std::string> lanes;
  std::vector<GanttBar> bars;
  bool list_names = true;  // those that have no room in their bars

  // A whole SVG document, as wide as what it stands in: ticks at round numbers, a legend, and if asked for a list of
  // the names that have no room in their bars, longest bars first.
  std::string Svg() const;
};

}  // namespace wharf::report
