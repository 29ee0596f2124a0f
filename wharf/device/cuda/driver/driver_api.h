// The part of the CUDA driver API that device/cuda uses: types, constants and a table of functions found at run time.
// Nothing of the vendor's is needed to build; what stands here is the driver's stable binary interface
// (driver_api_test.cc compares it with the vendor's cuda.h where a toolkit is installed).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "wharf/base/status.h"
#include "wharf/device/cuda_error.h"

namespace wharf::device::cuda {

using Result = int;  // CUresult
inline constexpr Result kResultSuccess = 0;
inline constexpr Result kResultNotReady = 600;

using DevicePointer = unsigned long long;  // CUdeviceptr
using AllocationHandle = unsigned long long;
using ContextHandle = struct ContextOpaque*;
using StreamHandle = struct StreamOpaque*;
using EventHandle = struct EventOpaque*;
using ModuleHandle = struct ModuleOpaque*;
using FunctionHandle = struct FunctionOpaque*;
using GraphHandle = struct GraphOpaque*;
using GraphNodeHandle = struct GraphNodeOpaque*;
using GraphExecHandle = struct GraphExecOpaque*;
using ArrayHandle = struct ArrayOpaque*;
using MipmappedArrayHandle = struct MipmappedArrayOpaque*;

inline constexpr unsigned kContextBlockingSync = 4;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventBlockingSync = 1, kEventDisableTiming = 2;
inline constexpr unsigned kHostAllocPortable = 1;
inline constexpr int kMemoryTypeHost = 1, kMemoryTypeDevice = 2, kMemoryTypeArray = 3;

enum class DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxBlockX = 2,
  kMaxBlockY = 3,
  kMaxBlockZ = 4,
  kMaxGridX = 5,
  kMaxGridY = 6,
  kMaxGridZ = 7,
  kSharedPerBlock = 8,
  kConstantMemory = 9,
  kWarpSize = 10,
  kRegistersPerBlock = 12,
  kClockKhz = 13,
  kMultiprocessors = 16,
  kMemoryClockKhz = 36,
  kMemoryBusBits = 37,
  kL2Bytes = 38,
  kMaxThreadsPerMultiprocessor = 39,
  kComputeMajor = 75,
  kComputeMinor = 76,
  kSharedPerMultiprocessor = 81,
  kRegistersPerMultiprocessor = 82,
  kSharedPerBlockOptin = 97,
  kVirtualMemory = 102,
  kMaxBlocksPerMultiprocessor = 106,
};

enum class StreamCaptureMode : int { kRelaxed = 2 };

// CUgraphNodeType, those that are told apart.
enum class GraphNodeType : int { kKernel = 0, kMemcpy = 1, kMemset = 2, kEmpty = 5 };

enum class FunctionAttribute : int {
  kMaxThreadsPerBlock = 0,
  kSharedBytes = 1,
  kConstBytes = 2,
  kLocalBytes = 3,
  kRegisters = 4,
  kPtxVersion = 5,
  kBinaryVersion = 6,
  kMaxDynamicShared = 8,
};

struct MemoryLocation {
  int type = 1;  // a device
  int id = 0;
};
struct AllocationProperties {
  int type = 1;  // pinned
  int handle_types = 0;
  MemoryLocation location;
  void* win32_metadata = nullptr;
  struct {
    unsigned char compression = 0, gpu_direct_rdma = 0;
    unsigned short usage = 0;
    unsigned char reserved[4] = {};
  } flags;
};
struct AccessDescriptor {
  MemoryLocation location;
  int flags = 3;  // read and write
};
struct Uuid {
  unsigned char bytes[16] = {};
};

// CUDA_MEMCPY3D
struct Copy3D {
  size_t src_x = 0, src_y = 0, src_z = 0, src_lod = 0;
  int src_type = kMemoryTypeDevice;
  const void* src_host = nullptr;
  DevicePointer src_device = 0;
  void* src_array = nullptr;
  void* reserved0 = nullptr;
  size_t src_pitch = 0, src_height = 0;
  size_t dst_x = 0, dst_y = 0, dst_z = 0, dst_lod = 0;
  int dst_type = kMemoryTypeDevice;
  void* dst_host = nullptr;
  DevicePointer dst_device = 0;
  void* dst_array = nullptr;
  void* reserved1 = nullptr;
  size_t dst_pitch = 0, dst_height = 0;
  size_t width = 0, height = 0, depth = 0;
};

// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelNodeParameters {
  FunctionHandle function = nullptr;
  unsigned grid_x = 1, grid_y = 1, grid_z = 1, block_x = 1, block_y = 1, block_z = 1, shared_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
  void* kernel = nullptr;
  ContextHandle context = nullptr;
};
// CUlaunchAttribute
struct LaunchAttribute {
  static constexpr int kCooperative = 2;
  int id = 0;
  char padding[4] = {};
  union {
    char bytes[64] = {};
    int cooperative;
  };
};
// CUlaunchConfig
struct LaunchConfiguration {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1, block_x = 1, block_y = 1, block_z = 1, shared_bytes = 0;
  StreamHandle stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};
// CUDA_MEMSET_NODE_PARAMS
struct MemsetNodeParameters {
  DevicePointer to = 0;
  size_t pitch = 0;
  unsigned value = 0, element_bytes = 1;
  size_t width = 0, height = 1;  // elements, rows
};

enum class ArrayFormat : int {
  kUnsigned8 = 0x01,
  kUnsigned16 = 0x02,
  kUnsigned32 = 0x03,
  kSigned8 = 0x08,
  kSigned16 = 0x09,
  kSigned32 = 0x0a,
  kHalf = 0x10,
  kFloat = 0x20,
};
// CUDA_ARRAY3D_DESCRIPTOR
struct ArrayDescription {
  size_t width = 0, height = 0, depth = 0;
  ArrayFormat format = ArrayFormat::kUnsigned8;
  unsigned channels = 1, flags = 0;
};
enum class ResourceType : int { kArray = 0, kMipmapped = 1, kLinear = 2, kPitched = 3 };
// CUDA_RESOURCE_DESC
struct ResourceDescription {
  struct Linear {
    DevicePointer address;
    ArrayFormat format;
    unsigned channels;
    size_t bytes;
  };
  struct Pitched {
    DevicePointer address;
    ArrayFormat format;
    unsigned channels;
    size_t width, height, pitch;  // texels, rows, bytes
  };
  ResourceType type = ResourceType::kLinear;
  union {
    int reserved[32] = {};
    ArrayHandle array;
    MipmappedArrayHandle mipmapped;
    Linear linear;
    Pitched pitched;
  };
  unsigned flags = 0;
};
// CUDA_TEXTURE_DESC. Modes are numbered as in wharf/device/texture.h.
struct SamplerDescription {
  int address[3] = {};
  int filter = 0;
  unsigned flags = 0, max_anisotropy = 0;
  int mipmap_filter = 0;
  float mipmap_bias = 0, least_level = 0, most_level = 0;
  float border[4] = {};
  int reserved[12] = {};
};

// Keys of cuLaunchKernel's `extra`.
inline void* const kLaunchEnd = nullptr;
inline void* const kLaunchBufferPointer = reinterpret_cast<void*>(uintptr_t{1});
inline void* const kLaunchBufferSize = reinterpret_cast<void*>(uintptr_t{2});

// X(member, exported name, arguments)
#define WHARF_CUDA_DRIVER_FUNCTIONS(X)                                                                               \
  X(Init, "cuInit", (unsigned))                                                                                      \
  X(DriverGetVersion, "cuDriverGetVersion", (int*))                                                                  \
  X(DeviceGetCount, "cuDeviceGetCount", (int*))                                                                      \
  X(DeviceGet, "cuDeviceGet", (int*, int))                                                                           \
  X(DeviceGetName, "cuDeviceGetName", (char*, int, int))                                                             \
  X(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t*, int))                                                           \
  X(DeviceGetAttribute, "cuDeviceGetAttribute", (int*, DeviceAttribute, int))                                        \
  X(DeviceGetUuid, "cuDeviceGetUuid_v2", (Uuid*, int))                                                               \
  X(CtxCreate, "cuCtxCreate_v2", (ContextHandle*, unsigned, int))                                                    \
  X(CtxDestroy, "cuCtxDestroy_v2", (ContextHandle))                                                                  \
  X(CtxSetCurrent, "cuCtxSetCurrent", (ContextHandle))                                                               \
  X(CtxSynchronize, "cuCtxSynchronize", ())                                                                          \
  X(GetErrorName, "cuGetErrorName", (Result, const char**))                                                          \
  X(GetErrorString, "cuGetErrorString", (Result, const char**))                                                      \
  X(MemAddressReserve, "cuMemAddressReserve", (DevicePointer*, size_t, size_t, DevicePointer, unsigned long long))   \
  X(MemAddressFree, "cuMemAddressFree", (DevicePointer, size_t))                                                     \
  X(MemGetAllocationGranularity, "cuMemGetAllocationGranularity", (size_t*, const AllocationProperties*, int))       \
  X(MemCreate, "cuMemCreate", (AllocationHandle*, size_t, const AllocationProperties*, unsigned long long))          \
  X(MemRelease, "cuMemRelease", (AllocationHandle))                                                                  \
  X(MemMap, "cuMemMap", (DevicePointer, size_t, size_t, AllocationHandle, unsigned long long))                       \
  X(MemUnmap, "cuMemUnmap", (DevicePointer, size_t))                                                                 \
  X(MemSetAccess, "cuMemSetAccess", (DevicePointer, size_t, const AccessDescriptor*, size_t))                        \
  X(MemHostAlloc, "cuMemHostAlloc", (void**, size_t, unsigned))                                                      \
  X(MemFreeHost, "cuMemFreeHost", (void*))                                                                           \
  X(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (DevicePointer, const void*, size_t, StreamHandle))                     \
  X(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void*, DevicePointer, size_t, StreamHandle))                           \
  X(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (DevicePointer, DevicePointer, size_t, StreamHandle))                   \
  X(Memcpy3DAsync, "cuMemcpy3DAsync_v2", (const Copy3D*, StreamHandle))                                              \
  X(MemsetD8Async, "cuMemsetD8Async", (DevicePointer, unsigned char, size_t, StreamHandle))                          \
  X(MemsetD16Async, "cuMemsetD16Async", (DevicePointer, unsigned short, size_t, StreamHandle))                       \
  X(MemsetD32Async, "cuMemsetD32Async", (DevicePointer, unsigned, size_t, StreamHandle))                             \
  X(MemsetD2D8Async, "cuMemsetD2D8Async", (DevicePointer, size_t, unsigned char, size_t, size_t, StreamHandle))      \
  X(MemsetD2D16Async, "cuMemsetD2D16Async", (DevicePointer, size_t, unsigned short, size_t, size_t, StreamHandle))   \
  X(MemsetD2D32Async, "cuMemsetD2D32Async", (DevicePointer, size_t, unsigned, size_t, size_t, StreamHandle))         \
  X(StreamCreateWithPriority, "cuStreamCreateWithPriority", (StreamHandle*, unsigned, int))                          \
  X(StreamDestroy, "cuStreamDestroy_v2", (StreamHandle))                                                             \
  X(StreamQuery, "cuStreamQuery", (StreamHandle))                                                                    \
  X(StreamWaitEvent, "cuStreamWaitEvent", (StreamHandle, EventHandle, unsigned))                                     \
  X(StreamBeginCapture, "cuStreamBeginCapture_v2", (StreamHandle, StreamCaptureMode))                                \
  X(StreamEndCapture, "cuStreamEndCapture", (StreamHandle, GraphHandle*))                                            \
  X(EventCreate, "cuEventCreate", (EventHandle*, unsigned))                                                          \
  X(EventDestroy, "cuEventDestroy_v2", (EventHandle))                                                                \
  X(EventRecord, "cuEventRecord", (EventHandle, StreamHandle))                                                       \
  X(EventQuery, "cuEventQuery", (EventHandle))                                                                       \
  X(EventSynchronize, "cuEventSynchronize", (EventHandle))                                                           \
  X(EventElapsedTime, "cuEventElapsedTime", (float*, EventHandle, EventHandle))                                      \
  X(ModuleLoadData, "cuModuleLoadData", (ModuleHandle*, const void*))                                                \
  X(ModuleUnload, "cuModuleUnload", (ModuleHandle))                                                                  \
  X(ModuleGetFunction, "cuModuleGetFunction", (FunctionHandle*, ModuleHandle, const char*))                          \
  X(ModuleGetGlobal, "cuModuleGetGlobal_v2", (DevicePointer*, size_t*, ModuleHandle, const char*))                   \
  X(FuncGetAttribute, "cuFuncGetAttribute", (int*, FunctionAttribute, FunctionHandle))                               \
  X(FuncSetAttribute, "cuFuncSetAttribute", (FunctionHandle, FunctionAttribute, int))                                \
  X(FuncGetParamInfo, "cuFuncGetParamInfo", (FunctionHandle, size_t, size_t*, size_t*))                              \
  X(LaunchKernel, "cuLaunchKernel",                                                                                  \
    (FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, StreamHandle, void**,     \
     void**))                                                                                                        \
  X(LaunchKernelEx, "cuLaunchKernelEx", (const LaunchConfiguration*, FunctionHandle, void**, void**))                \
  X(TexObjectCreate, "cuTexObjectCreate",                                                                            \
    (uint64_t*, const ResourceDescription*, const SamplerDescription*, const void*))                                 \
  X(TexObjectDestroy, "cuTexObjectDestroy", (uint64_t))                                                              \
  X(SurfObjectCreate, "cuSurfObjectCreate", (uint64_t*, const ResourceDescription*))                                 \
  X(SurfObjectDestroy, "cuSurfObjectDestroy", (uint64_t))                                                            \
  X(Array3DCreate, "cuArray3DCreate_v2", (ArrayHandle*, const ArrayDescription*))                                    \
  X(ArrayDestroy, "cuArrayDestroy", (ArrayHandle))                                                                   \
  X(MipmappedArrayCreate, "cuMipmappedArrayCreate", (MipmappedArrayHandle*, const ArrayDescription*, unsigned))      \
  X(MipmappedArrayGetLevel, "cuMipmappedArrayGetLevel", (ArrayHandle*, MipmappedArrayHandle, unsigned))              \
  X(MipmappedArrayDestroy, "cuMipmappedArrayDestroy", (MipmappedArrayHandle))                                        \
  X(TensorMapEncodeTiled, "cuTensorMapEncodeTiled",                                                                  \
    (void*, int, uint32_t, void*, const uint64_t*, const uint64_t*, const uint32_t*, const uint32_t*, int, int, int, \
     int))                                                                                                           \
  X(TensorMapEncodeIm2col, "cuTensorMapEncodeIm2col",                                                                \
    (void*, int, uint32_t, void*, const uint64_t*, const uint64_t*, const int*, const int*, uint32_t, uint32_t,      \
     const uint32_t*, int, int, int, int))                                                                           \
  X(LaunchHostFunc, "cuLaunchHostFunc", (StreamHandle, void (*)(void*), void*))                                      \
  X(GraphCreate, "cuGraphCreate", (GraphHandle*, unsigned))                                                          \
  X(GraphDestroy, "cuGraphDestroy", (GraphHandle))                                                                   \
  X(GraphAddKernelNode, "cuGraphAddKernelNode_v2",                                                                   \
    (GraphNodeHandle*, GraphHandle, const GraphNodeHandle*, size_t, const KernelNodeParameters*))                    \
  X(GraphAddMemcpyNode, "cuGraphAddMemcpyNode",                                                                      \
    (GraphNodeHandle*, GraphHandle, const GraphNodeHandle*, size_t, const Copy3D*, ContextHandle))                   \
  X(GraphAddMemsetNode, "cuGraphAddMemsetNode",                                                                      \
    (GraphNodeHandle*, GraphHandle, const GraphNodeHandle*, size_t, const MemsetNodeParameters*, ContextHandle))     \
  X(GraphAddChildGraphNode, "cuGraphAddChildGraphNode",                                                              \
    (GraphNodeHandle*, GraphHandle, const GraphNodeHandle*, size_t, GraphHandle))                                    \
  X(GraphGetNodes, "cuGraphGetNodes", (GraphHandle, GraphNodeHandle*, size_t*))                                      \
  X(GraphNodeGetType, "cuGraphNodeGetType", (GraphNodeHandle, GraphNodeType*))                                       \
  X(GraphMemcpyNodeGetParams, "cuGraphMemcpyNodeGetParams", (GraphNodeHandle, Copy3D*))                              \
  X(GraphInstantiate, "cuGraphInstantiateWithFlags", (GraphExecHandle*, GraphHandle, unsigned long long))            \
  X(GraphExecDestroy, "cuGraphExecDestroy", (GraphExecHandle))                                                       \
  X(GraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams_v2",                                               \
    (GraphExecHandle, GraphNodeHandle, const KernelNodeParameters*))                                                 \
  X(GraphExecMemcpyNodeSetParams, "cuGraphExecMemcpyNodeSetParams",                                                  \
    (GraphExecHandle, GraphNodeHandle, const Copy3D*, ContextHandle))                                                \
  X(GraphExecMemsetNodeSetParams, "cuGraphExecMemsetNodeSetParams",                                                  \
    (GraphExecHandle, GraphNodeHandle, const MemsetNodeParameters*, ContextHandle))                                  \
  X(GraphExecChildGraphNodeSetParams, "cuGraphExecChildGraphNodeSetParams",                                          \
    (GraphExecHandle, GraphNodeHandle, GraphHandle))                                                                 \
  X(GraphLaunch, "cuGraphLaunch", (GraphExecHandle, StreamHandle))

// The functions of one loaded driver. Immutable.
struct Driver {
#define WHARF_DECLARE(member, name, arguments) Result(*member) arguments = nullptr;
  WHARF_CUDA_DRIVER_FUNCTIONS(WHARF_DECLARE)
#undef WHARF_DECLARE

  // OK, or a status that carries `result` as its CudaError: "WHAT: the driver's name and words".
  absl::Status ToStatus(Result result, const char* what) const;
};

// Opens the driver and finds every function. kUnavailable, with the reason in words: no such library, one of its
// functions is missing (driver older than CUDA 12.4), or it is Wharf's own drop-in libcuda. Never closed again: drivers
// do not survive that.
absl::StatusOr<const Driver*> LoadDriver(const std::string& library = "libcuda.so.1");

}  // namespace wharf::device::cuda
