#include "wharf/cli/ar/view_file.h"

#include <utility>

namespace wharf::cli {
namespace {

constexpr int kEvery = 2;  // frames, of which one is in a video

bool IsPicture(const std::string& path) {
  return path.ends_with(".png") || path.ends_with(".jpg") || path.ends_with(".jpeg");
}

}  // namespace

absl::StatusOr<ViewFile> ViewFile::Create(const std::string& path, const scene::Source& source,
                                          const scene::World* world) {
  ViewFile file;
  file.path_ = path;
  file.world_ = world;
  if (path.empty() || IsPicture(path)) return file;
  const scene::Intrinsics camera = source.Camera();
  const scene::Image empty{camera.width, camera.height, std::vector<uint8_t>(size_t{3} * camera.width * camera.height)};
  const scene::Image view = scene::DrawView({.frame = &empty});  // as large as all will be
  WHARF_ASSIGN_OR_RETURN(file.video_,
                         scene::VideoWriter::Create(path, view.width, view.height, source.FramesPerSecond() / kEvery));
  return file;
}

void ViewFile::Add(const scene::Frame& frame, const SeenFrame& seen) {
  if (path_.empty()) return;
  if (seen.pose) {
    estimated_.push_back(*seen.pose);
    if (world_ != nullptr)
      truth_.push_back(world_->MotionAt(static_cast<double>(frame.index) / scene::World::kFramesPerSecond).pose);
  }
  schedule_.resize(seen.offloaded.size());
  for (size_t task = 0; task < schedule_.size(); ++task) schedule_[task].offloaded.push_back(seen.offloaded[task]);
  const bool shown = frames_++ % kEvery == 0;
  if (!video_) {
    last_ = Draw(frame.image, seen);
  } else if (shown) {
    video_->Add(Draw(frame.image, seen));
  }
}

scene::Image ViewFile::Draw(const scene::Image& image, const SeenFrame& seen) const {
  return scene::DrawView({.frame = &image,
                          .depth = seen.depth.get(),
                          .boxes = seen.boxes,
                          .estimated = estimated_,
                          .truth = truth_,
                          .schedule = schedule_});
}

absl::Status ViewFile::Finish() {
  if (path_.empty() || video_) return absl::OkStatus();
  if (last_.width == 0) return FailedPrecondition("there is no frame to show");
  return scene::SavePicture(path_, last_);
}

}  // namespace wharf::cli
