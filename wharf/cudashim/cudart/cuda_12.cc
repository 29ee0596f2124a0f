// What libcudart.so.12 has otherwise than libcudart.so.13 (api_12.def): functions with other parameters, structs of
// other fields, and names that CUDA 13 has no more. Most do what a function of CUDA 13 does, and call it.
#include "wharf/cudashim/cudart/cuda_12.h"

#include <cstring>

#include "wharf/cudashim/client/device_info.h"
#include "wharf/cudashim/cudart/device_properties.h"
#include "wharf/cudashim/cudart/runtime.h"
#include "wharf/cudashim/cudart/structs_12.h"

namespace wharf::cudashim {
namespace {

using cuda12::DeviceProp;

cudaMemLocation LocationOf(int device) {
  cudaMemLocation location{};
  location.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  location.id = device == cudaCpuDeviceId ? 0 : device;
  return location;
}

void FillProperties(DeviceProp* to) {
  const device::DeviceProperties& from = client::Properties();
  FillCommonProperties(from, to);
  to->clockRate = from.clock_khz;
  to->memoryClockRate = from.memory_clock_khz;
  to->deviceOverlap = 1;
  const auto get = [](cudaDeviceAttr attribute) {
    int value = 0;
    (void)client::DeviceAttribute(attribute, &value);
    return value;
  };
  to->maxTexture1DLinear = get(cudaDevAttrMaxTexture1DLinearWidth);
  to->singleToDoublePrecisionPerfRatio = get(cudaDevAttrSingleToDoublePrecisionPerfRatio);
  to->kernelExecTimeoutEnabled = get(cudaDevAttrKernelExecTimeout);
  to->computeMode = get(cudaDevAttrComputeMode);
}

// The first `bytes` of what `device` has, as of CUDA 12 or of 11, whose struct is the beginning of 12's.
cudaError_t GetProperties(void* properties, size_t bytes, int device) {
  return Runtime(Call::k_cudaGetDeviceProperties, [&] {
    if (properties == nullptr) return CudaError::kInvalidValue;
    if (device != 0) return CudaError::kInvalidDevice;
    DeviceProp whole;
    FillProperties(&whole);
    std::memcpy(properties, &whole, bytes);
    return CudaError::kSuccess;
  });
}

// A struct as CUDA 13 has it, of one that ends after `bytes`. Null if that is.
template <typename T>
const T* Whole(const T* given, size_t bytes, T* whole) {
  if (given == nullptr) return nullptr;
  std::memcpy(whole, given, bytes);
  return whole;
}

// The other way: what `get` stores in a whole one, in one that ends after `bytes`.
template <typename T, typename Get>
cudaError_t StoreBeginning(T* given, size_t bytes, const Get& get) {
  T whole{};
  const cudaError_t error = get(given == nullptr ? nullptr : &whole);
  if (error == cudaSuccess && given != nullptr) std::memcpy(static_cast<void*>(given), &whole, bytes);
  return error;
}

static_assert(offsetof(cudaPointerAttributes, hostPointer) + sizeof(void*) == cuda12::kPointerAttributesBytes);
static_assert(offsetof(cudaResourceDesc, res) + sizeof(cudaResourceDesc::res.pitch2D) == cuda12::kResourceDescBytes);
static_assert(offsetof(cudaResourceViewDesc, lastLayer) + sizeof(unsigned) == cuda12::kResourceViewDescBytes);

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

WHARF_CLIENT_API cudaError_t cudaGetDeviceProperties_v2(cuda12::DeviceProp* properties, int device) {
  return GetProperties(properties, sizeof(*properties), device);
}

WHARF_CLIENT_API cudaError_t cudaGetDeviceProperties(void* properties_of_11, int device) {
  return GetProperties(properties_of_11, cuda12::kDevicePropBytesOf11, device);
}

WHARF_CLIENT_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return StoreBeginning(attributes, cuda12::kPointerAttributesBytes,
                        [&](cudaPointerAttributes* whole) { return cudaPointerGetAttributes_of_13(whole, pointer); });
}

WHARF_CLIENT_API cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                                     const cudaTextureDesc* sampling,
                                                     const cudaResourceViewDesc* view) {
  cudaResourceDesc whole_resource{};
  cudaResourceViewDesc whole_view{};
  return cudaCreateTextureObject_of_13(texture, Whole(resource, cuda12::kResourceDescBytes, &whole_resource), sampling,
                                       Whole(view, cuda12::kResourceViewDescBytes, &whole_view));
}

WHARF_CLIENT_API cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource, cudaTextureObject_t texture) {
  return StoreBeginning(resource, cuda12::kResourceDescBytes, [&](cudaResourceDesc* whole) {
    return cudaGetTextureObjectResourceDesc_of_13(whole, texture);
  });
}

WHARF_CLIENT_API cudaError_t cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc* view,
                                                                  cudaTextureObject_t texture) {
  return StoreBeginning(view, cuda12::kResourceViewDescBytes, [&](cudaResourceViewDesc* whole) {
    return cudaGetTextureObjectResourceViewDesc_of_13(whole, texture);
  });
}

WHARF_CLIENT_API cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* surface, const cudaResourceDesc* resource) {
  cudaResourceDesc whole{};
  return cudaCreateSurfaceObject_of_13(surface, Whole(resource, cuda12::kResourceDescBytes, &whole));
}

WHARF_CLIENT_API cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* resource, cudaSurfaceObject_t surface) {
  return StoreBeginning(resource, cuda12::kResourceDescBytes, [&](cudaResourceDesc* whole) {
    return cudaGetSurfaceObjectResourceDesc_of_13(whole, surface);
  });
}

WHARF_CLIENT_API cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t size, int device, cudaStream_t stream) {
  return cudaMemPrefetchAsync_v2(pointer, size, LocationOf(device), 0, stream);
}

WHARF_CLIENT_API cudaError_t cudaMemAdvise(const void* pointer, size_t size, cudaMemoryAdvise advice, int device) {
  return cudaMemAdvise_v2(pointer, size, advice, LocationOf(device));
}

WHARF_CLIENT_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                                      unsigned long long* id) {
  return cudaStreamGetCaptureInfo_v3(stream, status, id, nullptr, nullptr, nullptr, nullptr);
}

WHARF_CLIENT_API cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                                         unsigned long long* id, cudaGraph_t* graph,
                                                         const cudaGraphNode_t** dependencies, size_t* count) {
  return cudaStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, nullptr, count);
}

WHARF_CLIENT_API cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                                 size_t count, unsigned flags) {
  return cudaStreamUpdateCaptureDependencies_v2(stream, dependencies, nullptr, count, flags);
}

WHARF_CLIENT_API cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                               size_t* count) {
  return cudaGraphGetEdges_v2(graph, from, to, nullptr, count);
}

WHARF_CLIENT_API cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, size_t* count) {
  return cudaGraphNodeGetDependencies_v2(node, nodes, nullptr, count);
}

WHARF_CLIENT_API cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                                            size_t* count) {
  return cudaGraphNodeGetDependentNodes_v2(node, nodes, nullptr, count);
}

WHARF_CLIENT_API cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                      const cudaGraphNode_t* to, size_t count) {
  return cudaGraphAddDependencies_v2(graph, from, to, nullptr, count);
}

WHARF_CLIENT_API cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                         const cudaGraphNode_t* to, size_t count) {
  return cudaGraphRemoveDependencies_v2(graph, from, to, nullptr, count);
}

WHARF_CLIENT_API cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                              const cudaGraphNode_t* dependencies, size_t count,
                                              cudaGraphNodeParams* given) {
  return cudaGraphAddNode_v2(node, graph, dependencies, nullptr, count, given);
}

WHARF_CLIENT_API cudaError_t cudaEventElapsedTime_v2(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return cudaEventElapsedTime(milliseconds, start, end);
}

WHARF_CLIENT_API cudaError_t cudaThreadExit(void) { return cudaDeviceReset(); }
WHARF_CLIENT_API cudaError_t cudaThreadSynchronize(void) { return cudaDeviceSynchronize(); }
WHARF_CLIENT_API cudaError_t cudaThreadGetLimit(size_t* value, cudaLimit limit) {
  return cudaDeviceGetLimit(value, limit);
}
WHARF_CLIENT_API cudaError_t cudaThreadSetLimit(cudaLimit limit, size_t value) {
  return cudaDeviceSetLimit(limit, value);
}
WHARF_CLIENT_API cudaError_t cudaThreadGetCacheConfig(cudaFuncCache* config) {
  return cudaDeviceGetCacheConfig(config);
}
WHARF_CLIENT_API cudaError_t cudaThreadSetCacheConfig(cudaFuncCache config) { return cudaDeviceSetCacheConfig(config); }

}  // extern "C"
