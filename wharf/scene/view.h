// One picture of what an AR client sees and does, for `wharf ar view`: above, the frame with boxes beside its depth in
// colours; below, the way from above beside the schedule.
#pragma once

#include <vector>

#include "wharf/scene/scene.h"

namespace wharf::scene {

// Of one task: which frames were sent to the server.
struct ScheduleRow {
  std::vector<bool> offloaded;  // by frame, the last is the one shown
};

struct ViewContent {
  const Image* frame = nullptr;     // required
  const DepthMap* depth = nullptr;  // of the frame's size; null: none
  std::vector<Box> boxes;           // in the frame
  std::vector<Pose> estimated;      // the poses up to now; the last is this frame's
  std::vector<Pose> truth;          // the same if known, or empty
  std::vector<ScheduleRow> schedule;
};

// Twice the frame's width, and its height and half of it again. Depth: near is red, 80 m and beyond blue, unknown
// black. Boxes: vehicles orange, people green. The way: estimated white, true green, this frame's place a red dot. The
// schedule: the last frames from left to right, a band a task, bright where it was offloaded.
// REQUIRES: depth, if any, is of the frame's size.
Image DrawView(const ViewContent& content);

}  // namespace wharf::scene
