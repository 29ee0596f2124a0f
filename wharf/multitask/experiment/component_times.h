// What each part of an AR client and of its server takes on this machine.
#pragma once

#include "wharf/base/clock.h"
#include "wharf/multitask/experiment/sight.h"
#include "wharf/multitask/offload_profile.h"
#include "wharf/scene/world/world.h"

namespace wharf::multitask {

// Milliseconds, medians over frames.
struct ComponentTimes {
  double depth = 0, odometry = 0, boxes = 0;               // the server's: networks; odometry's are both and the motion
  double warp = 0, lite = 0, filter = 0, box_tracker = 0;  // of every frame, in the client
  double flow = 0;                                         // the accuracy model of depth's tracker

  // Offloads that take what the server computes, with no link between.
  OffloadProfile Profile() const;
};

// On a few frames of `world`. By a clock of this process's computing, what else the machine does leaves no trace. Fails
// as the networks do.
absl::StatusOr<ComponentTimes> MeasureComponents(const scene::World& world, const Networks& networks, int width,
                                                 int height, const Clock& clock);

}  // namespace wharf::multitask
