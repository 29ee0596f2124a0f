// The median of some values, for estimates that a few wrong ones must not move.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace wharf::track {

// The upper one of two middles. REQUIRES: values are not empty.
template <typename Value>
Value Median(std::vector<Value> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace wharf::track
