#include "wharf/ar/relay/picture.h"

#include <utility>

#include "wharf/split/codec/jpeg.h"

namespace wharf::ar {

absl::StatusOr<scene::Image> DecodePicture(std::span<const std::byte> jpeg, int width, int height) {
  WHARF_ASSIGN_OR_RETURN(const split::ImageSize size, split::JpegSize(jpeg));
  if (size.width != width || size.height != height)
    return InvalidArgument("a picture of {} x {}, not {} x {}", size.width, size.height, width, height);
  WHARF_ASSIGN_OR_RETURN(split::Image image, split::DecodeSentJpeg(jpeg, 3));
  return scene::Image{image.width, image.height, std::move(image.pixels)};
}

}  // namespace wharf::ar
