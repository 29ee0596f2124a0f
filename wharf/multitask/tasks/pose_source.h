// Who knows how the camera has moved: the odometry task, for tasks that track by geometry.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "wharf/scene/scene.h"

namespace wharf::multitask {

class PoseSource {
 public:
  virtual ~PoseSource() = default;
  // The camera's pose in the frame that was observed last, in the axes of the camera of `frame`. kNotFound for a frame
  // too old, or never observed.
  virtual absl::StatusOr<scene::Pose> MotionSince(int64_t frame) const = 0;
};

}  // namespace wharf::multitask
