#include "wharf/ar/model_task/agreed_task.h"

#include <cmath>
#include <utility>

#include "wharf/ar/result_coding.h"
#include "wharf/base/status.h"

namespace wharf::ar {
namespace {

constexpr double kFirstStride = 8;  // frames, at which the first estimate of a drop is right

}  // namespace

absl::StatusOr<AnyResult> TrackedModel::Decode(const FramePointer& frame, std::vector<std::byte> found) {
  WHARF_ASSIGN_OR_RETURN(const Outputs outputs, DecodeOutputs(found));
  return tracker_.ReadAny(outputs, *frame);
}

absl::StatusOr<double> TrackedModel::Drop(const AnyResult& tracked, const AnyResult& found) const {
  const double lost = tracker_.LossAny(tracked, found);
  if (!std::isfinite(lost) || lost < 0) return InvalidArgument("a loss of {:g} is none", lost);
  return lost;
}

absl::Status TrackedModel::Begin(const FramePointer& frame, AnyResult found) {
  older_ = std::exchange(newest_, {frame, std::move(found)});
  return absl::OkStatus();
}

absl::StatusOr<AnyResult> TrackedModel::Track(const FramePointer& frame) { return CarryOn(newest_, frame); }

absl::StatusOr<AnyResult> TrackedModel::TrackOlder(const FramePointer& frame) { return CarryOn(older_, frame); }

absl::StatusOr<AnyResult> TrackedModel::CarryOn(Known& known, const FramePointer& frame) {
  if (known.frame != frame) {
    WHARF_ASSIGN_OR_RETURN(AnyResult result, tracker_.TrackAny(known.result, *known.frame, *frame));
    known = {frame, std::move(result)};
  }
  return known.result;
}

AnyAgreedTask::AnyAgreedTask(TaskCalibration calibration, AnyTracker& tracker)
    : calibration_(std::move(calibration)), tracked_(std::make_shared<TrackedModel>(tracker)) {}

CoordinatedTask AnyAgreedTask::ForClient() const {
  return {calibration_.task, {.exponent = calibration_.exponent, .measured = true, .recent = 3}, tracked_};
}

void AgreeOn(const AnyAgreedTask& task, CoordinatedClientConfig& config) {
  config.own = task.ForClient();
  config.first_drop_rate = task.calibration().DropAt(kFirstStride) / kFirstStride;
}

}  // namespace wharf::ar
