// What the tests of this room share.
#pragma once

#include <map>
#include <vector>

#include "wharf/serving/inference_profile.h"

namespace wharf::serving {

// Of batches of 1, 2, …
inline InferenceProfile ProfileOf(const std::vector<double>& batch_ms) {
  std::map<int, double> by_size;
  for (size_t i = 0; i < batch_ms.size(); ++i) by_size[static_cast<int>(i) + 1] = batch_ms[i];
  return *InferenceProfile::Make("test", by_size);
}

}  // namespace wharf::serving
