#include "wharf/track/box_tracker.h"

#include <cmath>
#include <opencv2/imgproc.hpp>
#include <utility>

#include "wharf/base/status.h"
#include "wharf/track/image_mat.h"
#include "wharf/track/median.h"
#include "wharf/track/point_flow.h"

namespace wharf::track {
namespace {

using scene::Box;
using scene::Image;

constexpr float kLeastDistance = 3;  // of two points for their ratio to say anything, in pixels

Box Clipped(const Box& box, const cv::Size& size) {
  Box clipped = box;
  const auto width = static_cast<float>(size.width), height = static_cast<float>(size.height);
  clipped.left = std::clamp(box.left, 0.0f, width);
  clipped.right = std::clamp(box.right, 0.0f, width);
  clipped.top = std::clamp(box.top, 0.0f, height);
  clipped.bottom = std::clamp(box.bottom, 0.0f, height);
  return clipped;
}

// Corners inside the box, or, where these are few (a small or a smooth thing), a grid: a window of flow around its
// points takes in the thing's outline, which it has as well.
std::vector<cv::Point2f> PointsIn(const cv::Mat& picture, const Box& box, const BoxTrackerOptions& options) {
  const Box inside = Clipped(box, picture.size());
  const cv::Rect area(cv::Point(static_cast<int>(inside.left), static_cast<int>(inside.top)),
                      cv::Point(static_cast<int>(inside.right), static_cast<int>(inside.bottom)));
  std::vector<cv::Point2f> points;
  if (area.width >= 3 && area.height >= 3) {  // a corner takes its neighbours
    cv::goodFeaturesToTrack(picture(area), points, options.points_per_box, 0.01, 2);
    for (cv::Point2f& point : points) point += cv::Point2f(area.tl());
  }
  const bool is_empty = inside.right <= inside.left || inside.bottom <= inside.top;
  if (is_empty || static_cast<int>(points.size()) >= 2 * options.least_points) return points;
  for (const float x : {0.25f, 0.5f, 0.75f}) {
    for (const float y : {0.25f, 0.5f, 0.75f}) {
      points.emplace_back(inside.left + x * (inside.right - inside.left),
                          inside.top + y * (inside.bottom - inside.top));
    }
  }
  return points;
}

// p -> scale * p + shift.
struct Similarity {
  float scale = 1;
  cv::Point2f shift;
};

Similarity RobustFit(const std::vector<Match>& matches) {
  std::vector<float> ratios{1};
  for (size_t i = 0; i < matches.size(); ++i) {
    for (size_t j = i + 1; j < matches.size(); ++j) {
      const double before = cv::norm(matches[i].from - matches[j].from);
      if (before < kLeastDistance) continue;
      ratios.push_back(static_cast<float>(cv::norm(matches[i].to - matches[j].to) / before));
    }
  }
  const float scale = Median(std::move(ratios));
  std::vector<float> x, y;
  for (const Match& match : matches) {
    x.push_back(match.to.x - scale * match.from.x);
    y.push_back(match.to.y - scale * match.from.y);
  }
  return {scale, {Median(std::move(x)), Median(std::move(y))}};
}

Box Moved(Box box, const Similarity& move) {
  box.left = move.scale * box.left + move.shift.x;
  box.right = move.scale * box.right + move.shift.x;
  box.top = move.scale * box.top + move.shift.y;
  box.bottom = move.scale * box.bottom + move.shift.y;
  return box;
}

bool CentreIsInside(const Box& box, const cv::Size& size) {
  const float x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
  return x >= 0 && x < static_cast<float>(size.width) && y >= 0 && y < static_cast<float>(size.height);
}

bool IsFinite(const Box& box) {
  return std::isfinite(box.left) && std::isfinite(box.top) && std::isfinite(box.right) && std::isfinite(box.bottom);
}

}  // namespace

struct BoxTracker::State {
  BoxTrackerOptions options;
  FlowOptions flow;
  Pyramid last;            // of the last frame; empty before Start
  cv::Size size;           // its
  std::vector<Box> boxes;  // on it, not clipped, so that one half outside keeps its shape
};

BoxTracker::BoxTracker(BoxTrackerOptions options) : state_(std::make_unique<State>()) {
  state_->options = options;
  state_->flow.round_trip_px = options.round_trip_px;
}
BoxTracker::~BoxTracker() = default;
BoxTracker::BoxTracker(BoxTracker&&) noexcept = default;
BoxTracker& BoxTracker::operator=(BoxTracker&&) noexcept = default;

absl::Status BoxTracker::Start(const Image& image, std::vector<Box> boxes) {
  if (!HasItsPixels(image)) {
    return InvalidArgument("a picture of {}x{} has {} bytes", image.width, image.height, image.rgb.size());
  }
  std::erase_if(boxes, [](const Box& box) { return !IsFinite(box); });
  state_->last = PyramidOf(image, state_->flow);
  state_->size = {image.width, image.height};
  state_->boxes = std::move(boxes);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Box>> BoxTracker::Track(const Image& next) {
  if (state_->last.empty()) return FailedPrecondition("nothing to track: Start comes first");
  if (!HasItsPixels(next) || cv::Size(next.width, next.height) != state_->size) {
    return InvalidArgument("a picture of {}x{} ({} bytes) after one of {}x{}", next.width, next.height, next.rgb.size(),
                           state_->size.width, state_->size.height);
  }
  Pyramid pyramid = PyramidOf(next, state_->flow);
  std::vector<Box> kept, clipped;
  for (const Box& box : state_->boxes) {
    const std::vector<cv::Point2f> points = PointsIn(state_->last[0], box, state_->options);
    const std::vector<Match> matches = Follow(state_->last, pyramid, points, state_->flow);
    if (static_cast<int>(matches.size()) < state_->options.least_points) continue;
    const Box moved = Moved(box, RobustFit(matches));
    if (!CentreIsInside(moved, state_->size)) continue;
    kept.push_back(moved);
    clipped.push_back(Clipped(moved, state_->size));
  }
  state_->last = std::move(pyramid);
  state_->boxes = std::move(kept);
  return clipped;
}

}  // namespace wharf::track
