// ViewFile: what an AR client sees and does, frame by frame, as a video or a picture (scene/view.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wharf/multitask/tasks/depth_task.h"
#include "wharf/scene/source/recording.h"
#include "wharf/scene/source/source.h"
#include "wharf/scene/view.h"

namespace wharf::cli {

// Of one frame.
struct SeenFrame {
  multitask::DepthPointer depth;  // null: none
  std::vector<scene::Box> boxes;
  std::optional<scene::Pose> pose;
  std::vector<bool> offloaded;  // of each task
};

// Takes a few milliseconds for every frame that is shown: of a video every second, at half the camera's rate.
class ViewFile {
 public:
  // By the name's ending: .png, .jpg (of the last frame), else a video. An empty path: nothing is kept. `world`: null
  // if what is true is not known; must outlive it. kUnimplemented: OpenCV cannot write such a file here.
  static absl::StatusOr<ViewFile> Create(const std::string& path, const scene::Source& source,
                                         const scene::World* world);
  void Add(const scene::Frame& frame, const SeenFrame& seen);
  absl::Status Finish();

 private:
  scene::Image Draw(const scene::Image& image, const SeenFrame& seen) const;

  std::string path_;
  const scene::World* world_ = nullptr;
  std::optional<scene::VideoWriter> video_;  // or a picture
  scene::Image last_;
  std::vector<scene::Pose> estimated_, truth_;
  std::vector<scene::ScheduleRow> schedule_;
  int64_t frames_ = 0;
};

}  // namespace wharf::cli
