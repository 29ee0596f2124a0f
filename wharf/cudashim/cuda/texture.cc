// Texture and surface objects.
#include "wharf/cudashim/cuda/texture.h"

#include <algorithm>

namespace wharf::cudashim {
namespace {

constexpr unsigned kKnownFlags = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |
                                 CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP;

CudaError MakeTexture(CUtexObject* texture, const CUDA_RESOURCE_DESC* resource, const CUDA_TEXTURE_DESC* sampling,
                      const CUDA_RESOURCE_VIEW_DESC* view) {
  if (texture == nullptr || resource == nullptr || sampling == nullptr) return CudaError::kInvalidValue;
  client::TextureParams params;
  CudaError error = ResourceOf(*resource, &params.resource);
  if (error == CudaError::kSuccess) error = SamplingOf(*sampling, &params.sampling);
  if (error != CudaError::kSuccess) return error;
  if (view != nullptr) params.view = ViewOf(*view);
  uint64_t handle = 0;
  error = client::CreateTexture(params, &handle);
  if (error == CudaError::kSuccess) *texture = handle;
  return error;
}

CudaError MakeSurface(CUsurfObject* surface, const CUDA_RESOURCE_DESC* given) {
  if (surface == nullptr || given == nullptr) return CudaError::kInvalidValue;
  client::Resource resource;
  CudaError error = ResourceOf(*given, &resource);
  if (error != CudaError::kSuccess) return error;
  uint64_t handle = 0;
  error = client::CreateSurface(resource, &handle);
  if (error == CudaError::kSuccess) *surface = handle;
  return error;
}

// What `describe` makes of a texture's parameters.
template <typename Desc, typename Describe>
CudaError ReadTexture(CUtexObject texture, Desc* desc, const Describe& describe) {
  client::TextureParams params;
  if (desc == nullptr) return CudaError::kInvalidValue;
  const CudaError error = client::ReadTexture(texture, &params);
  if (error == CudaError::kSuccess) *desc = describe(params);
  return error;
}

}  // namespace

CudaError ResourceOf(const CUDA_RESOURCE_DESC& given, client::Resource* resource) {
  if (given.flags != 0) return CudaError::kInvalidValue;
  std::optional<device::ChannelFormat> format;
  switch (given.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      resource->kind = device::ImageKind::kArray;
      resource->array = given.res.array.hArray;
      return CudaError::kSuccess;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      resource->kind = device::ImageKind::kArray;
      resource->mipmapped = given.res.mipmap.hMipmappedArray;
      return resource->mipmapped == nullptr ? CudaError::kInvalidHandle : CudaError::kSuccess;
    case CU_RESOURCE_TYPE_LINEAR:
      resource->kind = device::ImageKind::kLinear;
      resource->address = given.res.linear.devPtr;
      resource->bytes = given.res.linear.sizeInBytes;
      format = FormatOf(given.res.linear.format, given.res.linear.numChannels);
      break;
    case CU_RESOURCE_TYPE_PITCH2D:
      resource->kind = device::ImageKind::kPitched;
      resource->address = given.res.pitch2D.devPtr;
      resource->width = given.res.pitch2D.width;
      resource->height = given.res.pitch2D.height;
      resource->pitch = given.res.pitch2D.pitchInBytes;
      format = FormatOf(given.res.pitch2D.format, given.res.pitch2D.numChannels);
      break;
  }
  if (!format) return CudaError::kInvalidValue;
  resource->format = *format;
  return CudaError::kSuccess;
}

CUDA_RESOURCE_DESC DescribeResource(const client::Resource& resource) {
  CUDA_RESOURCE_DESC desc{};
  const CUarray_format format = DescribeFormat(resource.format);
  const unsigned channels = resource.format.channels;
  switch (resource.kind) {
    case device::ImageKind::kArray:
      if (resource.mipmapped != nullptr) {
        desc.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
        desc.res.mipmap.hMipmappedArray = static_cast<CUmipmappedArray>(const_cast<void*>(resource.mipmapped));
        break;
      }
      desc.resType = CU_RESOURCE_TYPE_ARRAY;
      desc.res.array.hArray = static_cast<CUarray>(const_cast<void*>(resource.array));
      break;
    case device::ImageKind::kLinear:
      desc.resType = CU_RESOURCE_TYPE_LINEAR;
      desc.res.linear = {resource.address, format, channels, resource.bytes};
      break;
    case device::ImageKind::kPitched:
      desc.resType = CU_RESOURCE_TYPE_PITCH2D;
      desc.res.pitch2D = {resource.address, format, channels, resource.width, resource.height, resource.pitch};
      break;
  }
  return desc;
}

CudaError SamplingOf(const CUDA_TEXTURE_DESC& given, client::Sampling* sampling) {
  if ((given.flags & ~kKnownFlags) != 0) return CudaError::kInvalidValue;
  const auto has = [&](unsigned flag) { return (given.flags & flag) != 0; };
  std::copy_n(given.addressMode, 3, sampling->address.begin());
  std::copy_n(given.borderColor, 4, sampling->border.begin());
  sampling->filter = given.filterMode;
  sampling->normalized_float = !has(CU_TRSF_READ_AS_INTEGER);
  sampling->normalized_coordinates = has(CU_TRSF_NORMALIZED_COORDINATES);
  sampling->srgb = has(CU_TRSF_SRGB);
  sampling->seamless = has(CU_TRSF_SEAMLESS_CUBEMAP);
  sampling->exact_trilinear = has(CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION);
  sampling->max_anisotropy = given.maxAnisotropy;
  sampling->mip_filter = given.mipmapFilterMode;
  sampling->mip_bias = given.mipmapLevelBias;
  sampling->min_level = given.minMipmapLevelClamp;
  sampling->max_level = given.maxMipmapLevelClamp;
  return CudaError::kSuccess;
}

CUDA_TEXTURE_DESC DescribeSampling(const client::Sampling& sampling) {
  CUDA_TEXTURE_DESC desc{};
  for (size_t i = 0; i < 3; ++i) desc.addressMode[i] = static_cast<CUaddress_mode>(sampling.address[i]);
  std::copy_n(sampling.border.begin(), 4, desc.borderColor);
  desc.filterMode = static_cast<CUfilter_mode>(sampling.filter);
  const auto flag = [](bool set, unsigned value) { return set ? value : 0; };
  desc.flags = flag(!sampling.normalized_float, CU_TRSF_READ_AS_INTEGER) |
               flag(sampling.normalized_coordinates, CU_TRSF_NORMALIZED_COORDINATES) |
               flag(sampling.srgb, CU_TRSF_SRGB) | flag(sampling.seamless, CU_TRSF_SEAMLESS_CUBEMAP) |
               flag(sampling.exact_trilinear, CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION);
  desc.maxAnisotropy = sampling.max_anisotropy;
  desc.mipmapFilterMode = static_cast<CUfilter_mode>(sampling.mip_filter);
  desc.mipmapLevelBias = sampling.mip_bias;
  desc.minMipmapLevelClamp = sampling.min_level;
  desc.maxMipmapLevelClamp = sampling.max_level;
  return desc;
}

client::ResourceView ViewOf(const CUDA_RESOURCE_VIEW_DESC& given) {
  return {static_cast<int>(given.format), given.width,           given.height,     given.depth,
          given.firstMipmapLevel,         given.lastMipmapLevel, given.firstLayer, given.lastLayer};
}

CUDA_RESOURCE_VIEW_DESC DescribeView(const client::ResourceView& view) {
  return {static_cast<CUresourceViewFormat>(view.format),
          view.width,
          view.height,
          view.depth,
          view.first_level,
          view.last_level,
          view.first_layer,
          view.last_layer,
          {}};
}

}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

CUresult cuTexObjectCreate(CUtexObject* texture, const CUDA_RESOURCE_DESC* resource, const CUDA_TEXTURE_DESC* sampling,
                           const CUDA_RESOURCE_VIEW_DESC* view) {
  return Driver(Call::k_cuTexObjectCreate, [&] { return MakeTexture(texture, resource, sampling, view); });
}

CUresult cuTexObjectDestroy(CUtexObject texture) {
  return Driver(Call::k_cuTexObjectDestroy, [&] { return client::DestroyTexture(texture); });
}

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* desc, CUtexObject texture) {
  return Driver(Call::k_cuTexObjectGetResourceDesc, [&] {
    return ReadTexture(texture, desc,
                       [](const client::TextureParams& params) { return DescribeResource(params.resource); });
  });
}

CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* desc, CUtexObject texture) {
  return Driver(Call::k_cuTexObjectGetTextureDesc, [&] {
    return ReadTexture(texture, desc,
                       [](const client::TextureParams& params) { return DescribeSampling(params.sampling); });
  });
}

CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* desc, CUtexObject texture) {
  return Driver(Call::k_cuTexObjectGetResourceViewDesc, [&] {
    client::TextureParams params;
    const CudaError error = desc == nullptr ? CudaError::kInvalidValue : client::ReadTexture(texture, &params);
    if (error == CudaError::kSuccess) *desc = DescribeView(params.view.value_or(client::ResourceView{}));
    return error;
  });
}

CUresult cuSurfObjectCreate(CUsurfObject* surface, const CUDA_RESOURCE_DESC* resource) {
  return Driver(Call::k_cuSurfObjectCreate, [&] { return MakeSurface(surface, resource); });
}

CUresult cuSurfObjectDestroy(CUsurfObject surface) {
  return Driver(Call::k_cuSurfObjectDestroy, [&] { return client::DestroySurface(surface); });
}

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* desc, CUsurfObject surface) {
  return Driver(Call::k_cuSurfObjectGetResourceDesc, [&] {
    client::Resource resource;
    const CudaError error = desc == nullptr ? CudaError::kInvalidValue : client::ReadSurface(surface, &resource);
    if (error == CudaError::kSuccess) *desc = DescribeResource(resource);
    return error;
  });
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t* width, CUarray_format format, unsigned channels, CUdevice device) {
  return Driver(Call::k_cuDeviceGetTexture1DLinearMaxWidth, [&] {
    if (width == nullptr || !FormatOf(format, channels)) return CudaError::kInvalidValue;
    if (const CudaError error = CheckDevice(device); error != CudaError::kSuccess) return error;
    *width = device::ImageLimits::kLinear;
    return CudaError::kSuccess;
  });
}

}  // extern "C"
