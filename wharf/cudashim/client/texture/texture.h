// Texture and surface objects as both shims see them, in the terms of neither API. The device chooses their handles, so
// making one waits for an answer; what it was made of is kept here, for queries.
//
// Errors are those of an H200 (driver 580): a surface may be made over an array without kArraySurface, and handles that
// are none may be destroyed. Stricter is what describes no memory: images of no texels, and rows longer than the pitch.
#pragma once

#include <array>
#include <optional>

#include "wharf/cudashim/client/texture/array.h"

namespace wharf::client {

// cudaResourceDesc, CUDA_RESOURCE_DESC.
struct Resource {
  device::ImageKind kind = device::ImageKind::kLinear;
  ArrayHandle array = nullptr;          // kArray, which has nothing else
  MipmappedHandle mipmapped = nullptr;  // or this
  uint64_t address = 0;                 // on a multiple of device::kTextureAlignment
  device::ChannelFormat format;
  uint64_t bytes = 0;              // kLinear
  uint64_t width = 0, height = 0;  // kPitched, in texels
  uint64_t pitch = 0;              // kPitched, in bytes: a multiple of device::kTexturePitchAlignment
};

// cudaTextureDesc, CUDA_TEXTURE_DESC: as they were given.
struct Sampling {
  std::array<int, 3> address{};  // device::AddressMode
  int filter = 0;                // device::FilterMode
  bool normalized_float = false, normalized_coordinates = false;
  std::array<float, 4> border{};
  bool srgb = false, seamless = false;
  bool exact_trilinear = false;  // no effect: all is exact
  uint32_t max_anisotropy = 0;   // no effect
  // Of mipmapped arrays.
  int mip_filter = 0;
  float mip_bias = 0, min_level = 0, max_level = 0;
};

// cudaResourceViewDesc, CUDA_RESOURCE_VIEW_DESC, whose formats have the same numbers.
struct ResourceView {
  int format = 0;
  uint64_t width = 0, height = 0, depth = 0;
  uint32_t first_level = 0, last_level = 0, first_layer = 0, last_layer = 0;
};

struct TextureParams {
  Resource resource;
  Sampling sampling;
  std::optional<ResourceView> view;
};

// kNotSupported, and the user is told once what it is, for sRGB, seamless cubes that are filtered, views of compressed
// formats and of some layers of mipmapped arrays; and for what the server's device has no textures of.
WHARF_CLIENT_API CudaError CreateTexture(TextureParams params, uint64_t* handle);
// Of an array, not a mipmapped one, whose levels are arrays.
WHARF_CLIENT_API CudaError CreateSurface(const Resource& resource, uint64_t* handle);
// Work that was launched before still finds it. Nothing happens if there is none.
WHARF_CLIENT_API CudaError DestroyTexture(uint64_t handle);
WHARF_CLIENT_API CudaError DestroySurface(uint64_t handle);
// As DestroySurface for each.
void DestroySurfacesOver(ArrayHandle array);
// What it was made of. kInvalidValue if there is none.
WHARF_CLIENT_API CudaError ReadTexture(uint64_t handle, TextureParams* params);
WHARF_CLIENT_API CudaError ReadSurface(uint64_t handle, Resource* resource);

}  // namespace wharf::client
