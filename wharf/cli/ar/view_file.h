// ViewFile: what an AR client sees and does, frame by frame, as a video, a picture (scene/view) or a page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wharf/cli/ar/view_page.h"
#include "wharf/multitask/tasks/depth_task.h"
#include "wharf/scene/source/recording.h"
#include "wharf/scene/source/source.h"
#include "wharf/scene/view/view.h"
#include "wharf/track/pose_state/pose_state.h"

namespace wharf::cli {

// Of one frame.
struct SeenFrame {
  multitask::DepthPointer depth;  // null: none
  std::vector<scene::Box> boxes;
  std::optional<track::PoseEstimate> pose;
  std::vector<bool> offloaded;  // of each task
  std::string agreement;        // on accuracy, and how it is kept; empty: none
};

// Takes some ten milliseconds for every frame that is shown: of a video every second, of a page every sixth, of a
// picture the last.
class ViewFile {
 public:
  // By the name's ending: .png, .jpg (of the last frame), .html, .mp4, .avi. An empty path: nothing is kept. `title`:
  // whose view it is; `tasks`: their names. `world`: null if what is true is not known; must outlive it.
  // kInvalidArgument: another ending. kUnimplemented: OpenCV cannot write such a file here.
  static absl::StatusOr<ViewFile> Create(const std::string& path, const std::string& title,
                                         const std::vector<std::string>& tasks, const scene::Source& source,
                                         const scene::World* world);
  bool Shows() const { return !path_.empty(); }
  void Add(const scene::Frame& frame, const SeenFrame& seen);
  absl::Status Finish();

 private:
  void Show(const scene::Frame& frame, const SeenFrame& seen);

  std::string path_;
  const scene::World* world_ = nullptr;
  std::optional<scene::VideoWriter> video_;  // or
  std::optional<ViewPage> page_;             // or a picture:
  scene::Image last_;
  scene::ViewContent content_;
  int64_t frames_ = 0;
};

}  // namespace wharf::cli
