#include "wharf/scene/world/streets.h"

#include <algorithm>
#include <cmath>

#include "wharf/base/random.h"

namespace wharf::scene {

Streets::Streets(uint64_t seed, double nearest_m, double farthest_m) {
  for (int axis = 0; axis < 2; ++axis) {
    Random random(seed, static_cast<uint64_t>(axis));
    auto& lines = lines_[static_cast<size_t>(axis)];
    lines.assign(kCount, 0);
    for (size_t i = kMiddle + 1; i < kCount; ++i) lines[i] = lines[i - 1] + random.Uniform(nearest_m, farthest_m);
    for (size_t i = kMiddle; i > 0; --i) lines[i - 1] = lines[i] - random.Uniform(nearest_m, farthest_m);
  }
  first_ = static_cast<float>(std::min(lines_[0].front(), lines_[1].front()));
  const double last = std::max(lines_[0].back(), lines_[1].back());
  for (size_t axis = 0; axis < 2; ++axis) {
    const auto& lines = lines_[axis];
    size_t at = 0;
    for (double position = first_ + kCell / 2; position < last; position += kCell) {
      while (at + 1 < lines.size() && std::abs(lines[at + 1] - position) < std::abs(lines[at] - position)) ++at;
      nearest_[axis].push_back(static_cast<float>(lines[at]));
    }
  }
}

}  // namespace wharf::scene
