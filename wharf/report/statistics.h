// Statistics of a few measurements.
#pragma once

#include <vector>

namespace wharf::report {

// The middle value, or the mean of the two middle ones; 0 for none.
double Median(std::vector<double> values);
// The smallest value that at least `fraction` of all values do not exceed (nearest rank); 0 for none.
// REQUIRES: 0 < fraction <= 1.
double Percentile(std::vector<double> values, double fraction);
double Mean(const std::vector<double>& values);

// Of measurements that were repeated: over seeds, over videos.
struct MeanAndSpread {
  double mean = 0, spread = 0;  // the latter: standard deviation; 0 of one value
};
MeanAndSpread Summarize(const std::vector<double>& values);

}  // namespace wharf::report
