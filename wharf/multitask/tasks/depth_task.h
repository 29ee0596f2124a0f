// The depth task: a network on the server, warping in between, a lite network as the local algorithm, and AccuMO's
// accuracy models of both (thesis 2.6.1); the lite network's is corrected by calibration. Between answers the two can
// be fused (track/depth_fusion.h), which is no part of the thesis.
#pragma once

#include <functional>
#include <memory>

#include "wharf/multitask/task.h"
#include "wharf/multitask/tasks/pose_source.h"
#include "wharf/track/odometry_accuracy.h"

namespace wharf::multitask {

using DepthPointer = std::shared_ptr<const scene::DepthMap>;
// A network, or what stands for one. The map has the picture's size.
using DepthEstimator = std::function<absl::StatusOr<DepthPointer>(const FramePointer&)>;

struct DepthAnswer final : Answer {
  DepthPointer depth;
};

class DepthServer final : public TaskServer {
 public:
  explicit DepthServer(DepthEstimator network) : network_(std::move(network)) {}
  absl::StatusOr<AnswerPointer> Serve(const FramePointer& frame) override;

 private:
  const DepthEstimator network_;
};

// What calibration videos say of the networks (AbsRel against the truth), and how fast the tracker loses there.
struct DepthCalibration {
  double server_abs_rel = 0, lite_abs_rel = 0;
  double drop_rate = 0;         // per frame of stride; what is assumed until it is measured
  double fused_drop_share = 1;  // of what the tracker loses, what it loses if it is fused with the lite network
  // What the lite network loses in truth, over what the thesis's model estimates (2.6.1), which is too low where both
  // networks err alike. Estimates are taken from this line; as it is here it changes nothing.
  track::Line lite_correction{.intercept = 0, .slope = 1};
};

class DepthTask final : public Task {
 public:
  // `poses` must outlive this, and be of the same camera. All frames have the camera's size. `fuses`: Track fuses the
  // warped map with the lite network's, which is run for every frame.
  DepthTask(const scene::Intrinsics& camera, DepthEstimator lite, const DepthCalibration& calibration,
            const PoseSource& poses, bool fuses = false);

  std::string_view name() const override { return "depth"; }
  bool has_local_algorithm() const override { return true; }
  absl::Status Observe(const FramePointer& frame) override;
  // kInvalidArgument: not depth, or not of the camera's size. kNotFound: not asked for.
  absl::Status Accept(int64_t frame, const Answer& answer) override;
  // Runs the lite network as well, to hold its map against the answer.
  void Offloaded() override;
  AccuracyEstimate estimate() const override { return estimate_; }
  std::optional<AccuracyModel> TrackerModel() const override;
  void SetDropRate(double drop_rate) override { estimate_.drop_rate = drop_rate * drop_share_; }
  // kFailedPrecondition: no answer yet. kNotFound: the pose source does not reach back to it. Without a lite map what
  // was warped is the result.
  absl::Status Track() override;
  absl::Status RunLocalAlgorithm() override;

  // Of the frame that was observed last, or of an older one where its status was not OK; nullptr before the first.
  const DepthPointer& result() const { return result_; }

 private:
  struct Known {
    FramePointer frame;
    DepthPointer depth;
    double lite_scale = 1;  // of answers: by which the lite map is as deep; if it is fused
  };
  absl::StatusOr<DepthPointer> Lite();

  const scene::Intrinsics camera_;
  const DepthEstimator lite_;
  const DepthCalibration calibration_;
  const PoseSource& poses_;
  const bool fuses_;
  const double drop_share_;  // of the warped map's, what the tracker loses
  FramePointer frame_;
  DepthPointer lite_depth_;      // of frame_, once it was needed
  std::optional<Known> asked_;   // the frame in flight and its lite map, nullptr if there is none
  std::optional<Known> newest_;  // the newest answer
  AccuracyEstimate estimate_;
  DepthPointer result_;
};

}  // namespace wharf::multitask
