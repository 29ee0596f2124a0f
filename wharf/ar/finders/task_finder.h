// What AR servers run on pictures: tasks' server halves for clients with plans of their own, a network on batches of
// pictures for those that are coordinated.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "wharf/ar/server/finder.h"
#include "wharf/multitask/tasks/boxes_task.h"
#include "wharf/multitask/tasks/depth_task.h"
#include "wharf/multitask/tasks/odometry_task.h"
#include "wharf/perception/depth_network.h"
#include "wharf/perception/detector.h"
#include "wharf/perception/picture_model.h"

namespace wharf::ar {

// What a server has; null: it does not. Must outlive what is made of it.
struct Networks {
  const perception::DepthNetwork* depth = nullptr;  // odometry needs it as well
  const perception::Detector* detector = nullptr;
  std::map<std::string, const perception::PictureModel*, std::less<>> models = {};  // model tasks, by their names
};

// Whether a server can have it as a model task: CheckModelName, CheckOutputs.
absl::Status CheckModelTask(std::string_view name, const perception::PictureModel& model);

// kFailedPrecondition: the Hello asks for a task that these cannot do. kInvalidArgument: its pictures do not fit them;
// models take pictures of any size. REQUIRES: CheckHello.
absl::StatusOr<std::unique_ptr<SoloFinder>> MakeTaskFinder(const Hello& hello, const Networks& networks);

// REQUIRES: the network is there; a batch beyond its largest is run in pieces.
std::unique_ptr<BatchFinder> MakeDepthBatches(const perception::DepthNetwork& network);
std::unique_ptr<BatchFinder> MakeBoxBatches(const perception::Detector& detector);
// Of a model task: one picture after the other, of any size.
std::unique_ptr<BatchFinder> MakeModelBatches(std::string name, const perception::PictureModel& model);

}  // namespace wharf::ar
