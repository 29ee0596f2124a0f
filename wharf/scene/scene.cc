#include "wharf/scene/scene.h"

namespace wharf::scene {

Intrinsics Resized(const Intrinsics& camera, int width, int height) {
  const double x = static_cast<double>(width) / camera.width, y = static_cast<double>(height) / camera.height;
  // Pixel centres are at whole numbers, so it is the borders, at -0.5, that stay.
  return {.width = width,
          .height = height,
          .fx = camera.fx * x,
          .fy = camera.fy * y,
          .cx = (camera.cx + 0.5) * x - 0.5,
          .cy = (camera.cy + 0.5) * y - 0.5};
}

Pose RelativePose(const Pose& from, const Pose& to) { return from.Inverse() * to; }

}  // namespace wharf::scene
