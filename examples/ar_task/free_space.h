// An AR task of one's own: free space. For each of some strips of the picture, side by side, how far up the ground
// reaches before something stands on it, as a share of the picture's height.
#pragma once

#include <vector>

#include "wharf/ar/model_task/tracker.h"

using FreeSpace = std::vector<float>;  // by strip, from left to right

// Follows the free space by the shift of the whole picture, which is what turning does, and of each strip's rows around
// the end of its free space, which is what coming nearer does.
class FreeSpaceTracker final : public wharf::ar::Tracker<FreeSpace> {
 public:
  // The model's one output: float32 [1, strips].
  absl::StatusOr<FreeSpace> Read(const wharf::ar::Outputs& outputs, const wharf::scene::Frame& frame) override;
  absl::StatusOr<FreeSpace> Track(const FreeSpace& result, const wharf::scene::Frame& from,
                                  const wharf::scene::Frame& to) override;
  // 1 less the intersection over union of the free areas, as a detector's boxes are held against each other.
  double Loss(const FreeSpace& tracked, const FreeSpace& fresh) const override;
};
