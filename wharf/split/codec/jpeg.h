// Images of bytes, and JPEG in and out. libjpeg-turbo's headers stay out of this one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::split {

// Rows of pixels, a pixel's channels side by side: 3 (red, green, blue) or 1 (grey).
struct Image {
  int width = 0, height = 0, channels = 3;
  std::vector<uint8_t> pixels;
  friend bool operator==(const Image&, const Image&) = default;
};

inline constexpr int kMaxImageSide = 65'500;                  // what a JPEG can have
inline constexpr int64_t kMaxImagePixels = int64_t{1} << 26;  // and what is read from one

// `quality`: 1 to 100. kInvalidArgument: an image it cannot be made of.
absl::StatusOr<std::vector<std::byte>> EncodeJpeg(const Image& image, int quality);

struct ImageSize {
  int width = 0, height = 0;
};
// What the file says of itself. kInvalidArgument: no JPEG, or larger than kMaxImagePixels.
absl::StatusOr<ImageSize> JpegSize(std::span<const std::byte> jpeg);
// Whether it is of four inks (CMYK), as for printing: not if it is no JPEG.
bool IsOfInks(std::span<const std::byte> jpeg);
// Whatever colours it has, as `channels` of them (1 or 3). Safe on hostile bytes: it takes memory for the size above
// and gives up on files of very many scans. kInvalidArgument: as above, or damaged.
absl::StatusOr<Image> DecodeJpeg(std::span<const std::byte> jpeg, int channels);
// The same of what another Wharf has made, as EncodeJpeg does. kInvalidArgument also for a progressive file: some
// thousand bytes are hundreds of scans, each of which takes as long as a picture.
absl::StatusOr<Image> DecodeSentJpeg(std::span<const std::byte> jpeg, int channels);

}  // namespace wharf::split
