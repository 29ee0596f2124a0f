#include "wharf/multitask/experiment/sight.h"

#include <algorithm>

#include "wharf/base/status.h"

namespace wharf::multitask {
namespace {

constexpr int kOracleCell = 8;  // pixels a side that the lite oracle sees as one

DepthPointer Coarse(const scene::DepthMap& depth) {
  auto coarse = std::make_shared<scene::DepthMap>(depth);
  for (int y = 0; y < depth.height; ++y) {
    for (int x = 0; x < depth.width; ++x) {
      const int from_x = std::min(x / kOracleCell * kOracleCell + kOracleCell / 2, depth.width - 1);
      const int from_y = std::min(y / kOracleCell * kOracleCell + kOracleCell / 2, depth.height - 1);
      coarse->metres[static_cast<size_t>(y) * depth.width + x] =
          depth.metres[static_cast<size_t>(from_y) * depth.width + from_x];
    }
  }
  return coarse;
}

}  // namespace

Networks OracleNetworks(const FramePointer& frame, const scene::Truth& truth) {
  const auto check = [&frame](const FramePointer& asked) -> absl::Status {
    if (asked != frame) return FailedPrecondition("the truth of frame {} is not at hand", asked->index);
    return absl::OkStatus();
  };
  return {.depth = [check, &truth](const FramePointer& asked) -> absl::StatusOr<DepthPointer> {
            WHARF_RETURN_IF_ERROR(check(asked));
            return std::make_shared<scene::DepthMap>(truth.depth);
          },
          .lite = [check, &truth](const FramePointer& asked) -> absl::StatusOr<DepthPointer> {
            WHARF_RETURN_IF_ERROR(check(asked));
            return Coarse(truth.depth);
          },
          .boxes = [check, &truth](const FramePointer& asked) -> absl::StatusOr<std::vector<scene::Box>> {
            WHARF_RETURN_IF_ERROR(check(asked));
            return truth.boxes;
          }};
}

void Sight::Look(const FramePointer& frame) {
  frame_ = frame;
  depth_.reset();
  lite_.reset();
  boxes_.reset();
  motions_.clear();
}

DepthEstimator Sight::Depth() {
  return [this](const FramePointer& frame) -> absl::StatusOr<DepthPointer> {
    WHARF_RETURN_IF_ERROR(CheckAtHand(frame));
    if (!depth_.has_value()) depth_ = networks_.depth(frame);
    return *depth_;
  };
}

DepthEstimator Sight::Lite() {
  return [this](const FramePointer& frame) -> absl::StatusOr<DepthPointer> {
    WHARF_RETURN_IF_ERROR(CheckAtHand(frame));
    if (!lite_.has_value()) lite_ = networks_.lite(frame);
    return *lite_;
  };
}

BoxDetector Sight::Boxes() {
  return [this](const FramePointer& frame) -> absl::StatusOr<std::vector<scene::Box>> {
    WHARF_RETURN_IF_ERROR(CheckAtHand(frame));
    if (!boxes_.has_value()) boxes_ = networks_.boxes(frame);
    return *boxes_;
  };
}

MotionEstimator Sight::Motion() {
  return [this](const Reference& first, const FramePointer& second) -> absl::StatusOr<track::MotionEstimate> {
    WHARF_RETURN_IF_ERROR(CheckAtHand(second));
    const auto known = motions_.find(first.frame->index);
    if (known != motions_.end()) return known->second;
    return motions_.emplace(first.frame->index, motion_(first, second)).first->second;
  };
}

absl::Status Sight::CheckAtHand(const FramePointer& frame) const {
  if (frame != frame_) return FailedPrecondition("frame {} is not at hand", frame->index);
  return absl::OkStatus();
}

}  // namespace wharf::multitask
