// Our description of CUDA 12's structs against NVIDIA's header, which CMakeLists.txt has this file find.
#include "wharf/cudashim/cudart/structs_12.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

namespace wharf::cudashim::cuda12 {
namespace {

static_assert(CUDART_VERSION >= 12000 && CUDART_VERSION < 13000);

TEST(StructsOfCuda12, DevicePropHasNvidiasFieldsWhereNvidiaHasThem) {
  EXPECT_EQ(sizeof(DeviceProp), sizeof(cudaDeviceProp));
#define SAME(field)                                                                  \
  EXPECT_EQ(offsetof(DeviceProp, field), offsetof(cudaDeviceProp, field)) << #field; \
  EXPECT_EQ(sizeof(DeviceProp::field), sizeof(cudaDeviceProp::field)) << #field
  SAME(name);
  SAME(uuid);
  SAME(luid);
  SAME(luidDeviceNodeMask);
  SAME(totalGlobalMem);
  SAME(sharedMemPerBlock);
  SAME(regsPerBlock);
  SAME(warpSize);
  SAME(memPitch);
  SAME(maxThreadsPerBlock);
  SAME(maxThreadsDim);
  SAME(maxGridSize);
  SAME(clockRate);
  SAME(totalConstMem);
  SAME(major);
  SAME(minor);
  SAME(textureAlignment);
  SAME(texturePitchAlignment);
  SAME(deviceOverlap);
  SAME(multiProcessorCount);
  SAME(kernelExecTimeoutEnabled);
  SAME(integrated);
  SAME(canMapHostMemory);
  SAME(computeMode);
  SAME(maxTexture1D);
  SAME(maxTexture1DMipmap);
  SAME(maxTexture1DLinear);
  SAME(maxTexture2D);
  SAME(maxTexture2DMipmap);
  SAME(maxTexture2DLinear);
  SAME(maxTexture2DGather);
  SAME(maxTexture3D);
  SAME(maxTexture3DAlt);
  SAME(maxTextureCubemap);
  SAME(maxTexture1DLayered);
  SAME(maxTexture2DLayered);
  SAME(maxTextureCubemapLayered);
  SAME(maxSurface1D);
  SAME(maxSurface2D);
  SAME(maxSurface3D);
  SAME(maxSurface1DLayered);
  SAME(maxSurface2DLayered);
  SAME(maxSurfaceCubemap);
  SAME(maxSurfaceCubemapLayered);
  SAME(surfaceAlignment);
  SAME(concurrentKernels);
  SAME(ECCEnabled);
  SAME(pciBusID);
  SAME(pciDeviceID);
  SAME(pciDomainID);
  SAME(tccDriver);
  SAME(asyncEngineCount);
  SAME(unifiedAddressing);
  SAME(memoryClockRate);
  SAME(memoryBusWidth);
  SAME(l2CacheSize);
  SAME(persistingL2CacheMaxSize);
  SAME(maxThreadsPerMultiProcessor);
  SAME(streamPrioritiesSupported);
  SAME(globalL1CacheSupported);
  SAME(localL1CacheSupported);
  SAME(sharedMemPerMultiprocessor);
  SAME(regsPerMultiprocessor);
  SAME(managedMemory);
  SAME(isMultiGpuBoard);
  SAME(multiGpuBoardGroupID);
  SAME(hostNativeAtomicSupported);
  SAME(singleToDoublePrecisionPerfRatio);
  SAME(pageableMemoryAccess);
  SAME(concurrentManagedAccess);
  SAME(computePreemptionSupported);
  SAME(canUseHostPointerForRegisteredMem);
  SAME(cooperativeLaunch);
  SAME(cooperativeMultiDeviceLaunch);
  SAME(sharedMemPerBlockOptin);
  SAME(pageableMemoryAccessUsesHostPageTables);
  SAME(directManagedMemAccessFromHost);
  SAME(maxBlocksPerMultiProcessor);
  SAME(accessPolicyMaxWindowSize);
  SAME(reservedSharedMemPerBlock);
  SAME(hostRegisterSupported);
  SAME(sparseCudaArraySupported);
  SAME(hostRegisterReadOnlySupported);
  SAME(timelineSemaphoreInteropSupported);
  SAME(memoryPoolsSupported);
  SAME(gpuDirectRDMASupported);
  SAME(gpuDirectRDMAFlushWritesOptions);
  SAME(gpuDirectRDMAWritesOrdering);
  SAME(memoryPoolSupportedHandleTypes);
  SAME(deferredMappingCudaArraySupported);
  SAME(ipcEventSupported);
  SAME(clusterLaunch);
  SAME(unifiedFunctionPointers);
  SAME(reserved);
#undef SAME
}

TEST(StructsOfCuda12, OthersAreAsLongAsNvidias) {
  EXPECT_EQ(kPointerAttributesBytes, sizeof(cudaPointerAttributes));
  EXPECT_EQ(kResourceDescBytes, sizeof(cudaResourceDesc));
  EXPECT_EQ(kResourceViewDescBytes, sizeof(cudaResourceViewDesc));
}

}  // namespace
}  // namespace wharf::cudashim::cuda12
