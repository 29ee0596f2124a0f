// Pictures: PNG files in and out, fitting into the network's input, drawing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/cuda_pose/pose.h"

namespace pose {

struct Image {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;  // width * height * 3
};

// Both throw std::runtime_error naming the file.
Image ReadPng(const std::string& path);
void WritePng(const std::string& path, const Image& image);

// Area-averages `image` into kInputWidth x kInputHeight, aspect ratio kept, borders mid-grey.
Image FitToInput(const Image& image, Letterbox* letterbox);

// What a camera that sways sees in its `frame`th picture: `image` some pixels to the side, what leaves on the left
// enters on the right.
Image Sway(const Image& image, int frame);
// The same of a camera that is carried about, with a sensor's noise: no picture comes again.
Image Wander(const Image& image, int frame);

// Boxes with scores, skeletons and joints.
void Annotate(const Detections& detections, Image* image);

}  // namespace pose
