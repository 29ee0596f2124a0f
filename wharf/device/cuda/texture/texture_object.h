// Textures and formats as the driver wants them described.
#pragma once

#include "wharf/device/cuda/driver/driver_api.h"
#include "wharf/device/texture.h"

namespace wharf::device::cuda {

ArrayFormat FormatOf(const ChannelFormat& format);

// Over our memory, linear or pitched. kNotSupported, with the reason, if it does not lie as GPUs want it. REQUIRES:
// CheckTexture found the texture right; its image is no array.
absl::StatusOr<ResourceDescription> DescribeMemory(const ImageDescription& image);
SamplerDescription DescribeSampler(const TextureDescription& texture);

}  // namespace wharf::device::cuda
