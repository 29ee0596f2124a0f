#include "wharf/multitask/experiment/known_depth.h"

#include <algorithm>

#include "wharf/base/status.h"
#include "wharf/track/metrics.h"

namespace wharf::multitask {

absl::Status KnownDepth::Observe(const FramePointer& frame) {
  frame_ = frame;
  measured_.reset();
  return task_.Observe(frame);
}

absl::Status KnownDepth::Accept(int64_t frame, const Answer& answer) {
  WHARF_RETURN_IF_ERROR(task_.Accept(frame, answer));
  newest_ = frame;
  measured_.reset();
  return absl::OkStatus();
}

AccuracyEstimate KnownDepth::estimate() const {
  if (!measured_.has_value()) {
    const absl::StatusOr<AccuracyEstimate> measured = Measure();
    measured_ = measured.ok() ? *measured : task_.estimate();
  }
  return *measured_;
}

absl::StatusOr<AccuracyEstimate> KnownDepth::Measure() const {
  if (!newest_.has_value() || *newest_ >= frame_->index) return FailedPrecondition("there is nothing to track from");
  WHARF_ASSIGN_OR_RETURN(const DepthPointer server_depth, server_(frame_));
  WHARF_ASSIGN_OR_RETURN(const DepthPointer lite_depth, lite_(frame_));
  WHARF_RETURN_IF_ERROR(task_.Track());
  WHARF_ASSIGN_OR_RETURN(const double server, track::AbsRel(*server_depth, truth_.depth));
  WHARF_ASSIGN_OR_RETURN(const double lite, track::AbsRel(*lite_depth, truth_.depth));
  WHARF_ASSIGN_OR_RETURN(const double tracked, track::AbsRel(*task_.result(), truth_.depth));
  const auto stride = static_cast<double>(frame_->index - *newest_);
  return AccuracyEstimate{std::max(0.0, tracked - server) / stride, std::max(0.0, lite - server)};
}

}  // namespace wharf::multitask
