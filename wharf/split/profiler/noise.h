// Times of the same work on a machine that others use too. They only ever make it longer: so where the usual time is
// far above the shortest, more is measured and the lower quartile taken.
#pragma once

#include <algorithm>
#include <vector>

namespace wharf::split {

inline constexpr double kMedian = 0.5, kLowerQuartile = 0.25;

// REQUIRES: there are some; 0 <= share < 1.
inline double Quantile(std::vector<double> times, double share) {
  const auto place = times.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(times.size()));
  std::nth_element(times.begin(), place, times.end());
  return *place;
}

// How far the times taken are above the shortest, over several pieces of work, weighted by time: 0.1 is 10 %.
class Noise {
 public:
  // What one of them took, time after time, of which this quantile is taken.
  void Add(const std::vector<double>& times, double quantile) {
    if (times.empty()) return;
    taken_ += Quantile(times, quantile);
    shortest_ += *std::min_element(times.begin(), times.end());
  }
  double Share() const { return shortest_ > 0 ? taken_ / shortest_ - 1 : 0; }

 private:
  double taken_ = 0, shortest_ = 0;
};

}  // namespace wharf::split
