// cudaDeviceProp of the releases: CUDA 13's, and CUDA 12's, which has fields more and others less (structs_12.h).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "wharf/cudashim/client/device_info.h"

namespace wharf::cudashim {

// Of textures and surfaces: the attributes of the same names.
template <typename Properties>
void FillImageLimits(Properties* to) {
  const auto get = [](cudaDeviceAttr attribute) {
    int value = 0;
    (void)client::DeviceAttribute(attribute, &value);
    return value;
  };
  const auto fill = [&](int* places, std::initializer_list<cudaDeviceAttr> attributes) {
    for (const cudaDeviceAttr attribute : attributes) *places++ = get(attribute);
  };
  to->textureAlignment = static_cast<size_t>(get(cudaDevAttrTextureAlignment));
  to->surfaceAlignment = static_cast<size_t>(get(cudaDevAttrSurfaceAlignment));
  to->texturePitchAlignment = static_cast<size_t>(get(cudaDevAttrTexturePitchAlignment));
  to->maxTexture1D = get(cudaDevAttrMaxTexture1DWidth);
  to->maxTexture1DMipmap = get(cudaDevAttrMaxTexture1DMipmappedWidth);
  to->maxTextureCubemap = get(cudaDevAttrMaxTextureCubemapWidth);
  to->maxSurface1D = get(cudaDevAttrMaxSurface1DWidth);
  to->maxSurfaceCubemap = get(cudaDevAttrMaxSurfaceCubemapWidth);
  fill(to->maxTexture2D, {cudaDevAttrMaxTexture2DWidth, cudaDevAttrMaxTexture2DHeight});
  fill(to->maxTexture2DMipmap, {cudaDevAttrMaxTexture2DMipmappedWidth, cudaDevAttrMaxTexture2DMipmappedHeight});
  fill(to->maxTexture2DLinear,
       {cudaDevAttrMaxTexture2DLinearWidth, cudaDevAttrMaxTexture2DLinearHeight, cudaDevAttrMaxTexture2DLinearPitch});
  fill(to->maxTexture2DGather, {cudaDevAttrMaxTexture2DGatherWidth, cudaDevAttrMaxTexture2DGatherHeight});
  fill(to->maxTexture3D, {cudaDevAttrMaxTexture3DWidth, cudaDevAttrMaxTexture3DHeight, cudaDevAttrMaxTexture3DDepth});
  fill(to->maxTexture3DAlt,
       {cudaDevAttrMaxTexture3DWidthAlt, cudaDevAttrMaxTexture3DHeightAlt, cudaDevAttrMaxTexture3DDepthAlt});
  fill(to->maxTexture1DLayered, {cudaDevAttrMaxTexture1DLayeredWidth, cudaDevAttrMaxTexture1DLayeredLayers});
  fill(to->maxTexture2DLayered, {cudaDevAttrMaxTexture2DLayeredWidth, cudaDevAttrMaxTexture2DLayeredHeight,
                                 cudaDevAttrMaxTexture2DLayeredLayers});
  fill(to->maxTextureCubemapLayered,
       {cudaDevAttrMaxTextureCubemapLayeredWidth, cudaDevAttrMaxTextureCubemapLayeredLayers});
  fill(to->maxSurface2D, {cudaDevAttrMaxSurface2DWidth, cudaDevAttrMaxSurface2DHeight});
  fill(to->maxSurface3D, {cudaDevAttrMaxSurface3DWidth, cudaDevAttrMaxSurface3DHeight, cudaDevAttrMaxSurface3DDepth});
  fill(to->maxSurface1DLayered, {cudaDevAttrMaxSurface1DLayeredWidth, cudaDevAttrMaxSurface1DLayeredLayers});
  fill(to->maxSurface2DLayered, {cudaDevAttrMaxSurface2DLayeredWidth, cudaDevAttrMaxSurface2DLayeredHeight,
                                 cudaDevAttrMaxSurface2DLayeredLayers});
  fill(to->maxSurfaceCubemapLayered,
       {cudaDevAttrMaxSurfaceCubemapLayeredWidth, cudaDevAttrMaxSurfaceCubemapLayeredLayers});
}

// All but what only one release has.
template <typename Properties>
void FillCommonProperties(const device::DeviceProperties& from, Properties* to) {
  *to = {};
  std::snprintf(to->name, sizeof(to->name), "%s", from.name.c_str());
  std::memcpy(to->uuid.bytes, from.uuid.data(), sizeof(to->uuid.bytes));
  to->totalGlobalMem = from.total_memory;
  to->sharedMemPerBlock = from.shared_per_block;
  to->sharedMemPerBlockOptin = from.shared_per_block_optin;
  to->sharedMemPerMultiprocessor = from.shared_per_multiprocessor;
  to->regsPerBlock = from.registers_per_block;
  to->regsPerMultiprocessor = from.registers_per_multiprocessor;
  to->warpSize = from.warp_size;
  to->memPitch = INT32_MAX;
  to->maxThreadsPerBlock = from.max_threads_per_block;
  to->maxThreadsPerMultiProcessor = from.max_threads_per_multiprocessor;
  to->maxBlocksPerMultiProcessor = from.max_blocks_per_multiprocessor;
  for (int i = 0; i < 3; ++i) {
    to->maxThreadsDim[i] = static_cast<int>(from.max_block[static_cast<size_t>(i)]);
    to->maxGridSize[i] = static_cast<int>(from.max_grid[static_cast<size_t>(i)]);
  }
  to->totalConstMem = from.constant_memory;
  to->major = from.compute_major;
  to->minor = from.compute_minor;
  to->multiProcessorCount = from.multiprocessors;
  to->memoryBusWidth = from.memory_bus_bits;
  to->l2CacheSize = from.l2_bytes;
  to->pciBusID = 1;
  to->asyncEngineCount = to->unifiedAddressing = to->concurrentKernels = 1;
  to->managedMemory = to->canMapHostMemory = to->cooperativeLaunch = 1;
  to->streamPrioritiesSupported = to->globalL1CacheSupported = to->localL1CacheSupported = 1;
  to->computePreemptionSupported = to->hostRegisterSupported = to->memoryPoolsSupported = 1;
  FillImageLimits(to);
}

}  // namespace wharf::cudashim
