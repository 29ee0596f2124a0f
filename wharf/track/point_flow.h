// Points followed from one picture to another by pyramidal Lucas-Kanade flow. For this room's .cc files only.
#pragma once

#include <opencv2/core.hpp>
#include <vector>

#include "wharf/scene/scene.h"

namespace wharf::track {

struct Match {
  cv::Point2f from, to;
};

struct FlowOptions {
  int window = 15;           // pixels a side
  int levels = 3;            // halvings of the picture: how far a point may move
  double round_trip_px = 1;  // a point followed forth and back must return this near
};

// A picture's pyramid, made once for all that follows points from or to it. The first level is the picture in grey.
using Pyramid = std::vector<cv::Mat>;
// REQUIRES: the image has its pixels.
Pyramid PyramidOf(const scene::Image& image, const FlowOptions& options);

// Of `points` of one picture, those found in the other and, from there, found back where they came from. REQUIRES: both
// pyramids are of pictures of one size and were made with these options.
std::vector<Match> Follow(const Pyramid& from, const Pyramid& to, const std::vector<cv::Point2f>& points,
                          const FlowOptions& options);

}  // namespace wharf::track
