// Pictures from files, made what a model wants to see. libpng's headers stay out of this one.
//
//   WHARF_ASSIGN_OR_RETURN(Image image, ReadImage(bytes));
//   image = Resized(WithChannels(std::move(image), input.channels), input.width, input.height);
//   … PixelBytes(image, input.planar) …
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/graph/onnx/byte_input.h"
#include "wharf/split/codec/jpeg.h"

namespace wharf::split {

// By their first bytes, PNG, JPEG or binary PNM (P5, P6).
bool IsImage(std::span<const std::byte> file);
// As red, green, blue of a byte each, transparent parts on black. Safe on hostile bytes: what claims to have more than
// kMaxImagePixels is refused before memory is taken for it. kInvalidArgument: none of those, damaged, or too large.
absl::StatusOr<Image> ReadImage(std::span<const std::byte> file);

// What ReadImage makes another of, for people: "its four inks (CMYK) become red, green, blue"; "" if there is nothing
// to say.
std::string ConversionOf(std::span<const std::byte> file);

// Grey as BT.601 weighs colours; the same grey in all of three. REQUIRES: 1 or 3.
Image WithChannels(Image image, int channels);
// Stretched, whatever its proportions. Every pixel is the mean of those around its place, weighed by their distance
// (bilinear), over as many as the picture shrinks to one: an area, no sample. REQUIRES: at least 1 by 1.
// O(pixels * the larger of 1 and what it shrinks by, of either side).
Image Resized(const Image& image, int width, int height);

// In the order of a tensor: one channel after the other, or those of a pixel side by side.
std::vector<std::byte> PixelBytes(const Image& image, bool planar);
// The same as float32, normalised. REQUIRES: the map is of as many channels.
std::vector<std::byte> PixelFloats(const Image& image, bool planar, const graph::PixelMap& map);

}  // namespace wharf::split
