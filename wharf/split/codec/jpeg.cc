#include "wharf/split/codec/jpeg.h"

#include <turbojpeg.h>

#include <memory>

namespace wharf::split {
namespace {

using Handle = std::unique_ptr<void, int (*)(tjhandle)>;

const unsigned char* Unsigned(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

struct JpegHeader {
  ImageSize size;
  int colours = 0;  // a TJCS
};

absl::StatusOr<JpegHeader> ReadHeader(std::span<const std::byte> jpeg) {
  const Handle handle(tjInitDecompress(), tjDestroy);
  JpegHeader header;
  ImageSize& size = header.size;
  int sampling = 0;
  if (tjDecompressHeader3(handle.get(), Unsigned(jpeg), jpeg.size(), &size.width, &size.height, &sampling,
                          &header.colours) != 0) {
    return InvalidArgument("not a JPEG: {}", tjGetErrorStr2(handle.get()));
  }
  if (size.width < 1 || size.height < 1) return InvalidArgument("not a JPEG: it ends within its header");
  if (int64_t{size.width} * size.height > kMaxImagePixels) {
    return InvalidArgument("an image of {} x {} pixels is too large", size.width, size.height);
  }
  return header;
}

// Its coefficients come block by block, not in scans. Reads the segments until the one that says so.
bool IsSequential(std::span<const std::byte> jpeg) {
  for (size_t at = 2; at + 4 <= jpeg.size();) {
    const auto byte = [&](size_t i) { return std::to_integer<unsigned>(jpeg[at + i]); };
    const unsigned marker = byte(1);
    if (byte(0) != 0xff || marker < 0xc0) return false;
    if (marker <= 0xc1) return true;
    if (marker != 0xc4 && marker < 0xdb) return false;  // frames of other kinds, and what does not stand before one
    at += 2 + (byte(2) << 8 | byte(3));
  }
  return false;
}

// Pixels of cyan, magenta, yellow and black in red, green and blue. They are stored as all programs that write such
// JPEGs do: 255 is no ink.
std::vector<uint8_t> FromInks(std::span<const uint8_t> inks) {
  std::vector<uint8_t> pixels;
  pixels.reserve(inks.size() / 4 * 3);
  for (size_t i = 0; i + 3 < inks.size(); i += 4) {
    for (size_t colour = 0; colour < 3; ++colour) {
      pixels.push_back(static_cast<uint8_t>((inks[i + colour] * inks[i + 3] + 127) / 255));
    }
  }
  return pixels;
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
  WHARF_ASSIGN_OR_RETURN(const JpegHeader header, ReadHeader(jpeg));
  return header.size;
}

bool IsOfInks(std::span<const std::byte> jpeg) {
  const auto header = ReadHeader(jpeg);
  return header.ok() && (header->colours == TJCS_CMYK || header->colours == TJCS_YCCK);
}

absl::StatusOr<Image> DecodeSentJpeg(std::span<const std::byte> jpeg, int channels) {
  if (!IsSequential(jpeg)) return InvalidArgument("a JPEG in scans, or none");
  return DecodeJpeg(jpeg, channels);
}

absl::StatusOr<Image> DecodeJpeg(std::span<const std::byte> jpeg, int channels) {
  WHARF_ASSIGN_OR_RETURN(const JpegHeader header, ReadHeader(jpeg));
  const ImageSize size = header.size;
  const bool inks = header.colours == TJCS_CMYK || header.colours == TJCS_YCCK;
  if (inks && channels != 3) return InvalidArgument("a JPEG of four inks where shades of grey are wanted");
  Image image{size.width, size.height, channels, {}};
  image.pixels.resize(static_cast<size_t>(size.width) * size.height * (inks ? 4 : channels));
  const Handle handle(tjInitDecompress(), tjDestroy);
  constexpr int kFlags = TJFLAG_LIMITSCANS | TJFLAG_STOPONWARNING;
  if (tjDecompress2(handle.get(), Unsigned(jpeg), jpeg.size(), image.pixels.data(), size.width, 0, size.height,
                    inks            ? TJPF_CMYK
                    : channels == 1 ? TJPF_GRAY
                                    : TJPF_RGB,
                    kFlags) != 0) {
    return InvalidArgument("a damaged JPEG: {}", tjGetErrorStr2(handle.get()));
  }
  if (inks) image.pixels = FromInks(image.pixels);
  return image;
}

}  // namespace wharf::split
