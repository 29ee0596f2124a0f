#include "wharf/ar/client/result_tracker.h"

#include <algorithm>
#include <utility>

#include "wharf/ar/result_coding.h"
#include "wharf/track/depth_warp.h"
#include "wharf/track/metrics.h"

namespace wharf::ar {
namespace {

constexpr size_t kMostAsked = 16;  // frames on their way; an older one's answer is of no use any more

}  // namespace

template <typename Found>
absl::Status TrackerOf<Found>::OnFrame(const FramePointer& frame) {
  frame_ = frame;
  tracks_ = false;
  WHARF_RETURN_IF_ERROR(Observe(frame));
  if (newest_ == nullptr) return absl::OkStatus();
  WHARF_ASSIGN_OR_RETURN(result_, Track(frame));
  tracks_ = true;
  return absl::OkStatus();
}

template <typename Found>
void TrackerOf<Found>::Offloaded() {
  Asked asked = {frame_, {}, {}};
  if (tracks_) asked.near = {result_, Stride()};
  if (older_ != nullptr) {
    absl::StatusOr<Found> far = TrackOlder(frame_);
    if (far.ok()) asked.far = {*std::move(far), static_cast<int>(frame_->index - older_->index)};
  }
  Mark();
  asked_.push_back(std::move(asked));
  if (asked_.size() > kMostAsked) asked_.pop_front();
}

template <typename Found>
absl::StatusOr<std::optional<SeenDrops>> TrackerOf<Found>::Compare(const Asked& asked, const Found& found) const {
  if (!asked.near || !asked.far) return std::nullopt;
  WHARF_ASSIGN_OR_RETURN(const double near, Drop(asked.near->found, found));
  WHARF_ASSIGN_OR_RETURN(const double far, Drop(asked.far->found, found));
  return SeenDrops{{static_cast<double>(asked.near->stride), near}, {static_cast<double>(asked.far->stride), far}};
}

template <typename Found>
absl::StatusOr<std::optional<SeenDrops>> TrackerOf<Found>::Accept(int64_t frame, std::vector<std::byte> bytes) {
  const auto asked = std::ranges::find(asked_, frame, [](const Asked& one) { return one.frame->index; });
  if (asked == asked_.end()) return NotFound("nobody asked for frame {}", frame);
  WHARF_ASSIGN_OR_RETURN(Found found, Decode(asked->frame, std::move(bytes)));
  const auto seen = Compare(*asked, found);
  older_ = std::exchange(newest_, asked->frame);
  asked_.erase(asked_.begin(), asked + 1);  // older ones would be a step back
  WHARF_RETURN_IF_ERROR(Begin(newest_, std::move(found)));
  return seen.ok() ? *seen : std::nullopt;  // a picture of which nothing is known shows nothing
}

absl::Status TrackedDepth::Observe(const FramePointer& frame) {
  if (frame->image.width != camera_.width || frame->image.height != camera_.height)
    return InvalidArgument("frame {} is not {} x {}", frame->index, camera_.width, camera_.height);
  return motion_.Observe(frame);
}

absl::StatusOr<multitask::DepthPointer> TrackedDepth::Decode(const FramePointer&, std::vector<std::byte> found) {
  WHARF_ASSIGN_OR_RETURN(scene::DepthMap depth, DecodeDepth(std::move(found), coding_, camera_.width, camera_.height));
  return std::make_shared<const scene::DepthMap>(std::move(depth));
}

absl::StatusOr<double> TrackedDepth::Drop(const multitask::DepthPointer& tracked,
                                          const multitask::DepthPointer& found) const {
  return track::AbsRel(*tracked, *found);
}

absl::Status TrackedDepth::Begin(const FramePointer& frame, multitask::DepthPointer found) {
  older_source_ = std::exchange(newest_source_, {frame, std::move(found)});
  if (older_source_.depth != nullptr) MeasureMotion();
  return absl::OkStatus();
}

// Between the two pictures that were answered last. Where there is too little to follow the IMU goes on alone.
void TrackedDepth::MeasureMotion() {
  absl::StatusOr<track::MotionEstimate> motion =
      features_({older_source_.frame, older_source_.depth, {}}, newest_source_.frame);
  if (!motion.ok()) return;
  multitask::OdometryAnswer answer;
  answer.measured = {older_source_.frame->index, *std::move(motion)};
  motion_.Accept(newest_source_.frame->index, answer).IgnoreError();  // too old, or nonsense: it has changed nothing
}

absl::StatusOr<multitask::DepthPointer> TrackedDepth::WarpFrom(const Source& source) const {
  WHARF_ASSIGN_OR_RETURN(const scene::Pose motion, motion_.MotionSince(source.frame->index));
  return std::make_shared<const scene::DepthMap>(track::WarpDepth(*source.depth, camera_, motion));
}

absl::StatusOr<multitask::DepthPointer> TrackedDepth::Track(const FramePointer&) { return WarpFrom(newest_source_); }

absl::StatusOr<multitask::DepthPointer> TrackedDepth::TrackOlder(const FramePointer&) {
  return WarpFrom(older_source_);
}

absl::StatusOr<std::vector<scene::Box>> TrackedBoxes::Decode(const FramePointer&, std::vector<std::byte> found) {
  return DecodeBoxes(found);
}

absl::StatusOr<double> TrackedBoxes::Drop(const std::vector<scene::Box>& tracked,
                                          const std::vector<scene::Box>& found) const {
  return 1 - track::MeanIou(tracked, found);
}

absl::Status TrackedBoxes::Begin(const FramePointer& frame, std::vector<scene::Box> found) {
  std::swap(tracker_, older_tracker_);
  return tracker_.Start(frame->image, std::move(found));
}

absl::StatusOr<std::vector<scene::Box>> TrackedBoxes::Track(const FramePointer& frame) {
  return tracker_.Track(frame->image);
}

absl::StatusOr<std::vector<scene::Box>> TrackedBoxes::TrackOlder(const FramePointer& frame) {
  return older_tracker_.Track(frame->image);
}

template class TrackerOf<multitask::DepthPointer>;
template class TrackerOf<std::vector<scene::Box>>;
template class TrackerOf<std::shared_ptr<const void>>;

}  // namespace wharf::ar
