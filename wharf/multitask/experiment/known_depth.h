// KnownDepth: the depth task with an accuracy model that cannot be wrong. What AccuMO gains by it is what better
// accuracy models of depth could bring at most.
#pragma once

#include "wharf/multitask/tasks/depth_task.h"

namespace wharf::multitask {

// Everything but the estimate is `task`'s. The estimate is what tracker and lite network lose in truth in the frame at
// hand, for which all of them are run on every frame.
class KnownDepth final : public Task {
 public:
  // All must outlive this; `truth` is of the frame that was observed last.
  KnownDepth(DepthTask& task, DepthEstimator server, DepthEstimator lite, const scene::Truth& truth)
      : task_(task), server_(std::move(server)), lite_(std::move(lite)), truth_(truth) {}

  std::string_view name() const override { return task_.name(); }
  bool has_local_algorithm() const override { return task_.has_local_algorithm(); }
  absl::Status Observe(const FramePointer& frame) override;
  absl::Status Accept(int64_t frame, const Answer& answer) override;
  void Offloaded() override { task_.Offloaded(); }
  // Until there is an answer to track from, and where the truth is not to be had, the task's own.
  AccuracyEstimate estimate() const override;
  absl::Status Track() override { return task_.Track(); }
  absl::Status RunLocalAlgorithm() override { return task_.RunLocalAlgorithm(); }

 private:
  absl::StatusOr<AccuracyEstimate> Measure() const;

  DepthTask& task_;
  const DepthEstimator server_, lite_;
  const scene::Truth& truth_;
  FramePointer frame_;
  std::optional<int64_t> newest_;                     // the frame of the newest answer
  mutable std::optional<AccuracyEstimate> measured_;  // of frame_ by newest_, once it was asked for
};

}  // namespace wharf::multitask
