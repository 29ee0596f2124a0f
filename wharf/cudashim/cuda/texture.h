// What the driver API calls a texture or a surface object is made of, to and from the terms of neither API
// (cudashim/client/texture/texture.h).
#pragma once

#include "wharf/cudashim/client/texture/texture.h"
#include "wharf/cudashim/cuda/array.h"

namespace wharf::cudashim {

// kInvalidValue for what is no resource.
CudaError ResourceOf(const CUDA_RESOURCE_DESC& given, client::Resource* resource);
CUDA_RESOURCE_DESC DescribeResource(const client::Resource& resource);
// kInvalidValue for flags that are none; other numbers are checked when a texture is made.
CudaError SamplingOf(const CUDA_TEXTURE_DESC& given, client::Sampling* sampling);
CUDA_TEXTURE_DESC DescribeSampling(const client::Sampling& sampling);
client::ResourceView ViewOf(const CUDA_RESOURCE_VIEW_DESC& given);
CUDA_RESOURCE_VIEW_DESC DescribeView(const client::ResourceView& view);

}  // namespace wharf::cudashim
