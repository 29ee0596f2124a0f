#include "wharf/multitask/tasks/boxes_task.h"

#include <algorithm>

#include "wharf/base/status.h"
#include "wharf/track/drop/drop_rate.h"

namespace wharf::multitask {

absl::StatusOr<AnswerPointer> BoxesServer::Serve(const FramePointer& frame) {
  auto answer = std::make_shared<BoxesAnswer>();
  WHARF_ASSIGN_OR_RETURN(answer->boxes, detector_(frame));
  return answer;
}

absl::Status BoxesTask::Observe(const FramePointer& frame) {
  frame_ = frame;
  return absl::OkStatus();
}

void BoxesTask::Offloaded() { asked_ = Asked{frame_, std::nullopt, 0}; }

absl::Status BoxesTask::Accept(int64_t frame, const Answer& answer) {
  const auto* const boxes = dynamic_cast<const BoxesAnswer*>(&answer);
  if (boxes == nullptr) return InvalidArgument("an answer that is not boxes");
  if (!asked_.has_value() || asked_->frame->index != frame) return NotFound("nobody asked for frame {}", frame);
  WHARF_RETURN_IF_ERROR(tracker_.Start(asked_->frame->image, boxes->boxes));
  if (asked_->tracked.has_value()) {
    const absl::StatusOr<double> rate =
        track::BoxDropRate(*asked_->tracked, boxes->boxes, static_cast<int>(asked_->stride));
    if (rate.ok()) estimate_.drop_rate = std::max(0.0, *rate);
  }
  newest_ = frame;
  asked_.reset();
  return absl::OkStatus();
}

absl::Status BoxesTask::Track() {
  if (!newest_.has_value()) return absl::OkStatus();
  WHARF_ASSIGN_OR_RETURN(result_, tracker_.Track(frame_->image));
  if (asked_.has_value() && asked_->frame == frame_) {
    asked_->tracked = result_;
    asked_->stride = frame_->index - *newest_;
  }
  return absl::OkStatus();
}

}  // namespace wharf::multitask
