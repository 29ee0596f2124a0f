#include "wharf/ar/result_tracker.h"

#include <algorithm>
#include <utility>

#include "wharf/ar/result_coding.h"
#include "wharf/track/depth_warp.h"
#include "wharf/track/drop_rate.h"

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
  asked_.push_back({frame_, tracks_ ? std::optional(result_) : std::nullopt, Stride()});
  if (asked_.size() > kMostAsked) asked_.pop_front();
}

template <typename Found>
absl::StatusOr<std::optional<double>> TrackerOf<Found>::Accept(int64_t frame, std::vector<std::byte> bytes) {
  const auto asked = std::ranges::find(asked_, frame, [](const Asked& one) { return one.frame->index; });
  if (asked == asked_.end()) return NotFound("nobody asked for frame {}", frame);
  WHARF_ASSIGN_OR_RETURN(Found found, Decode(std::move(bytes)));
  std::optional<double> drop_rate;
  if (asked->tracked) {
    const absl::StatusOr<double> measured = DropRate(*asked->tracked, found, asked->stride);
    if (measured.ok()) drop_rate = std::max(0.0, *measured);
  }
  newest_ = asked->frame;
  asked_.erase(asked_.begin(), asked + 1);  // older ones would be a step back
  WHARF_RETURN_IF_ERROR(Begin(newest_, std::move(found)));
  return drop_rate;
}

absl::Status TrackedDepth::Observe(const FramePointer& frame) {
  if (frame->image.width != camera_.width || frame->image.height != camera_.height)
    return InvalidArgument("frame {} is not {} x {}", frame->index, camera_.width, camera_.height);
  return motion_.Observe(frame);
}

absl::StatusOr<multitask::DepthPointer> TrackedDepth::Decode(std::vector<std::byte> found) const {
  WHARF_ASSIGN_OR_RETURN(scene::DepthMap depth, DecodeDepth(std::move(found), coding_, camera_.width, camera_.height));
  return std::make_shared<const scene::DepthMap>(std::move(depth));
}

absl::StatusOr<double> TrackedDepth::DropRate(const multitask::DepthPointer& tracked,
                                              const multitask::DepthPointer& found, int stride) const {
  return track::DepthDropRate(*tracked, *found, stride);
}

absl::Status TrackedDepth::Begin(const FramePointer& frame, multitask::DepthPointer found) {
  from_ = std::move(found);
  from_frame_ = frame->index;
  return absl::OkStatus();
}

absl::StatusOr<multitask::DepthPointer> TrackedDepth::Track(const FramePointer&) {
  WHARF_ASSIGN_OR_RETURN(const scene::Pose motion, motion_.MotionSince(from_frame_));
  return std::make_shared<const scene::DepthMap>(track::WarpDepth(*from_, camera_, motion));
}

absl::StatusOr<std::vector<scene::Box>> TrackedBoxes::Decode(std::vector<std::byte> found) const {
  return DecodeBoxes(found);
}

absl::StatusOr<double> TrackedBoxes::DropRate(const std::vector<scene::Box>& tracked,
                                              const std::vector<scene::Box>& found, int stride) const {
  return track::BoxDropRate(tracked, found, stride);
}

absl::Status TrackedBoxes::Begin(const FramePointer& frame, std::vector<scene::Box> found) {
  return tracker_.Start(frame->image, std::move(found));
}

absl::StatusOr<std::vector<scene::Box>> TrackedBoxes::Track(const FramePointer& frame) {
  return tracker_.Track(frame->image);
}

template class TrackerOf<multitask::DepthPointer>;
template class TrackerOf<std::vector<scene::Box>>;

}  // namespace wharf::ar
