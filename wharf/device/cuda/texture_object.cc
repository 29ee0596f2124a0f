#include "wharf/device/cuda/texture_object.h"

#include <algorithm>

namespace wharf::device::cuda {
namespace {

constexpr unsigned kReadAsInteger = 1, kNormalizedCoordinates = 2;  // CU_TRSF_…

ArrayFormat FormatOf(const ChannelFormat& format) {
  const bool is_signed = format.kind == ChannelKind::kSigned;
  if (format.kind == ChannelKind::kFloat) return format.bits == 16 ? ArrayFormat::kHalf : ArrayFormat::kFloat;
  if (format.bits == 8) return is_signed ? ArrayFormat::kSigned8 : ArrayFormat::kUnsigned8;
  if (format.bits == 16) return is_signed ? ArrayFormat::kSigned16 : ArrayFormat::kUnsigned16;
  return is_signed ? ArrayFormat::kSigned32 : ArrayFormat::kUnsigned32;
}

absl::Status Refused(const char* why) {
  return CudaStatus(CudaError::kNotSupported, "this GPU has no such texture: {}", why);
}

absl::Status DescribeResource(const ImageDescription& image, ResourceDescription* resource) {
  if (image.base % kTextureAlignment != 0) return Refused("its memory does not begin on a multiple of 512 bytes");
  if (image.kind == ImageKind::kLinear) {
    resource->type = ResourceType::kLinear;
    resource->linear = {.address = image.base,
                        .format = FormatOf(image.format),
                        .channels = image.format.channels,
                        .bytes = BytesOf(image)};
    return absl::OkStatus();
  }
  if (image.depth != 0 || image.height == 0) return Refused("arrays of one or three dimensions, layers and cubes");
  if (image.gather) return Refused("arrays for gathers");
  const uint64_t row = uint64_t{image.width} * image.format.TexelBytes();
  const uint64_t pitch = image.height > 1
                             ? image.row_pitch
                             : (row + kTexturePitchAlignment - 1) / kTexturePitchAlignment * kTexturePitchAlignment;
  if (pitch % kTexturePitchAlignment != 0) return Refused("its rows do not begin on multiples of 32 bytes");
  if (image.width > ImageLimits::kPitchedWidth || image.height > ImageLimits::kPitchedHeight ||
      pitch > ImageLimits::kPitch) {
    return Refused("it is too large for memory that is no array");
  }
  resource->type = ResourceType::kPitched;
  resource->pitched = {.address = image.base,
                       .format = FormatOf(image.format),
                       .channels = image.format.channels,
                       .width = image.width,
                       .height = image.height,
                       .pitch = pitch};
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TextureObject> DescribeTexture(const TextureDescription& texture) {
  if (texture.mipmap.levels > 1) return Refused("mipmapped arrays");
  TextureObject object;
  WHARF_RETURN_IF_ERROR(DescribeResource(texture.image, &object.resource));
  SamplerDescription& sampler = object.sampler;
  for (size_t d = 0; d < texture.address.size(); ++d) sampler.address[d] = static_cast<int>(texture.address[d]);
  sampler.filter = static_cast<int>(texture.filter);
  if (texture.read == ReadMode::kElement) sampler.flags |= kReadAsInteger;
  if (texture.normalized_coordinates) sampler.flags |= kNormalizedCoordinates;
  std::copy(texture.border.begin(), texture.border.end(), sampler.border);
  return object;
}

}  // namespace wharf::device::cuda
