#include "wharf/cli/ar/drop_table.h"

#include <algorithm>
#include <deque>
#include <numeric>

#include "wharf/ar/result_coding.h"
#include "wharf/split/codec/jpeg.h"
#include "wharf/track/box_tracker.h"
#include "wharf/track/depth_warp.h"
#include "wharf/track/metrics.h"

namespace wharf::cli {
namespace {

using serving::DropSample;

class DepthTask {
 public:
  // A frame, and what is found in it.
  struct Seen {
    scene::DepthMap result, truth;
    scene::Pose pose;
    double error = 0;  // of the result, against the truth
  };

  DepthTask(const perception::DepthNetwork& network) : network_(network) {}
  int Width() const { return network_.Width(); }
  int Height() const { return network_.Height(); }

  absl::StatusOr<Seen> Look(const scene::Frame& frame, scene::Truth truth) const {
    Seen seen;
    WHARF_ASSIGN_OR_RETURN(seen.result, network_.Estimate(frame.image));
    seen.truth = std::move(truth.depth);
    seen.pose = truth.pose;
    WHARF_ASSIGN_OR_RETURN(seen.error, track::AbsRel(seen.result, seen.truth));
    return seen;
  }
  std::vector<std::byte> Encode(const Seen& seen) const { return ar::EncodeDepth(seen.result, ar::DepthCoding::kJpeg); }
  absl::Status Decode(std::vector<std::byte> bytes) const {
    return ar::DecodeDepth(std::move(bytes), ar::DepthCoding::kJpeg, Width(), Height()).status();
  }

  absl::StatusOr<DropSample> Track(const Seen& from, const Seen& to) const {
    const scene::DepthMap tracked =
        track::WarpDepth(from.result, scene::World::Camera(Width(), Height()), scene::RelativePose(from.pose, to.pose));
    WHARF_ASSIGN_OR_RETURN(const double error, track::AbsRel(tracked, to.truth));
    WHARF_ASSIGN_OR_RETURN(const double seen, track::AbsRel(tracked, to.result));
    return DropSample{static_cast<float>(error - to.error), static_cast<float>(seen)};
  }

 private:
  const perception::DepthNetwork& network_;
};

class DetectionTask {
 public:
  struct Seen {
    scene::Image image;
    std::vector<scene::Box> result, truth;
    double iou = 0;  // of the result, with the truth
  };

  DetectionTask(const perception::Detector& network) : network_(network) {}
  int Width() const { return network_.Width(); }
  int Height() const { return network_.Height(); }

  absl::StatusOr<Seen> Look(const scene::Frame& frame, scene::Truth truth) const {
    Seen seen{frame.image, {}, std::move(truth.boxes)};
    WHARF_ASSIGN_OR_RETURN(seen.result, network_.Detect(frame.image));
    seen.iou = track::MeanIou(seen.result, seen.truth);
    return seen;
  }
  std::vector<std::byte> Encode(const Seen& seen) const { return ar::EncodeBoxes(seen.result); }
  absl::Status Decode(std::vector<std::byte> bytes) const { return ar::DecodeBoxes(bytes).status(); }

  absl::StatusOr<DropSample> Track(const Seen& from, const Seen& to) const {
    track::BoxTracker tracker;
    WHARF_RETURN_IF_ERROR(tracker.Start(from.image, from.result));
    WHARF_ASSIGN_OR_RETURN(const std::vector<scene::Box> tracked, tracker.Track(to.image));
    return DropSample{static_cast<float>(to.iou - track::MeanIou(tracked, to.truth)),
                      static_cast<float>(1 - track::MeanIou(tracked, to.result))};
  }

 private:
  const perception::Detector& network_;
};

absl::Status Check(const DropTableOptions& options) {
  if (options.frames < 1 || options.frames > scene::World::kFrames) {
    return InvalidArgument("a video has {} frames, not {}", scene::World::kFrames, options.frames);
  }
  if (options.step < 1 || options.strides.empty()) return InvalidArgument("no frames to look at");
  if (std::ranges::min(options.strides) < 1) return InvalidArgument("a stride is a frame at least");
  return absl::OkStatus();
}

// Frames between those that all rows and strides need.
int LookingStep(const DropTableOptions& options) {
  int step = options.step;
  for (const int stride : options.strides) step = std::gcd(step, stride);
  return step;
}

// Looks at the frames that rows and strides need, and keeps those that the longest stride does.
template <typename Task>
class TableMaker {
 public:
  TableMaker(const scene::World& world, const Task& task, std::string video, const DropTableOptions& options)
      : world_(world), task_(task), options_(options), looking_step_(LookingStep(options)) {
    data_.video = std::move(video);
    data_.fps = scene::World::kFramesPerSecond;
    data_.frames = options.frames;
    data_.step = options.step;
    data_.strides = options.strides;
  }

  absl::StatusOr<serving::DropTable> Make() {
    for (int64_t frame = 0; frame < data_.frames; frame += data_.step) {
      for (; window_begin_ < frame && !window_.empty(); window_begin_ += looking_step_) window_.pop_front();
      window_begin_ = frame;
      while (NextLook() <= std::min<int64_t>(frame + data_.strides.back(), data_.frames - 1)) {
        WHARF_RETURN_IF_ERROR(LookAhead());
      }
      WHARF_RETURN_IF_ERROR(AddRow());
    }
    for (double* sum : {&data_.frame_bytes, &data_.result_bytes, &data_.client_s}) *sum /= looks_;
    return serving::DropTable::Make(std::move(data_));
  }

 private:
  int64_t NextLook() const { return window_begin_ + static_cast<int64_t>(window_.size()) * looking_step_; }

  absl::Status LookAhead() {
    const int64_t index = NextLook();
    const scene::Frame frame = world_.FrameAt(index, task_.Width(), task_.Height());
    WHARF_ASSIGN_OR_RETURN(auto seen, task_.Look(frame, world_.TruthAt(index, task_.Width(), task_.Height())));
    WHARF_RETURN_IF_ERROR(Measure(frame.image, seen));
    window_.push_back(std::move(seen));
    ++looks_;
    return absl::OkStatus();
  }

  // What the client does besides tracking: it encodes the frame and decodes the result.
  absl::Status Measure(const scene::Image& image, const typename Task::Seen& seen) {
    split::Image picture;
    picture.width = image.width;
    picture.height = image.height;
    picture.channels = 3;
    picture.pixels = image.rgb;
    TimePoint begin = cpu_.Now();
    WHARF_ASSIGN_OR_RETURN(const std::vector<std::byte> jpeg, split::EncodeJpeg(picture, options_.jpeg_quality));
    data_.client_s += Seconds(cpu_.Now() - begin);
    data_.frame_bytes += static_cast<double>(jpeg.size());
    std::vector<std::byte> result = task_.Encode(seen);
    data_.result_bytes += static_cast<double>(result.size());
    begin = cpu_.Now();
    WHARF_RETURN_IF_ERROR(task_.Decode(std::move(result)));
    data_.client_s += Seconds(cpu_.Now() - begin);
    return absl::OkStatus();
  }

  // Of the window's first frame. Frames beyond the video's end are never asked for.
  absl::Status AddRow() {
    for (const int stride : options_.strides) {
      const auto to = static_cast<size_t>(stride / looking_step_);
      DropSample sample;
      if (to < window_.size()) {
        WHARF_ASSIGN_OR_RETURN(sample, task_.Track(window_.front(), window_[to]));
      }
      data_.samples.push_back(sample);
    }
    return absl::OkStatus();
  }

  const scene::World& world_;
  const Task& task_;
  const DropTableOptions& options_;
  const int looking_step_;
  const Clock& cpu_ = Clock::OfProcess();  // other work on the machine is not the client's
  serving::DropTableData data_;
  std::deque<typename Task::Seen> window_;  // every looking_step_-th frame
  int64_t window_begin_ = 0;                // the first one's
  int looks_ = 0;
};

}  // namespace

absl::StatusOr<serving::DropTable> MakeDepthDropTable(const scene::World& world, std::string video,
                                                      const perception::DepthNetwork& network,
                                                      const DropTableOptions& options) {
  WHARF_RETURN_IF_ERROR(Check(options));
  const DepthTask task(network);
  return TableMaker(world, task, std::move(video), options).Make();
}

absl::StatusOr<serving::DropTable> MakeDetectionDropTable(const scene::World& world, std::string video,
                                                          const perception::Detector& network,
                                                          const DropTableOptions& options) {
  WHARF_RETURN_IF_ERROR(Check(options));
  const DetectionTask task(network);
  return TableMaker(world, task, std::move(video), options).Make();
}

}  // namespace wharf::cli
