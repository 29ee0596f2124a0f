// Textures as the driver wants them described.
#pragma once

#include "wharf/device/cuda/driver/driver_api.h"
#include "wharf/device/texture.h"

namespace wharf::device::cuda {

struct TextureObject {
  ResourceDescription resource;
  SamplerDescription sampler;
};

// Over memory of ours, which is no array of the driver's: linear memory, and what is two-dimensional, arrays too, whose
// base and pitch are as GPUs want them. kNotSupported, with the reason, for everything else: an array of the driver's
// would be a copy that goes stale. REQUIRES: CheckTexture found it right.
absl::StatusOr<TextureObject> DescribeTexture(const TextureDescription& texture);

}  // namespace wharf::device::cuda
