#include "wharf/multitask/tasks/odometry_task.h"

#include "wharf/base/status.h"

namespace wharf::multitask {

MotionEstimator FeatureMotion(const scene::Intrinsics& camera, const track::OdometryOptions& options) {
  return [camera, options](const Reference& first, const FramePointer& second) {
    return track::EstimateMotion(first.frame->image, *first.depth, second->image, camera, options, first.movable);
  };
}

absl::StatusOr<AnswerPointer> OdometryServer::Serve(const FramePointer& frame) {
  const std::optional<Reference> before = std::exchange(before_, std::nullopt);
  Reference now{frame, nullptr, {}};
  WHARF_ASSIGN_OR_RETURN(now.depth, depth_(frame));
  if (detector_ != nullptr) {
    WHARF_ASSIGN_OR_RETURN(now.movable, detector_(frame));
  }
  before_ = std::move(now);
  auto answer = std::make_shared<OdometryAnswer>();
  if (before.has_value()) {
    WHARF_ASSIGN_OR_RETURN(track::MotionEstimate motion, motion_(*before, frame));
    answer->measured = {before->frame->index, std::move(motion)};
  }
  return answer;
}

OdometryTask::OdometryTask(const OdometryTaskOptions& options)
    : options_(options), filter_(options.filter), monitor_(options.state) {
  filter_.Start(options.start);
}

absl::Status OdometryTask::Observe(const FramePointer& frame) {
  absl::Status status;
  for (const scene::ImuSample& sample : frame->imu) status.Update(filter_.Predict(sample));
  newest_frame_ = frame->index;
  if (!status.ok()) monitor_.Refused(TimeOf(newest_frame_));
  estimate_ = monitor_.Judge(filter_, TimeOf(newest_frame_));
  poses_.push_back(filter_.pose());
  if (poses_.size() > options_.history) poses_.pop_front();
  return status;
}

void OdometryTask::Offloaded() { filter_.Mark(newest_frame_); }

absl::Status OdometryTask::Accept(int64_t frame, const Answer& answer) {
  const auto* const odometry = dynamic_cast<const OdometryAnswer*>(&answer);
  if (odometry == nullptr) return InvalidArgument("an answer that is not odometry");
  if (!odometry->measured.has_value()) return filter_.PoseAt(frame).status();
  WHARF_RETURN_IF_ERROR(filter_.Update(odometry->measured->from, frame, odometry->measured->motion));
  monitor_.Measured(TimeOf(frame), filter_.innovation());
  estimate_ = monitor_.Judge(filter_, TimeOf(newest_frame_));
  // Everything follows the corrected pose of `frame`; what came after it keeps its own shape, but for the newest.
  const scene::Pose* const before = Recorded(frame);
  const absl::StatusOr<scene::Pose> after = filter_.PoseAt(frame);
  if (before != nullptr && after.ok()) {
    const scene::Pose correction = *after * before->Inverse();
    for (scene::Pose& pose : poses_) pose = correction * pose;
  }
  poses_.back() = filter_.pose();
  return absl::OkStatus();
}

AccuracyEstimate OdometryTask::estimate() const {
  const size_t count = std::min(options_.window, poses_.size());
  const std::vector<scene::Pose> window(poses_.end() - static_cast<std::ptrdiff_t>(count), poses_.end());
  return {options_.accuracy.DropRate(track::MeanAngularVelocity(window, options_.frame_s)), kNoLocalAlgorithm};
}

absl::StatusOr<scene::Pose> OdometryTask::MotionSince(int64_t frame) const {
  const scene::Pose* const then = Recorded(frame);
  if (then == nullptr) return NotFound("the pose of frame {} is not known any more", frame);
  return scene::RelativePose(*then, filter_.pose());
}

const scene::Pose* OdometryTask::Recorded(int64_t frame) const {
  const int64_t age = newest_frame_ - frame;
  if (age < 0 || age >= static_cast<int64_t>(poses_.size())) return nullptr;
  return &poses_[poses_.size() - 1 - static_cast<size_t>(age)];
}

}  // namespace wharf::multitask
