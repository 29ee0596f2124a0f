// Pictures as OpenCV sees them. For this room's .cc files only: no header that others include brings OpenCV.
#pragma once

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "wharf/scene/scene.h"

namespace wharf::track {

// Whether the pixels are as many as the size says, and the size is one at all.
inline bool HasItsPixels(const scene::Image& image) {
  return image.width > 0 && image.height > 0 &&
         image.rgb.size() == 3 * static_cast<size_t>(image.width) * static_cast<size_t>(image.height);
}

inline bool HasSizeOf(const scene::Image& image, const scene::Intrinsics& camera) {
  return HasItsPixels(image) && image.width == camera.width && image.height == camera.height;
}

inline bool HasSizeOf(const scene::DepthMap& depth, const scene::Intrinsics& camera) {
  return depth.width == camera.width && depth.height == camera.height && depth.width > 0 && depth.height > 0 &&
         depth.metres.size() == static_cast<size_t>(depth.width) * static_cast<size_t>(depth.height);
}

// REQUIRES: HasItsPixels(image).
inline cv::Mat Gray(const scene::Image& image) {
  const cv::Mat rgb(image.height, image.width, CV_8UC3, const_cast<uint8_t*>(image.rgb.data()));  // only read
  cv::Mat gray;
  cv::cvtColor(rgb, gray, cv::COLOR_RGB2GRAY);
  return gray;
}

}  // namespace wharf::track
