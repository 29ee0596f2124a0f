// What AR servers run on pictures: tasks' server halves for clients with plans of their own, a network on batches of
// pictures for those that are coordinated.
#pragma once

#include <memory>
#include <vector>

#include "wharf/ar/server/finder.h"
#include "wharf/multitask/tasks/boxes_task.h"
#include "wharf/multitask/tasks/depth_task.h"
#include "wharf/multitask/tasks/odometry_task.h"
#include "wharf/perception/depth_network.h"
#include "wharf/perception/detector.h"

namespace wharf::ar {

// What a server has; null: it does not. Must outlive what is made of it.
struct Networks {
  const perception::DepthNetwork* depth = nullptr;  // odometry needs it as well
  const perception::Detector* detector = nullptr;
};

// kFailedPrecondition: the Hello asks for a task that these cannot do. kInvalidArgument: its pictures do not fit them.
absl::StatusOr<std::unique_ptr<SoloFinder>> MakeTaskFinder(const Hello& hello, const Networks& networks);

// REQUIRES: the network is there; a batch beyond its largest is run in pieces.
std::unique_ptr<BatchFinder> MakeDepthBatches(const perception::DepthNetwork& network);
std::unique_ptr<BatchFinder> MakeBoxBatches(const perception::Detector& detector);

}  // namespace wharf::ar
