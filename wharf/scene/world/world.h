// A town that is not there, seen from a camera that is driven through it: 40 s at 60 frames a second, from a seed. Any
// frame can be asked for at any time, and is the same bytes wherever float and double are IEEE 754's, as are depths,
// boxes, poses and IMU samples. For that products.h multiplies vectors of floats, and the order of random draws is
// never the compiler's choice: no call and no expression draws twice, but for lists in braces, which have an order.
//
//   const World world(seed, {.many_turns = true});
//   const Frame frame = world.FrameAt(120, 448, 128);
//   const Truth truth = world.TruthAt(120, 448, 128);
//
// What it is not, docs/world.md says.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "wharf/scene/scene.h"
#include "wharf/scene/world/imu.h"

namespace wharf::scene {

struct WorldOptions {
  bool much_traffic = false;  // many moving things, near
  bool many_turns = false;    // the camera turns at junctions, and to look to the sides
  ImuErrors imu;
};

class World {
 public:
  static constexpr int kFramesPerSecond = 60, kSeconds = 40;
  static constexpr int64_t kFrames = kFramesPerSecond * kSeconds;

  // Takes some 0.3 s.
  World(uint64_t seed, const WorldOptions& options);
  ~World();
  World(World&&) noexcept;

  // 832 x 256 with a horizontal field of view of 90 degrees, resized.
  static Intrinsics Camera(int width, int height);

  // REQUIRES: 0 <= index < kFrames, a width and height from 16 to 8192. Threads may call these at the same time.
  Frame FrameAt(int64_t index, int width, int height) const;
  Truth TruthAt(int64_t index, int width, int height) const;
  // What FrameAt(index)'s `imu` holds.
  std::vector<ImuSample> ImuAt(int64_t index) const;
  // Without looking: pose, velocity and angular velocity only. Costs next to nothing.
  Truth MotionAt(double time_s) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace wharf::scene
