// What servers find in a picture, as bytes for the link, and back. docs/protocol.md, "AR sessions".
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "wharf/ar/messages.h"
#include "wharf/graph/tensor.h"
#include "wharf/scene/scene.h"
#include "wharf/track/motion.h"

namespace wharf::ar {

// kHalf: relative error of at most 2^-11. kJpeg: distances of 0.3 to 300 m in 255 steps of 2.7 % (nearer and farther
// ones as these), and what a JPEG of quality 90 loses. Unknown stays unknown with kHalf, and next to it with kJpeg only
// roughly.
std::vector<std::byte> EncodeDepth(const scene::DepthMap& depth, DepthCoding coding);
// Safe on hostile bytes. kInvalidArgument: no such map of this size, or with distances that are negative or not finite.
absl::StatusOr<scene::DepthMap> DecodeDepth(std::vector<std::byte> bytes, DepthCoding coding, int width, int height);

inline constexpr size_t kMaxBoxes = 1024;
std::vector<std::byte> EncodeBoxes(std::span<const scene::Box> boxes);
// kInvalidArgument: malformed, too many, unknown classes, or numbers that are not finite.
absl::StatusOr<std::vector<scene::Box>> DecodeBoxes(std::span<const std::byte> bytes);

// Between two pictures that were offloaded for odometry.
struct Motion {
  int64_t from = 0;  // frame
  track::MotionEstimate estimate;
};
std::vector<std::byte> EncodeMotion(const Motion& motion);
// kInvalidArgument: malformed, numbers that are not finite, no rotation, or no covariance.
absl::StatusOr<Motion> DecodeMotion(std::span<const std::byte> bytes);

// What a model made of a picture, exactly: its outputs in order.
inline constexpr size_t kMaxOutputs = 16;
inline constexpr int64_t kMaxOutputBytes = 15 << 20;  // of all together, so that they fit into a frame
// kInvalidArgument: more outputs, larger ones, or of a rank over 8, than a model task can have.
absl::Status CheckOutputs(std::span<const graph::TensorType> outputs);
// REQUIRES: CheckOutputs.
std::vector<std::byte> EncodeOutputs(std::span<const graph::Constant> outputs);
// Safe on hostile bytes. kInvalidArgument: malformed, or not outputs that CheckOutputs allows.
absl::StatusOr<std::vector<graph::Constant>> DecodeOutputs(std::span<const std::byte> bytes);

}  // namespace wharf::ar
