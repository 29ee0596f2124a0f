// Texture and surface objects.
#include "wharf/cudashim/cudart/texture.h"

#include <algorithm>

namespace wharf::cudashim {
namespace {

constexpr CudaError kInvalidNormSetting{27};

cudaArray_t ArrayOf(const client::Resource& resource) {
  return static_cast<cudaArray_t>(const_cast<void*>(resource.array));
}

// Of a mipmapped array the first level, which tells the others' format. nullptr if there is none.
std::shared_ptr<const client::Array> ArrayIn(const client::Resource& resource) {
  return client::FindFirstLevel(resource.array, resource.mipmapped);
}

// Whether texels can be read as numbers of [-1, 1].
bool CanBeNormalized(const device::ChannelFormat& format) {
  return format.kind != device::ChannelKind::kFloat && format.bits != 32;
}

// What NVIDIA's runtime finds wrong before it asks the driver.
CudaError CheckReading(const device::ChannelFormat& format, const client::Sampling& sampling) {
  const bool normalized = sampling.normalized_float && CanBeNormalized(format);
  const bool floats = normalized || format.kind == device::ChannelKind::kFloat;
  if (sampling.filter == cudaFilterModeLinear && !floats) return client::kInvalidFilterSetting;
  return sampling.normalized_float && !normalized ? kInvalidNormSetting : CudaError::kSuccess;
}

CudaError CheckReading(const client::TextureParams& params) {
  if (params.resource.kind != device::ImageKind::kArray) return CheckReading(params.resource.format, params.sampling);
  const std::shared_ptr<const client::Array> array = ArrayIn(params.resource);
  return array == nullptr ? CudaError::kInvalidHandle : CheckReading(array->image.format, params.sampling);
}

CudaError MakeTexture(cudaTextureObject_t* texture, const cudaResourceDesc* resource, const cudaTextureDesc* sampling,
                      const cudaResourceViewDesc* view) {
  if (texture == nullptr || resource == nullptr) return CudaError::kInvalidValue;
  if (sampling == nullptr) return CudaError::kInvalidHandle;
  client::TextureParams params;
  CudaError error = ResourceOf(*resource, &params.resource);
  if (error == CudaError::kSuccess) error = SamplingOf(*sampling, &params.sampling);
  const bool is_view = view != nullptr && params.resource.kind == device::ImageKind::kArray;
  if (error == CudaError::kSuccess && !is_view) error = CheckReading(params);
  if (error != CudaError::kSuccess) return error;
  if (is_view) {
    params.view = ViewOf(*view);
    // NVIDIA's runtime asks for integers as they are by the array's format, not the view's.
    const std::shared_ptr<const client::Array> array = ArrayIn(params.resource);
    if (array != nullptr && !CanBeNormalized(array->image.format)) params.sampling.normalized_float = true;
  }
  uint64_t handle = 0;
  error = client::CreateTexture(params, &handle);
  if (error == CudaError::kSuccess) *texture = handle;
  return error;
}

CudaError MakeSurface(cudaSurfaceObject_t* surface, const cudaResourceDesc* given) {
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
CudaError ReadTexture(cudaTextureObject_t texture, Desc* desc, const Describe& describe) {
  client::TextureParams params;
  if (desc == nullptr) return CudaError::kInvalidValue;
  const CudaError error = client::ReadTexture(texture, &params);
  if (error == CudaError::kSuccess) *desc = describe(params);
  return error;
}

}  // namespace

CudaError ResourceOf(const cudaResourceDesc& given, client::Resource* resource) {
  std::optional<device::ChannelFormat> format;
  switch (given.resType) {
    case cudaResourceTypeArray:
      resource->kind = device::ImageKind::kArray;
      resource->array = given.res.array.array;
      return CudaError::kSuccess;
    case cudaResourceTypeMipmappedArray:
      resource->kind = device::ImageKind::kArray;
      resource->mipmapped = given.res.mipmap.mipmap;
      return resource->mipmapped == nullptr ? CudaError::kInvalidHandle : CudaError::kSuccess;
    case cudaResourceTypeLinear:
      resource->kind = device::ImageKind::kLinear;
      resource->address = Address(given.res.linear.devPtr);
      resource->bytes = given.res.linear.sizeInBytes;
      format = FormatOf(given.res.linear.desc);
      break;
    case cudaResourceTypePitch2D:
      resource->kind = device::ImageKind::kPitched;
      resource->address = Address(given.res.pitch2D.devPtr);
      resource->width = given.res.pitch2D.width;
      resource->height = given.res.pitch2D.height;
      resource->pitch = given.res.pitch2D.pitchInBytes;
      format = FormatOf(given.res.pitch2D.desc);
      break;
  }
  if (!format) return client::kInvalidChannelDescriptor;
  resource->format = *format;
  return CudaError::kSuccess;
}

cudaResourceDesc DescribeResource(const client::Resource& resource) {
  cudaResourceDesc desc{};
  void* const pointer = reinterpret_cast<void*>(resource.address);
  switch (resource.kind) {
    case device::ImageKind::kArray:
      if (resource.mipmapped != nullptr) {
        desc.resType = cudaResourceTypeMipmappedArray;
        desc.res.mipmap.mipmap = static_cast<cudaMipmappedArray_t>(const_cast<void*>(resource.mipmapped));
        break;
      }
      desc.resType = cudaResourceTypeArray;
      desc.res.array.array = ArrayOf(resource);
      break;
    case device::ImageKind::kLinear:
      desc.resType = cudaResourceTypeLinear;
      desc.res.linear = {pointer, DescribeFormat(resource.format), resource.bytes};
      break;
    case device::ImageKind::kPitched:
      desc.resType = cudaResourceTypePitch2D;
      desc.res.pitch2D = {pointer, DescribeFormat(resource.format), resource.width, resource.height, resource.pitch};
      break;
  }
  return desc;
}

CudaError SamplingOf(const cudaTextureDesc& given, client::Sampling* sampling) {
  if (given.readMode != cudaReadModeElementType && given.readMode != cudaReadModeNormalizedFloat) {
    return CudaError::kInvalidValue;
  }
  std::copy_n(given.addressMode, 3, sampling->address.begin());
  std::copy_n(given.borderColor, 4, sampling->border.begin());
  sampling->filter = given.filterMode;
  sampling->normalized_float = given.readMode == cudaReadModeNormalizedFloat;
  sampling->normalized_coordinates = given.normalizedCoords != 0;
  sampling->srgb = given.sRGB != 0;
  sampling->seamless = given.seamlessCubemap != 0;
  sampling->exact_trilinear = given.disableTrilinearOptimization != 0;
  sampling->max_anisotropy = given.maxAnisotropy;
  sampling->mip_filter = given.mipmapFilterMode;
  sampling->mip_bias = given.mipmapLevelBias;
  sampling->min_level = given.minMipmapLevelClamp;
  sampling->max_level = given.maxMipmapLevelClamp;
  return CudaError::kSuccess;
}

cudaTextureDesc DescribeSampling(const client::Sampling& sampling) {
  cudaTextureDesc desc{};
  for (size_t i = 0; i < 3; ++i) desc.addressMode[i] = static_cast<cudaTextureAddressMode>(sampling.address[i]);
  std::copy_n(sampling.border.begin(), 4, desc.borderColor);
  desc.filterMode = static_cast<cudaTextureFilterMode>(sampling.filter);
  desc.readMode = sampling.normalized_float ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
  desc.normalizedCoords = sampling.normalized_coordinates;
  desc.sRGB = sampling.srgb;
  desc.seamlessCubemap = sampling.seamless;
  desc.disableTrilinearOptimization = sampling.exact_trilinear;
  desc.maxAnisotropy = sampling.max_anisotropy;
  desc.mipmapFilterMode = static_cast<cudaTextureFilterMode>(sampling.mip_filter);
  desc.mipmapLevelBias = sampling.mip_bias;
  desc.minMipmapLevelClamp = sampling.min_level;
  desc.maxMipmapLevelClamp = sampling.max_level;
  return desc;
}

client::ResourceView ViewOf(const cudaResourceViewDesc& given) {
  return {given.format,           given.width,           given.height,     given.depth,
          given.firstMipmapLevel, given.lastMipmapLevel, given.firstLayer, given.lastLayer};
}

cudaResourceViewDesc DescribeView(const client::ResourceView& view) {
  return {static_cast<cudaResourceViewFormat>(view.format),
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

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* sampling, const cudaResourceViewDesc* view) {
  return Runtime(Call::k_cudaCreateTextureObject, [&] { return MakeTexture(texture, resource, sampling, view); });
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) {
  return Runtime(Call::k_cudaDestroyTextureObject, [&] { return client::DestroyTexture(texture); });
}

cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* desc, cudaTextureObject_t texture) {
  return Runtime(Call::k_cudaGetTextureObjectResourceDesc, [&] {
    return ReadTexture(texture, desc,
                       [](const client::TextureParams& params) { return DescribeResource(params.resource); });
  });
}

cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* desc, cudaTextureObject_t texture) {
  return Runtime(Call::k_cudaGetTextureObjectTextureDesc, [&] {
    return ReadTexture(texture, desc, [](const client::TextureParams& params) {
      cudaTextureDesc told = DescribeSampling(params.sampling);
      // A texture of the driver API may say that what cannot be is normalized.
      const std::shared_ptr<const client::Array> array = ArrayIn(params.resource);
      if (!CanBeNormalized(array != nullptr ? array->image.format : params.resource.format)) {
        told.readMode = cudaReadModeElementType;
      }
      return told;
    });
  });
}

cudaError_t cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc* desc, cudaTextureObject_t texture) {
  return Runtime(Call::k_cudaGetTextureObjectResourceViewDesc, [&] {
    client::TextureParams params;
    const CudaError error = desc == nullptr ? CudaError::kInvalidValue : client::ReadTexture(texture, &params);
    if (error == CudaError::kSuccess) *desc = DescribeView(params.view.value_or(client::ResourceView{}));
    return error;
  });
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* surface, const cudaResourceDesc* resource) {
  return Runtime(Call::k_cudaCreateSurfaceObject, [&] { return MakeSurface(surface, resource); });
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface) {
  return Runtime(Call::k_cudaDestroySurfaceObject, [&] { return client::DestroySurface(surface); });
}

cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* desc, cudaSurfaceObject_t surface) {
  return Runtime(Call::k_cudaGetSurfaceObjectResourceDesc, [&] {
    client::Resource resource;
    const CudaError error = desc == nullptr ? CudaError::kInvalidValue : client::ReadSurface(surface, &resource);
    if (error == CudaError::kSuccess) *desc = DescribeResource(resource);
    return error;
  });
}

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t* width, const cudaChannelFormatDesc* format, int device) {
  return Runtime(Call::k_cudaDeviceGetTexture1DLinearMaxWidth, [&] {
    if (width == nullptr || format == nullptr || !FormatOf(*format)) return CudaError::kInvalidValue;
    if (device != 0) return CudaError::kInvalidDevice;
    *width = device::ImageLimits::kLinear;
    return CudaError::kSuccess;
  });
}

}  // extern "C"
