// The private declarations against the vendor's header, where there is one; and what LoadDriver refuses.
#include "wharf/device/cuda/driver/driver_api.h"

#include <gtest/gtest.h>

#if __has_include(<cuda.h>)
#include <cuda.h>

namespace wharf::device::cuda {
static_assert(sizeof(Copy3D) == sizeof(CUDA_MEMCPY3D));
static_assert(offsetof(Copy3D, src_device) == offsetof(CUDA_MEMCPY3D, srcDevice));
static_assert(offsetof(Copy3D, dst_x) == offsetof(CUDA_MEMCPY3D, dstXInBytes));
static_assert(offsetof(Copy3D, dst_device) == offsetof(CUDA_MEMCPY3D, dstDevice));
static_assert(offsetof(Copy3D, width) == offsetof(CUDA_MEMCPY3D, WidthInBytes));
static_assert(kMemoryTypeHost == CU_MEMORYTYPE_HOST && kMemoryTypeDevice == CU_MEMORYTYPE_DEVICE);
static_assert(sizeof(AllocationProperties) == sizeof(CUmemAllocationProp));
static_assert(offsetof(AllocationProperties, location) == offsetof(CUmemAllocationProp, location));
static_assert(offsetof(AllocationProperties, flags) == offsetof(CUmemAllocationProp, allocFlags));
static_assert(AllocationProperties{}.type == CU_MEM_ALLOCATION_TYPE_PINNED);
static_assert(MemoryLocation{}.type == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(sizeof(AccessDescriptor) == sizeof(CUmemAccessDesc));
static_assert(AccessDescriptor{}.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
static_assert(sizeof(DevicePointer) == sizeof(CUdeviceptr));
static_assert(kStreamNonBlocking == CU_STREAM_NON_BLOCKING);
static_assert(static_cast<int>(StreamCaptureMode::kRelaxed) == CU_STREAM_CAPTURE_MODE_RELAXED);
static_assert(static_cast<int>(GraphNodeType::kKernel) == CU_GRAPH_NODE_TYPE_KERNEL);
static_assert(static_cast<int>(GraphNodeType::kMemcpy) == CU_GRAPH_NODE_TYPE_MEMCPY);
static_assert(static_cast<int>(GraphNodeType::kMemset) == CU_GRAPH_NODE_TYPE_MEMSET);
static_assert(static_cast<int>(GraphNodeType::kEmpty) == CU_GRAPH_NODE_TYPE_EMPTY);
static_assert(kEventBlockingSync == CU_EVENT_BLOCKING_SYNC && kEventDisableTiming == CU_EVENT_DISABLE_TIMING);
static_assert(kContextBlockingSync == CU_CTX_SCHED_BLOCKING_SYNC);
static_assert(static_cast<int>(DeviceAttribute::kVirtualMemory) ==
              CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
static_assert(static_cast<int>(DeviceAttribute::kSharedPerBlockOptin) ==
              CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
static_assert(static_cast<int>(DeviceAttribute::kRegistersPerMultiprocessor) ==
              CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
static_assert(static_cast<int>(DeviceAttribute::kMaxBlocksPerMultiprocessor) ==
              CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
static_assert(static_cast<int>(FunctionAttribute::kMaxDynamicShared) ==
              CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(sizeof(KernelNodeParameters) == sizeof(CUDA_KERNEL_NODE_PARAMS));
static_assert(offsetof(KernelNodeParameters, shared_bytes) == offsetof(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes));
static_assert(offsetof(KernelNodeParameters, extra) == offsetof(CUDA_KERNEL_NODE_PARAMS, extra));
static_assert(offsetof(KernelNodeParameters, context) == offsetof(CUDA_KERNEL_NODE_PARAMS, ctx));
static_assert(sizeof(LaunchConfiguration) == sizeof(CUlaunchConfig));
static_assert(offsetof(LaunchConfiguration, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(LaunchConfiguration, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(LaunchAttribute, cooperative) == offsetof(CUlaunchAttribute, value));
static_assert(LaunchAttribute::kCooperative == CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
static_assert(sizeof(MemsetNodeParameters) == sizeof(CUDA_MEMSET_NODE_PARAMS));
static_assert(offsetof(MemsetNodeParameters, element_bytes) == offsetof(CUDA_MEMSET_NODE_PARAMS, elementSize));
static_assert(offsetof(MemsetNodeParameters, height) == offsetof(CUDA_MEMSET_NODE_PARAMS, height));
static_assert(sizeof(ResourceDescription) == sizeof(CUDA_RESOURCE_DESC));
static_assert(offsetof(ResourceDescription, linear) == offsetof(CUDA_RESOURCE_DESC, res));
static_assert(offsetof(ResourceDescription, flags) == offsetof(CUDA_RESOURCE_DESC, flags));
static_assert(offsetof(ResourceDescription::Linear, bytes) ==
              offsetof(CUDA_RESOURCE_DESC, res.linear.sizeInBytes) - offsetof(CUDA_RESOURCE_DESC, res));
static_assert(offsetof(ResourceDescription::Pitched, channels) ==
              offsetof(CUDA_RESOURCE_DESC, res.pitch2D.numChannels) - offsetof(CUDA_RESOURCE_DESC, res));
static_assert(offsetof(ResourceDescription::Pitched, pitch) ==
              offsetof(CUDA_RESOURCE_DESC, res.pitch2D.pitchInBytes) - offsetof(CUDA_RESOURCE_DESC, res));
static_assert(static_cast<int>(ResourceType::kLinear) == CU_RESOURCE_TYPE_LINEAR &&
              static_cast<int>(ResourceType::kPitched) == CU_RESOURCE_TYPE_PITCH2D);
static_assert(static_cast<int>(ArrayFormat::kSigned32) == CU_AD_FORMAT_SIGNED_INT32 &&
              static_cast<int>(ArrayFormat::kUnsigned8) == CU_AD_FORMAT_UNSIGNED_INT8 &&
              static_cast<int>(ArrayFormat::kHalf) == CU_AD_FORMAT_HALF &&
              static_cast<int>(ArrayFormat::kFloat) == CU_AD_FORMAT_FLOAT);
static_assert(sizeof(SamplerDescription) == sizeof(CUDA_TEXTURE_DESC));
static_assert(offsetof(SamplerDescription, flags) == offsetof(CUDA_TEXTURE_DESC, flags));
static_assert(offsetof(SamplerDescription, mipmap_filter) == offsetof(CUDA_TEXTURE_DESC, mipmapFilterMode));
static_assert(offsetof(SamplerDescription, border) == offsetof(CUDA_TEXTURE_DESC, borderColor));
static_assert(CU_TR_ADDRESS_MODE_WRAP == 0 && CU_TR_ADDRESS_MODE_CLAMP == 1 && CU_TR_ADDRESS_MODE_MIRROR == 2 &&
              CU_TR_ADDRESS_MODE_BORDER == 3 && CU_TR_FILTER_MODE_POINT == 0 && CU_TR_FILTER_MODE_LINEAR == 1);
static_assert(CU_TRSF_READ_AS_INTEGER == 1 && CU_TRSF_NORMALIZED_COORDINATES == 2);
}  // namespace wharf::device::cuda
#endif

namespace wharf::device::cuda {
namespace {

TEST(LoadDriver, FindsEveryFunction) {
  const auto driver = LoadDriver(WHARF_FAKE_DRIVER);
  ASSERT_TRUE(driver.ok()) << driver.status();
  EXPECT_EQ((*driver)->Init(0), kResultSuccess);
}

TEST(LoadDriver, MissingLibrary) {
  EXPECT_EQ(LoadDriver("libno-such-driver.so.1").status().code(), absl::StatusCode::kUnavailable);
}

TEST(LoadDriver, SomeOtherLibrary) {
  const absl::Status status = LoadDriver("libm.so.6").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(Message(status).find("is not an NVIDIA driver"), std::string_view::npos) << status;
}

TEST(Driver, StatusCarriesTheNumber) {
  const auto driver = LoadDriver(WHARF_FAKE_DRIVER);
  ASSERT_TRUE(driver.ok()) << driver.status();
  EXPECT_TRUE((*driver)->ToStatus(kResultSuccess, "x").ok());
  EXPECT_EQ(CudaErrorOf((*driver)->ToStatus(700, "x")), CudaError::kIllegalAddress);
}

}  // namespace
}  // namespace wharf::device::cuda
