#include "wharf/ar/model_task/model_task.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "wharf/ar/client/model_answer.h"
#include "wharf/base/status.h"

namespace wharf::ar {
namespace {

constexpr double kKept = 0.8;         // of what older answers showed, at each new one
constexpr double kUsualStride = 8;    // frames, and that calibration counts
constexpr double kCalibrationAs = 2;  // as much as so many answers after it
constexpr double kLocalShare = 0.25;  // the newest measurement's

}  // namespace

AnyModelTask::AnyModelTask(TaskCalibration calibration, AnyTracker& tracker)
    : calibration_(std::move(calibration)), tracker_(tracker), local_drop_(calibration_.local_drop) {
  if (tracker_.HasLocalAlgorithm() && !std::isfinite(local_drop_)) local_drop_ = calibration_.DropAt(kUsualStride);
}

absl::Status AnyModelTask::Observe(const multitask::FramePointer& frame) {
  frame_ = frame;
  return absl::OkStatus();
}

void AnyModelTask::Offloaded() { asked_ = Asked{frame_, nullptr, nullptr, 0}; }

absl::Status AnyModelTask::Accept(int64_t frame, const multitask::Answer& answer) {
  const auto* const outputs = dynamic_cast<const ModelAnswer*>(&answer);
  if (outputs == nullptr) return InvalidArgument("an answer that is not a model's");
  if (!asked_.has_value() || asked_->frame->index != frame) return NotFound("nobody asked for frame {}", frame);
  const Asked asked = *std::exchange(asked_, std::nullopt);
  WHARF_ASSIGN_OR_RETURN(AnyResult fresh, tracker_.ReadAny(outputs->outputs, *asked.frame));
  Compare(asked, fresh);
  tracked_ = Known{asked.frame, std::move(fresh)};
  newest_ = frame;
  return absl::OkStatus();
}

void AnyModelTask::Compare(const Asked& asked, const AnyResult& fresh) {
  if (asked.tracked != nullptr) {
    const double lost = tracker_.LossAny(asked.tracked, fresh);
    const double expected = calibration_.DropAt(static_cast<double>(asked.stride));
    if (std::isfinite(lost) && lost >= 0) {
      measured_ = kKept * measured_ + lost;
      expected_ = kKept * expected_ + expected;
    }
  }
  if (asked.local != nullptr) {
    const double lost = tracker_.LossAny(asked.local, fresh);
    if (std::isfinite(lost) && lost >= 0) local_drop_ += kLocalShare * (lost - local_drop_);
  }
}

multitask::AccuracyEstimate AnyModelTask::estimate() const {
  const double calibrated = kCalibrationAs * calibration_.DropAt(kUsualStride);
  const double expected = calibrated + expected_;
  const double scale = expected > 0 ? (calibrated + measured_) / expected : 1;
  return {.drop_rate = scale * calibration_.rate, .local_drop = local_drop_, .exponent = calibration_.exponent};
}

absl::Status AnyModelTask::Track() {
  if (!tracked_.has_value()) return absl::OkStatus();
  if (tracked_->frame != frame_) {
    WHARF_ASSIGN_OR_RETURN(AnyResult result, tracker_.TrackAny(tracked_->result, *tracked_->frame, *frame_));
    tracked_ = Known{frame_, std::move(result)};
  }
  result_ = tracked_->result;
  if (asked_.has_value() && asked_->frame == frame_) {
    asked_->tracked = result_;
    asked_->stride = Stride();
  }
  return absl::OkStatus();
}

absl::Status AnyModelTask::RunLocalAlgorithm() {
  WHARF_ASSIGN_OR_RETURN(result_, tracker_.RunAnyLocally(*frame_));
  if (asked_.has_value() && asked_->frame == frame_) asked_->local = result_;
  return absl::OkStatus();
}

int64_t AnyModelTask::Stride() const { return newest_.has_value() ? frame_->index - *newest_ : -1; }

void AddTask(AnyModelTask& task, ClientConfig& config) {
  config.own_tasks.push_back(&task);
  config.profile.tasks.push_back({std::string(task.name()), task.calibration().offload_ms, 0});
}

}  // namespace wharf::ar
