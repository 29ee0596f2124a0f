// What the tests of this room share.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "wharf/base/random.h"
#include "wharf/serving/drop_table.h"
#include "wharf/serving/inference_profile.h"

namespace wharf::serving {

// Of batches of 1, 2, …
inline InferenceProfile ProfileOf(const std::vector<double>& batch_ms) {
  std::map<int, double> by_size;
  for (size_t i = 0; i < batch_ms.size(); ++i) by_size[static_cast<int>(i) + 1] = batch_ms[i];
  return *InferenceProfile::Make("test", by_size);
}

// Made up: each frame of stride costs from 0.003 to 0.015, more or less the same from one frame to the next, and what a
// client sees of that is a little off. `level` is 0 for easy videos, 1 for hard ones.
inline DropTable MadeUpTable(uint64_t seed, double level, double seconds = 20) {
  Random random(seed);
  DropTableData data;
  data.video = "made up " + std::to_string(seed);
  data.frames = static_cast<int>(seconds * data.fps);
  data.step = 4;
  data.strides = {1, 2, 4, 8, 16, 32};
  data.frame_bytes = 18000;
  data.result_bytes = 9000;
  data.client_s = 0.002;
  const double middle = 0.003 + 0.009 * level;
  double rate = middle;
  for (int row = 0; row < data.Rows(); ++row) {
    rate += 0.05 * (middle - rate) + 0.0003 * random.Normal();
    rate = std::clamp(rate, 0.003, 0.015);
    for (const int stride : data.strides) {
      const auto drop = static_cast<float>(std::max(0.0, rate * stride * (1 + 0.1 * random.Normal())));
      data.samples.push_back({drop, drop * static_cast<float>(1 + 0.05 * random.Normal())});
    }
  }
  return *DropTable::Make(std::move(data));
}

inline std::vector<DropTable> MadeUpTables(int count, double seconds = 20) {
  std::vector<DropTable> tables;
  for (int i = 0; i < count; ++i) {
    tables.push_back(
        MadeUpTable(static_cast<uint64_t>(i) + 1, static_cast<double>(i) / std::max(1, count - 1), seconds));
  }
  return tables;
}

}  // namespace wharf::serving
