// Sight: what a server and a phone find in the frame at hand, once, however many systems ask. What a network makes of a
// frame does not depend on who offloaded it, so that all systems see a video side by side for little more than one
// costs.
#pragma once

#include <map>
#include <optional>

#include "wharf/multitask/tasks/boxes_task.h"
#include "wharf/multitask/tasks/depth_task.h"
#include "wharf/multitask/tasks/odometry_task.h"

namespace wharf::multitask {

struct Networks {
  DepthEstimator depth, lite;
  BoxDetector boxes;
};

// The truth where the server's networks stand, and for the lite one the truth at an eighth of the resolution. Only for
// runs that say so. `frame` and `truth` are read when the networks are asked; both must outlive them.
Networks OracleNetworks(const FramePointer& frame, const scene::Truth& truth);

// Not thread-safe.
class Sight {
 public:
  Sight(Networks networks, MotionEstimator motion) : networks_(std::move(networks)), motion_(std::move(motion)) {}
  Sight(const Sight&) = delete;
  Sight& operator=(const Sight&) = delete;

  // All that is asked afterwards is about this frame; motions end in it.
  void Look(const FramePointer& frame);

  // These are as good as the networks and outlive nothing: the Sight must outlive them. kFailedPrecondition: asked
  // about another frame than the one at hand.
  DepthEstimator Depth();
  DepthEstimator Lite();
  BoxDetector Boxes();
  MotionEstimator Motion();

 private:
  absl::Status CheckAtHand(const FramePointer& frame) const;

  const Networks networks_;
  const MotionEstimator motion_;
  FramePointer frame_;
  std::optional<absl::StatusOr<DepthPointer>> depth_, lite_;
  std::optional<absl::StatusOr<std::vector<scene::Box>>> boxes_;
  std::map<int64_t, absl::StatusOr<track::MotionEstimate>> motions_;  // by where they begin
};

}  // namespace wharf::multitask
