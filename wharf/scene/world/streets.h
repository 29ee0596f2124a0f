// A town's plan: streets north to south and west to east at uneven distances, all of one width.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wharf::scene {

// Distances from a street's middle, in metres. Traffic keeps to the right.
inline constexpr double kInnerLane = 1.75, kOuterLane = 5.25, kLanesEnd = 7, kParking = 8.15, kKerb = 9.2,
                        kFronts = 13.2, kCornerRadius = 6;

class Streets {
 public:
  // Of streets that lead one way; of the middle one the position is 0.
  static constexpr int kCount = 41, kMiddle = kCount / 2;

  Streets(uint64_t seed, double nearest_m, double farthest_m);

  // Axis 0: x of those that run north and south; 1: y of those that run west and east.
  double Line(int axis, int index) const { return lines_[static_cast<size_t>(axis)][static_cast<size_t>(index)]; }
  // To the nearest one's middle, signed.
  float Offset(int axis, float position) const {
    const auto& nearest = nearest_[static_cast<size_t>(axis)];
    const float cell = (position - first_) * (1.0f / kCell);
    const auto last = static_cast<float>(nearest.size() - 1);
    return position - nearest[static_cast<size_t>(cell < 0 ? 0 : cell > last ? last : cell)];
  }

 private:
  static constexpr float kCell = 0.5f;  // metres
  std::array<std::vector<double>, 2> lines_;
  std::array<std::vector<float>, 2> nearest_;  // by cell, from first_ on
  float first_ = 0;
};

}  // namespace wharf::scene
