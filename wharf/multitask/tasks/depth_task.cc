#include "wharf/multitask/tasks/depth_task.h"

#include <algorithm>

#include "wharf/base/status.h"
#include "wharf/track/depth_accuracy.h"
#include "wharf/track/depth_fusion.h"
#include "wharf/track/depth_warp.h"

namespace wharf::multitask {

absl::StatusOr<AnswerPointer> DepthServer::Serve(const FramePointer& frame) {
  auto answer = std::make_shared<DepthAnswer>();
  WHARF_ASSIGN_OR_RETURN(answer->depth, network_(frame));
  return answer;
}

DepthTask::DepthTask(const scene::Intrinsics& camera, DepthEstimator lite, const DepthCalibration& calibration,
                     const PoseSource& poses, bool fuses)
    : camera_(camera),
      lite_(std::move(lite)),
      calibration_(calibration),
      poses_(poses),
      fuses_(fuses),
      drop_share_(fuses ? calibration.fused_drop_share : 1),
      estimate_{calibration.drop_rate * drop_share_,
                std::max(0.0, calibration.lite_abs_rel - calibration.server_abs_rel)} {}

absl::Status DepthTask::Observe(const FramePointer& frame) {
  if (frame->image.width != camera_.width || frame->image.height != camera_.height)
    return InvalidArgument("frame {} is not {} x {}", frame->index, camera_.width, camera_.height);
  frame_ = frame;
  lite_depth_ = nullptr;
  return absl::OkStatus();
}

void DepthTask::Offloaded() {
  const absl::StatusOr<DepthPointer> lite = Lite();
  asked_ = Known{frame_, lite.ok() ? *lite : nullptr};
}

absl::Status DepthTask::Accept(int64_t frame, const Answer& answer) {
  const auto* const depth = dynamic_cast<const DepthAnswer*>(&answer);
  if (depth == nullptr || depth->depth == nullptr) return InvalidArgument("an answer that is not depth");
  if (depth->depth->width != camera_.width || depth->depth->height != camera_.height)
    return InvalidArgument("a depth map that is not {} x {}", camera_.width, camera_.height);
  if (!asked_.has_value() || asked_->frame->index != frame) return NotFound("nobody asked for frame {}", frame);
  newest_ = Known{asked_->frame, depth->depth};
  if (asked_->depth != nullptr) {
    const absl::StatusOr<double> drop =
        track::LiteDepthDrop(*asked_->depth, *depth->depth, calibration_.server_abs_rel);
    if (drop.ok()) estimate_.local_drop = calibration_.lite_correction.At(*drop);
    if (fuses_) newest_->lite_scale = track::DepthScale(*depth->depth, *asked_->depth);
  }
  asked_.reset();
  return absl::OkStatus();
}

std::optional<AccuracyModel> DepthTask::TrackerModel() const {
  if (!newest_.has_value() || frame_->index <= newest_->frame->index) return std::nullopt;
  absl::StatusOr<scene::Pose> motion = poses_.MotionSince(newest_->frame->index);
  if (!motion.ok()) return std::nullopt;
  return [known = *newest_, now = frame_, camera = camera_, motion = *std::move(motion)] {
    return track::DepthTrackerDropRate(known.frame->image, *known.depth, now->image, camera, motion,
                                       static_cast<int>(now->index - known.frame->index));
  };
}

absl::Status DepthTask::Track() {
  if (!newest_.has_value()) return FailedPrecondition("no depth has come from the server yet");
  WHARF_ASSIGN_OR_RETURN(const scene::Pose motion, poses_.MotionSince(newest_->frame->index));
  scene::DepthMap tracked = track::WarpDepth(*newest_->depth, camera_, motion);
  const absl::StatusOr<DepthPointer> lite = fuses_ ? Lite() : nullptr;
  if (lite.ok() && *lite != nullptr) tracked = track::FuseDepth(std::move(tracked), **lite, newest_->lite_scale);
  result_ = std::make_shared<scene::DepthMap>(std::move(tracked));
  return absl::OkStatus();
}

absl::Status DepthTask::RunLocalAlgorithm() {
  WHARF_ASSIGN_OR_RETURN(result_, Lite());
  return absl::OkStatus();
}

absl::StatusOr<DepthPointer> DepthTask::Lite() {
  if (lite_depth_ == nullptr) {
    WHARF_ASSIGN_OR_RETURN(lite_depth_, lite_(frame_));
  }
  return lite_depth_;
}

}  // namespace wharf::multitask
