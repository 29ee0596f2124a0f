// AccuMO's accuracy models of the depth task (thesis section 2.6.1): what the tracker and the lite network lose against
// the server's network, estimated without truth.
#pragma once

#include "absl/status/statusor.h"
#include "wharf/scene/scene.h"

namespace wharf::track {

// Error that warping adds, per frame of stride. `first` and its depth are warped by `motion` to the second frame;
// optical flow from the warped picture to the real `second` shows what moved by itself; the warped depth is moved along
// with the flow; AbsRel between the two, divided by `stride`. Things that move are so weighed by how far behind them
// the background is. Slower than a frame may be: run it beside the control loop. kInvalidArgument if sizes are not the
// camera's or stride < 1; kFailedPrecondition if no depth is known.
absl::StatusOr<double> DepthTrackerDropRate(const scene::Image& first, const scene::DepthMap& first_depth,
                                            const scene::Image& second, const scene::Intrinsics& camera,
                                            const scene::Pose& motion, int stride);

// Error that the lite network adds: AbsRel of its map against the server's for the same frame, less the error that the
// server itself has on average (`server_abs_rel`, from calibration), so that it compares with the tracker's drop. It
// may be negative. Fails as AbsRel.
absl::StatusOr<double> LiteDepthDrop(const scene::DepthMap& lite, const scene::DepthMap& server, double server_abs_rel);

}  // namespace wharf::track
