#include "wharf/device/cuda/texture/texture_object.h"

#include <algorithm>

namespace wharf::device::cuda {
namespace {

constexpr unsigned kReadAsInteger = 1, kNormalizedCoordinates = 2;  // CU_TRSF_…

absl::Status Refused(const char* why) {
  return CudaStatus(CudaError::kNotSupported, "this GPU has no such texture: {}", why);
}

}  // namespace

ArrayFormat FormatOf(const ChannelFormat& format) {
  const bool is_signed = format.kind == ChannelKind::kSigned;
  if (format.kind == ChannelKind::kFloat) return format.bits == 16 ? ArrayFormat::kHalf : ArrayFormat::kFloat;
  if (format.bits == 8) return is_signed ? ArrayFormat::kSigned8 : ArrayFormat::kUnsigned8;
  if (format.bits == 16) return is_signed ? ArrayFormat::kSigned16 : ArrayFormat::kUnsigned16;
  return is_signed ? ArrayFormat::kSigned32 : ArrayFormat::kUnsigned32;
}

absl::StatusOr<ResourceDescription> DescribeMemory(const ImageDescription& image) {
  if (image.base % kTextureAlignment != 0) return Refused("its memory does not begin on a multiple of 512 bytes");
  ResourceDescription resource;
  if (image.kind == ImageKind::kLinear) {
    resource.type = ResourceType::kLinear;
    resource.linear = {.address = image.base,
                       .format = FormatOf(image.format),
                       .channels = image.format.channels,
                       .bytes = BytesOf(image)};
    return resource;
  }
  const uint64_t row = uint64_t{image.width} * image.format.TexelBytes();
  const uint64_t pitch = image.height > 1
                             ? image.row_pitch
                             : (row + kTexturePitchAlignment - 1) / kTexturePitchAlignment * kTexturePitchAlignment;
  if (pitch % kTexturePitchAlignment != 0) return Refused("its rows do not begin on multiples of 32 bytes");
  if (image.width > ImageLimits::kPitchedWidth || image.height > ImageLimits::kPitchedHeight ||
      pitch > ImageLimits::kPitch) {
    return Refused("it is too large for memory that is no array");
  }
  resource.type = ResourceType::kPitched;
  resource.pitched = {.address = image.base,
                      .format = FormatOf(image.format),
                      .channels = image.format.channels,
                      .width = image.width,
                      .height = image.Rows(),
                      .pitch = pitch};
  return resource;
}

SamplerDescription DescribeSampler(const TextureDescription& texture) {
  SamplerDescription sampler;
  for (size_t d = 0; d < texture.address.size(); ++d) sampler.address[d] = static_cast<int>(texture.address[d]);
  sampler.filter = static_cast<int>(texture.filter);
  if (texture.read == ReadMode::kElement) sampler.flags |= kReadAsInteger;
  if (texture.normalized_coordinates) sampler.flags |= kNormalizedCoordinates;
  if (texture.mipmap.levels > 1) {
    sampler.mipmap_filter = static_cast<int>(texture.mipmap.filter);
    sampler.mipmap_bias = texture.mipmap.bias;
    sampler.least_level = texture.mipmap.lowest;
    sampler.most_level = texture.mipmap.highest;
  }
  std::copy(texture.border.begin(), texture.border.end(), sampler.border);
  return sampler;
}

}  // namespace wharf::device::cuda
