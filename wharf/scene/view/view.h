// One picture of what an AR client sees and does, for `wharf ar view`: above, the frame with boxes beside its depth in
// colours; below, the way from above beside the schedule.
#pragma once

#include <string>
#include <vector>

#include "wharf/scene/scene.h"

namespace wharf::scene {

// Of one task: which frames were sent to the server.
struct ScheduleRow {
  std::string name;
  std::vector<bool> offloaded;  // by frame, the last is the one shown
};

struct ViewContent {
  const Image* frame = nullptr;     // required
  const DepthMap* depth = nullptr;  // of the frame's size; null: none
  std::vector<Box> boxes;           // in the frame
  std::vector<Pose> estimated;      // the poses up to now; the last is this frame's
  std::vector<Pose> truth;          // the same if known, or empty
  std::vector<ScheduleRow> schedule;
  int64_t index = 0;  // of the frame
  double time_s = 0, frames_per_s = 60;
  std::string title;       // whose view it is
  std::string pose_state;  // in a word; empty: there is no pose
  std::string pose_why;    // it is not good; empty: it is
  bool pose_good = false;
  double position_sd_m = 0;
  std::string agreement;  // on accuracy, and how it is kept, in words; empty: there is none
};

// How large the picture of a frame of this size is.
struct ViewSize {
  int width = 1280, height = 0;
};
ViewSize SizeOfView(int frame_width, int frame_height);

// A picture of SizeOfView. Depth: near is red, 80 m and beyond blue; the sky, and what is unknown, grey. Boxes:
// vehicles orange, people green. The way, scaled to what was driven: estimated blue, true green, this frame's place a
// dot with the ellipse that its standard deviation draws. The schedule: the last ten seconds, a band a task, bright
// where it was offloaded. Text is drawn in strokes (Hershey's), so that no font is needed. REQUIRES: depth, if any, is
// of the frame's size.
Image DrawView(const ViewContent& content);

// Depth alone, in these colours, where `frame` shows no sky.
Image DepthPicture(const DepthMap& depth, const Image& frame);

// Where a picture shows the sky: what is blue, or white as clouds are, without edges, and reaches the upper border.
// Row-major, one value a pixel. A guess by colour; it knows nothing of white walls that reach the border.
std::vector<bool> SkyIn(const Image& frame);

}  // namespace wharf::scene
