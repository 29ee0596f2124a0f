// What the runtime calls a texture or a surface object is made of, to and from the terms of neither API
// (cudashim/client/texture/texture.h).
#pragma once

#include "wharf/cudashim/client/texture/texture.h"
#include "wharf/cudashim/cudart/array.h"

namespace wharf::cudashim {

// kInvalidValue for what is no resource.
CudaError ResourceOf(const cudaResourceDesc& given, client::Resource* resource);
cudaResourceDesc DescribeResource(const client::Resource& resource);
// kInvalidValue for a read mode that is none; other numbers are checked when a texture is made.
CudaError SamplingOf(const cudaTextureDesc& given, client::Sampling* sampling);
cudaTextureDesc DescribeSampling(const client::Sampling& sampling);
client::ResourceView ViewOf(const cudaResourceViewDesc& given);
cudaResourceViewDesc DescribeView(const client::ResourceView& view);

}  // namespace wharf::cudashim
