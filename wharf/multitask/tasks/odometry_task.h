// The odometry task: the motion between the frames that are offloaded from features and depth on the server, a Kalman
// filter over the IMU as local tracker and local algorithm in one (thesis 2.6.2).
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "wharf/multitask/task.h"
#include "wharf/multitask/tasks/boxes_task.h"
#include "wharf/multitask/tasks/depth_task.h"
#include "wharf/multitask/tasks/pose_source.h"
#include "wharf/track/motion.h"
#include "wharf/track/odometry.h"
#include "wharf/track/odometry_accuracy.h"
#include "wharf/track/pose_filter.h"
#include "wharf/track/pose_state/pose_state.h"

namespace wharf::multitask {

struct OdometryAnswer final : Answer {
  struct Measured {
    int64_t from = 0;  // the frame offloaded before
    track::MotionEstimate motion;
  };
  std::optional<Measured> measured;  // not of the first frame
};

// A picture with what odometry has to know of it.
struct Reference {
  FramePointer frame;
  DepthPointer depth;
  std::vector<scene::Box> movable;  // boxes of what may move by itself, which odometry is not to go by
};

// Finds the motion from a picture to a later one.
using MotionEstimator =
    std::function<absl::StatusOr<track::MotionEstimate>(const Reference& first, const FramePointer& second)>;
MotionEstimator FeatureMotion(const scene::Intrinsics& camera, const track::OdometryOptions& options = {});

class OdometryServer final : public TaskServer {
 public:
  // Without a detector all that is seen counts as standing, and traffic that moves along with the camera may be taken
  // for the street.
  OdometryServer(DepthEstimator depth, MotionEstimator motion, BoxDetector detector = nullptr)
      : depth_(std::move(depth)), motion_(std::move(motion)), detector_(std::move(detector)) {}
  // The frame is what the next one is held against, also where no motion is found (kNotFound).
  absl::StatusOr<AnswerPointer> Serve(const FramePointer& frame) override;

 private:
  const DepthEstimator depth_;
  const MotionEstimator motion_;
  const BoxDetector detector_;
  std::optional<Reference> before_;
};

struct OdometryTaskOptions {
  track::PoseFilterOptions filter;
  track::PoseStateOptions state;
  track::PoseFilterStart start;           // at the first frame's first IMU sample
  track::OdometryAccuracyModel accuracy;  // of what a longer stride costs
  double frame_s = 1.0 / 60;
  size_t window = 32;    // frames, over which the angular velocity is taken
  size_t history = 180;  // frames, over which the motion is known
};

class OdometryTask final : public Task, public PoseSource {
 public:
  explicit OdometryTask(const OdometryTaskOptions& options);

  std::string_view name() const override { return "odometry"; }
  bool has_local_algorithm() const override { return false; }  // the filter is both
  absl::Status Observe(const FramePointer& frame) override;
  // kInvalidArgument: not odometry, or no measurement that the filter takes. kNotFound: about frames not asked for.
  absl::Status Accept(int64_t frame, const Answer& answer) override;
  void Offloaded() override;
  AccuracyEstimate estimate() const override;
  absl::Status Track() override { return absl::OkStatus(); }  // the filter follows every sample
  absl::Status RunLocalAlgorithm() override { return absl::OkStatus(); }

  absl::StatusOr<scene::Pose> MotionSince(int64_t frame) const override;

  // Of the frame that was observed last.
  const scene::Pose& pose() const { return filter_.pose(); }
  const track::PoseEstimate& pose_estimate() const { return estimate_; }

 private:
  const scene::Pose* Recorded(int64_t frame) const;
  double TimeOf(int64_t frame) const { return static_cast<double>(frame) * options_.frame_s; }

  const OdometryTaskOptions options_;
  track::PoseFilter filter_;
  track::PoseMonitor monitor_;
  track::PoseEstimate estimate_;
  int64_t newest_frame_ = -1;
  // Of the last frames up to the newest, as known then but for what corrections have moved since, all alike: what lies
  // between two of them is how the filter saw it, without the jumps of its corrections.
  std::deque<scene::Pose> poses_;
};

}  // namespace wharf::multitask
