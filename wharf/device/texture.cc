#include "wharf/device/texture.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>

namespace wharf::device {
namespace {

constexpr uint64_t kMostPitch = uint64_t{1} << 40;  // of rows and slices of arrays: more than any device's memory

absl::Status Wrong(std::string_view what) { return CudaStatus(CudaError::kInvalidValue, "no image: {}", what); }

bool IsFormat(const ChannelFormat& format) {
  if (format.channels != 1 && format.channels != 2 && format.channels != 4) return false;
  if (format.kind == ChannelKind::kFloat) return format.bits == 16 || format.bits == 32;
  const bool integer = format.kind == ChannelKind::kSigned || format.kind == ChannelKind::kUnsigned;
  return integer && (format.bits == 8 || format.bits == 16 || format.bits == 32);
}

bool IsArrayShape(const ImageDescription& i) {
  using L = ImageLimits;
  if (i.gather && (i.height == 0 || i.depth != 0 || i.width > L::kGather || i.height > L::kGather)) return false;
  if (i.cubemap) {
    const bool faces = i.layered ? i.depth != 0 && i.depth % 6 == 0 && i.depth <= L::kFaces : i.depth == 6;
    return i.width == i.height && i.width <= L::kLayered && faces;
  }
  if (i.layered) return i.depth != 0 && i.depth <= L::kLayers && i.width <= L::kLayered && i.height <= L::kLayered;
  if (i.depth != 0) return i.height != 0 && i.width <= L::kVolume && i.height <= L::kVolume && i.depth <= L::kVolume;
  return i.width <= L::kWidth && i.height <= L::kHeight;
}

bool IsShape(const ImageDescription& image) {
  if (image.width == 0) return false;
  if (image.kind == ImageKind::kArray) return IsArrayShape(image);
  if (image.layered || image.cubemap || image.gather || image.depth != 0) return false;
  if (image.kind == ImageKind::kLinear) return image.height == 0 && image.width <= ImageLimits::kLinear;
  return image.kind == ImageKind::kPitched && image.width <= ImageLimits::kPitchedWidth && image.height != 0 &&
         image.height <= ImageLimits::kPitchedHeight && image.row_pitch <= ImageLimits::kPitch;
}

template <typename Enum>
bool IsAtMost(Enum value, Enum last) {
  return static_cast<uint8_t>(value) <= static_cast<uint8_t>(last);
}

uint64_t RoundUp(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

absl::Status CheckMipmap(const TextureDescription& texture, bool floats) {
  const ImageDescription& image = texture.image;
  const Mipmap& mipmap = texture.mipmap;
  if (mipmap.levels == 0 || mipmap.levels > MostLevels(image)) return Wrong("number of levels");
  if (mipmap.levels > 1) {
    const bool small = std::max(image.width, image.height) <= ImageLimits::kMipmapped;
    if (image.kind != ImageKind::kArray || image.gather || !small) return Wrong("it cannot have levels");
    if (!texture.normalized_coordinates) return Wrong("levels want normalized coordinates");
    if (BytesOf(image, mipmap.levels) > ~uint64_t{0} - image.base) return Wrong("it goes beyond all addresses");
  }
  if (!IsAtMost(mipmap.filter, FilterMode::kLinear)) return Wrong("filter mode of levels");
  if (mipmap.filter == FilterMode::kLinear && !floats) return Wrong("integers cannot be filtered");
  const bool numbers = !std::isnan(mipmap.bias) && !std::isnan(mipmap.lowest) && !std::isnan(mipmap.highest);
  return numbers ? absl::OkStatus() : Wrong("bias or bounds of levels");
}

absl::Status NoTextures() { return CudaStatus(CudaError::kNotSupported, "this device has no textures and surfaces"); }

}  // namespace

uint64_t BytesOf(const ImageDescription& image) {
  uint64_t bytes = uint64_t{image.width} * image.format.TexelBytes();
  if (image.Rows() > 1) bytes += (image.Rows() - 1) * image.row_pitch;
  if (image.Slices() > 1) bytes += (image.Slices() - 1) * image.slice_pitch;
  return bytes;
}

uint32_t MostLevels(const ImageDescription& image) {
  const bool volume = image.depth != 0 && !image.layered && !image.cubemap;
  const uint32_t extent = std::max({image.width, image.height, volume ? image.depth : 0});
  return static_cast<uint32_t>(std::bit_width(extent));
}

void LayOutArray(ImageDescription* image) {
  const uint64_t row = uint64_t{image->width} * image->format.TexelBytes();
  image->row_pitch = image->Rows() > 1 ? RoundUp(row, kTexturePitchAlignment) : row;
  image->slice_pitch = image->row_pitch * image->Rows();
}

ImageDescription LevelOf(const ImageDescription& image, uint32_t level) {
  ImageDescription at = image;
  for (uint32_t i = 0; i < level; ++i) {
    at.base = RoundUp(at.base + BytesOf(at), kTextureAlignment);
    const auto halve = [](uint32_t extent) { return extent == 0 ? 0 : std::max(1U, extent / 2); };
    at.width = halve(at.width);
    at.height = halve(at.height);
    if (!at.layered && !at.cubemap) at.depth = halve(at.depth);
    LayOutArray(&at);
  }
  return at;
}

uint64_t BytesOf(const ImageDescription& image, uint32_t levels) {
  const ImageDescription last = LevelOf(image, levels - 1);
  return last.base - image.base + BytesOf(last);
}

absl::Status CheckImage(const ImageDescription& image) {
  if (!IsFormat(image.format)) return Wrong("no format of texels");
  if (!IsShape(image)) return Wrong("extents");
  const uint64_t texel = image.format.TexelBytes();
  // No overflow from here on: extents are at most 2^28, the pitches that are used 2^40.
  const uint64_t row = image.width * texel;
  if (image.Rows() > 1 && (image.row_pitch < row || image.row_pitch % texel != 0 || image.row_pitch > kMostPitch)) {
    return Wrong("pitch of rows");
  }
  const uint64_t slice = row + (image.Rows() > 1 ? (image.Rows() - 1) * image.row_pitch : 0);
  if (image.Slices() > 1 &&
      (image.slice_pitch < slice || image.slice_pitch % texel != 0 || image.slice_pitch > kMostPitch)) {
    return Wrong("pitch of slices");
  }
  if (image.base == 0 || image.base % texel != 0) return Wrong("its address");
  if (BytesOf(image) > ~uint64_t{0} - image.base) return Wrong("it goes beyond all addresses");
  return absl::OkStatus();
}

absl::Status CheckTexture(const TextureDescription& texture) {
  WHARF_RETURN_IF_ERROR(CheckImage(texture.image));
  for (const AddressMode mode : texture.address) {
    if (!IsAtMost(mode, AddressMode::kBorder)) return Wrong("address mode");
  }
  if (!IsAtMost(texture.filter, FilterMode::kLinear)) return Wrong("filter mode");
  if (!IsAtMost(texture.read, ReadMode::kNormalizedFloat)) return Wrong("read mode");
  const ChannelFormat& format = texture.image.format;
  const bool floats =
      format.kind == ChannelKind::kFloat || (texture.read == ReadMode::kNormalizedFloat && format.bits != 32);
  if (texture.filter == FilterMode::kLinear && !floats) return Wrong("integers cannot be filtered");
  WHARF_RETURN_IF_ERROR(CheckMipmap(texture, floats));
  if (texture.image.kind == ImageKind::kLinear &&
      (texture.filter != FilterMode::kPoint || texture.normalized_coordinates)) {
    return Wrong("a linear one is fetched by integers, unfiltered");
  }
  return absl::OkStatus();
}

absl::Status CheckSurface(const ImageDescription& image) {
  WHARF_RETURN_IF_ERROR(CheckImage(image));
  if (image.kind != ImageKind::kArray) return Wrong("only arrays have surfaces");
  return absl::OkStatus();
}

absl::StatusOr<TextureHandle> Device::CreateTexture(const TextureDescription&) { return NoTextures(); }
absl::StatusOr<TextureHandle> Device::CreateSurface(const ImageDescription&) { return NoTextures(); }
absl::StatusOr<TensorMap> Device::EncodeTensorMap(const TensorMapDescription&) {
  return CudaStatus(CudaError::kNotSupported, "this device has no tensor maps");
}
absl::Status Device::DestroyTexture(TextureHandle) { return NoTextures(); }
absl::Status Device::DestroySurface(TextureHandle) { return NoTextures(); }

}  // namespace wharf::device
