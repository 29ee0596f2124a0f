// Scales of charts: round ticks, and places along an axis.
#pragma once

#include <string>
#include <vector>

namespace wharf::report {

// 1, 2 or 5 times a power of ten, so that `range` holds some `about` of them. REQUIRES: range > 0, about > 0.
double RoundStep(double range, int about);

// A linear or logarithmic axis from a round number to a round number.
class Scale {
 public:
  // Over all of `values` that it shows: finite ones, above 0 if logarithmic. A linear one has 0 on it.
  Scale(const std::vector<double>& values, bool logarithmic);
  bool Shows(double value) const;
  // 0 at the axis's beginning, 1 at its end.
  double Share(double value) const;
  // Round numbers, some four to eight.
  const std::vector<double>& Ticks() const { return ticks_; }

 private:
  bool logarithmic_;
  double low_ = 0, high_ = 1;
  std::vector<double> ticks_;
};

// `text` in lines of at most `columns` code points, broken at blanks, and a word that is longer
// wherever it has to be. REQUIRES: columns > 0.
std::vector<std::string> WrapText(const std::string& text, size_t columns);

// How wide text of a chart is at most, in units of its font's size: sans-serif letters are narrower on average.
double TextWidth(const std::string& text);

}  // namespace wharf::report
