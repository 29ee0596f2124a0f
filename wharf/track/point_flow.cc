#include "wharf/track/point_flow.h"

#include <opencv2/video/tracking.hpp>

#include "wharf/track/image_mat.h"

namespace wharf::track {

Pyramid PyramidOf(const scene::Image& image, const FlowOptions& options) {
  Pyramid pyramid;
  cv::buildOpticalFlowPyramid(Gray(image), pyramid, {options.window, options.window}, options.levels);
  return pyramid;
}

std::vector<Match> Follow(const Pyramid& from, const Pyramid& to, const std::vector<cv::Point2f>& points,
                          const FlowOptions& options) {
  if (points.empty()) return {};
  const cv::Size window(options.window, options.window);
  std::vector<cv::Point2f> there, back;
  std::vector<uint8_t> found, found_back;
  std::vector<float> error;
  cv::calcOpticalFlowPyrLK(from, to, points, there, found, error, window, options.levels);
  cv::calcOpticalFlowPyrLK(to, from, there, back, found_back, error, window, options.levels);
  std::vector<Match> matches;
  for (size_t i = 0; i < points.size(); ++i) {
    const bool returned = found[i] && found_back[i] && cv::norm(back[i] - points[i]) <= options.round_trip_px;
    if (returned) matches.push_back({points[i], there[i]});
  }
  return matches;
}

}  // namespace wharf::track
