// Byte input: a model that takes normalised float images as one that takes a camera's bytes. What users do to pixels
// before they call a model becomes its first operators, so that the image itself can travel.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/graph/tensor.h"

namespace wharf::graph {

// (pixel / 255 - mean) / deviation, of each channel; or one number for all of them.
struct Normalization {
  std::vector<float> mean, deviation;

  // What torchvision's models were trained with, where there are three channels; else pixels from 0 to 1.
  static Normalization Default(int64_t channels);
};

// The same as pixel * scale + offset.
struct PixelMap {
  std::vector<float> scale, offset;  // by channel
};
// kInvalidArgument: neither one number nor one a channel, or a deviation that is not positive.
absl::StatusOr<PixelMap> PixelMapOf(const Normalization& normalization, int64_t channels);

// An input that is one image: [1, channels, height, width], or [1, height, width, channels], of 1 or 3 channels.
struct ImageInput {
  int64_t channels = 0, height = 0, width = 0;
  bool planar = false;  // the former
};
// kInvalidArgument: it is none.
absl::StatusOr<ImageInput> ImageInputOf(const TensorType& type);

// What to do to pixels of so many channels.
using NormalizationOf = std::function<Normalization(int64_t channels)>;

// The same ONNX model with an input of bytes (uint8) of the same shape and with nodes before what read the input:
// Cast, Mul, Add. The same bytes and normalisation always make the same bytes. A model of bytes stays as it is.
// kInvalidArgument: no ONNX model, other than one input, not of float images (or the normalisation is not one for
// them). kUnimplemented: an operator set below 7, in which Mul and Add do not broadcast so.
absl::StatusOr<std::vector<std::byte>> WithByteInput(std::span<const std::byte> onnx,
                                                     const NormalizationOf& normalization);

}  // namespace wharf::graph
