#include "wharf/track/depth_accuracy.h"

#include <algorithm>
#include <opencv2/imgproc.hpp>
#include <opencv2/video/tracking.hpp>

#include "wharf/base/status.h"
#include "wharf/track/depth_warp.h"
#include "wharf/track/image_mat.h"
#include "wharf/track/metrics.h"

namespace wharf::track {
namespace {

using scene::DepthMap;
using scene::Image;

constexpr int kLeastSide = 32;  // pixels, for the flow's coarsest level

// Dense flow, in pixels: what is at p in `from` is at p + flow(p) in `to`.
cv::Mat FlowBetween(const Image& from, const Image& to) {
  cv::Mat flow;
  cv::DISOpticalFlow::create(cv::DISOpticalFlow::PRESET_FAST)->calc(Gray(from), Gray(to), flow);
  return flow;
}

// Each pixel's depth, put where its flow goes; of those that meet the nearest is seen, and where none goes the depth of
// before stays (it is what moved away that is gone from there, or nothing moved).
DepthMap MovedAlong(const DepthMap& depth, const cv::Mat& flow) {
  DepthMap moved = depth;
  std::vector<bool> reached(depth.metres.size(), false);
  for (int y = 0; y < depth.height; ++y) {
    for (int x = 0; x < depth.width; ++x) {
      const float metres = depth.metres[static_cast<size_t>(y) * depth.width + x];
      const auto& by = flow.at<cv::Point2f>(y, x);
      const int to_x = x + cvRound(by.x), to_y = y + cvRound(by.y);
      if (!(metres > 0) || to_x < 0 || to_x >= depth.width || to_y < 0 || to_y >= depth.height) continue;
      const size_t to = static_cast<size_t>(to_y) * depth.width + to_x;
      if (reached[to] && moved.metres[to] <= metres) continue;
      moved.metres[to] = metres;
      reached[to] = true;
    }
  }
  return moved;
}

}  // namespace

absl::StatusOr<double> DepthTrackerDropRate(const Image& first, const DepthMap& first_depth, const Image& second,
                                            const scene::Intrinsics& camera, const scene::Pose& motion, int stride) {
  if (!HasSizeOf(first, camera) || !HasSizeOf(second, camera) || !HasSizeOf(first_depth, camera)) {
    return InvalidArgument("pictures of {}x{} and {}x{} with depth of {}x{} from a camera of {}x{}", first.width,
                           first.height, second.width, second.height, first_depth.width, first_depth.height,
                           camera.width, camera.height);
  }
  if (std::min(camera.width, camera.height) < kLeastSide) {
    return InvalidArgument("pictures of {}x{} are too small for flow", camera.width, camera.height);
  }
  if (stride < 1) return InvalidArgument("stride {}: at least one frame", stride);
  const WarpedImage warped = WarpImage(first, first_depth, camera, motion);
  const DepthMap moved = MovedAlong(warped.depth, FlowBetween(warped.image, second));
  WHARF_ASSIGN_OR_RETURN(const double drop, AbsRel(warped.depth, moved));
  return drop / stride;
}

absl::StatusOr<double> LiteDepthDrop(const DepthMap& lite, const DepthMap& server, double server_abs_rel) {
  WHARF_ASSIGN_OR_RETURN(const double against_server, AbsRel(lite, server));
  return against_server - server_abs_rel;
}

}  // namespace wharf::track
