#include "wharf/cli/ar/view_file.h"

#include <utility>

#include "wharf/cli/common/files.h"

namespace wharf::cli {
namespace {

constexpr int kVideoEvery = 2, kPageEvery = 6;  // frames, of which one is shown

bool EndsAs(const std::string& path, std::initializer_list<const char*> endings) {
  return std::ranges::any_of(endings, [&](const char* ending) { return path.ends_with(ending); });
}

}  // namespace

absl::StatusOr<ViewFile> ViewFile::Create(const std::string& path, const std::string& title,
                                          const std::vector<std::string>& tasks, const scene::Source& source,
                                          const scene::World* world) {
  ViewFile file;
  file.path_ = path;
  file.world_ = world;
  file.content_.title = title;
  file.content_.frames_per_s = source.FramesPerSecond();
  for (const std::string& task : tasks) file.content_.schedule.push_back({task, {}});
  if (path.empty()) return file;
  if (!EndsAs(path, {".png", ".jpg", ".jpeg", ".html", ".mp4", ".avi"})) {
    return InvalidArgument("{}: a view is a picture (.png, .jpg), a page (.html) or a video (.mp4, .avi)", path);
  }
  if (EndsAs(path, {".html"})) {
    WHARF_RETURN_IF_ERROR(CheckWritable(path));
    file.page_.emplace(title, tasks);
  }
  if (EndsAs(path, {".mp4", ".avi"})) {
    const scene::ViewSize size = scene::SizeOfView(source.Camera().width, source.Camera().height);
    WHARF_ASSIGN_OR_RETURN(
        file.video_, scene::VideoWriter::Create(path, size.width, size.height, source.FramesPerSecond() / kVideoEvery));
  }
  return file;
}

void ViewFile::Add(const scene::Frame& frame, const SeenFrame& seen) {
  if (path_.empty()) return;
  content_.index = frame.index;
  content_.time_s = static_cast<double>(frame.index) / content_.frames_per_s;
  if (seen.pose) {
    content_.estimated.push_back(seen.pose->pose);
    content_.pose_state = track::PoseStateName(seen.pose->state);
    content_.pose_good = seen.pose->state == track::PoseState::kGood;
    content_.pose_why = seen.pose->why;
    content_.position_sd_m = seen.pose->PositionSd();
    if (world_ != nullptr) {
      const double time_s = static_cast<double>(frame.index) / scene::World::kFramesPerSecond;
      content_.truth.push_back(world_->MotionAt(time_s).pose);
    }
  }
  for (size_t task = 0; task < content_.schedule.size(); ++task)
    content_.schedule[task].offloaded.push_back(seen.offloaded[task]);
  content_.agreement = seen.agreement;
  Show(frame, seen);
  ++frames_;
}

void ViewFile::Show(const scene::Frame& frame, const SeenFrame& seen) {
  content_.frame = &frame.image;
  content_.depth = seen.depth.get();
  content_.boxes = seen.boxes;
  if (page_) {
    page_->Count(content_);
    if (frames_ % kPageEvery == 0) page_->Add(content_);
  } else if (!video_) {
    last_ = scene::DrawView(content_);
  } else if (frames_ % kVideoEvery == 0) {
    video_->Add(scene::DrawView(content_));
  }
  content_.frame = nullptr;
  content_.depth = nullptr;
}

absl::Status ViewFile::Finish() {
  if (path_.empty() || video_) return absl::OkStatus();
  if (frames_ == 0) return FailedPrecondition("there is no frame to show");
  return page_ ? WriteFile(path_, page_->Text()) : scene::SavePicture(path_, last_);
}

}  // namespace wharf::cli
