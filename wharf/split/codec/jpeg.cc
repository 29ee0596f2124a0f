#include "wharf/split/codec/jpeg.h"

#include <turbojpeg.h>

#include <memory>

namespace wharf::split {
namespace {

using Handle = std::unique_ptr<void, int (*)(tjhandle)>;

const unsigned char* Bytes(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

absl::StatusOr<std::vector<std::byte>> EncodeJpeg(const Image& image, int quality) {
  if (image.width < 1 || image.height < 1 || image.width > kMaxImageSide || image.height > kMaxImageSide) {
    return InvalidArgument("a JPEG cannot have {} x {} pixels", image.width, image.height);
  }
  const Handle handle(tjInitCompress(), tjDestroy);
  const bool grey = image.channels == 1;
  const int sampling = grey ? TJSAMP_GRAY : TJSAMP_420;
  std::vector<std::byte> jpeg(tjBufSize(image.width, image.height, sampling));
  auto* place = reinterpret_cast<unsigned char*>(jpeg.data());
  unsigned long size = jpeg.size();  // NOLINT(google-runtime-int): the library's type
  if (tjCompress2(handle.get(), image.pixels.data(), image.width, 0, image.height, grey ? TJPF_GRAY : TJPF_RGB, &place,
                  &size, sampling, quality, TJFLAG_NOREALLOC) != 0) {
    return InvalidArgument("no JPEG can be made: {}", tjGetErrorStr2(handle.get()));
  }
  jpeg.resize(size);
  return jpeg;
}

absl::StatusOr<ImageSize> JpegSize(std::span<const std::byte> jpeg) {
  const Handle handle(tjInitDecompress(), tjDestroy);
  ImageSize size;
  int sampling = 0, colours = 0;
  if (tjDecompressHeader3(handle.get(), Bytes(jpeg), jpeg.size(), &size.width, &size.height, &sampling, &colours) !=
      0) {
    return InvalidArgument("not a JPEG: {}", tjGetErrorStr2(handle.get()));
  }
  if (size.width < 1 || size.height < 1) return InvalidArgument("not a JPEG: it ends within its header");
  if (int64_t{size.width} * size.height > kMaxImagePixels) {
    return InvalidArgument("an image of {} x {} pixels is too large", size.width, size.height);
  }
  return size;
}

absl::StatusOr<Image> DecodeJpeg(std::span<const std::byte> jpeg, int channels) {
  WHARF_ASSIGN_OR_RETURN(const ImageSize size, JpegSize(jpeg));
  Image image{size.width, size.height, channels, {}};
  image.pixels.resize(static_cast<size_t>(size.width) * size.height * channels);
  const Handle handle(tjInitDecompress(), tjDestroy);
  constexpr int kFlags = TJFLAG_LIMITSCANS | TJFLAG_STOPONWARNING;
  if (tjDecompress2(handle.get(), Bytes(jpeg), jpeg.size(), image.pixels.data(), size.width, 0, size.height,
                    channels == 1 ? TJPF_GRAY : TJPF_RGB, kFlags) != 0) {
    return InvalidArgument("a damaged JPEG: {}", tjGetErrorStr2(handle.get()));
  }
  return image;
}

}  // namespace wharf::split
