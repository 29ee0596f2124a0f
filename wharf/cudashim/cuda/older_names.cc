// Functions under the names that they had before, whose parameters are the same, fewer, or a device instead of a
// location: each does what the newest of its name does. Programs of CUDA 12 call some; others look them up by name.
#define __CUDA_API_VERSION_INTERNAL  // every function under the name that it is exported by, with its own parameters
#include "wharf/cudashim/cuda/driver.h"

namespace wharf::cudashim {
namespace {

// Where the older functions of managed memory mean: a device by its number, or the host.
CUmemLocation LocationOf(CUdevice device) {
  CUmemLocation location{};
  location.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device == CU_DEVICE_CPU ? 0 : device;
  return location;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf::cudashim;  // NOLINT

extern "C" {

WHARF_CLIENT_API CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

WHARF_CLIENT_API CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }

WHARF_CLIENT_API CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return cuDevicePrimaryCtxRelease_v2(device); }

WHARF_CLIENT_API CUresult cuDevicePrimaryCtxReset(CUdevice device) { return cuDevicePrimaryCtxReset_v2(device); }

WHARF_CLIENT_API CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

WHARF_CLIENT_API CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  return cuCtxCreate_v4(context, nullptr, flags, device);
}

// Affinity to some of the multiprocessors is a hint of MPS.
WHARF_CLIENT_API CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam*, int, unsigned flags,
                                         CUdevice device) {
  return cuCtxCreate_v4(context, nullptr, flags, device);
}

WHARF_CLIENT_API CUresult cuCtxDestroy(CUcontext context) { return cuCtxDestroy_v2(context); }

WHARF_CLIENT_API CUresult cuCtxPushCurrent(CUcontext context) { return cuCtxPushCurrent_v2(context); }

WHARF_CLIENT_API CUresult cuCtxPopCurrent(CUcontext* context) { return cuCtxPopCurrent_v2(context); }

WHARF_CLIENT_API CUresult cuMemHostRegister(void* pointer, size_t size, unsigned flags) {
  return cuMemHostRegister_v2(pointer, size, flags);
}

WHARF_CLIENT_API CUresult cuLinkCreate(unsigned count, CUjit_option* options, void** values, CUlinkState* state) {
  return cuLinkCreate_v2(count, options, values, state);
}

WHARF_CLIENT_API CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, size_t size,
                                        const char* name, unsigned count, CUjit_option* options, void** values) {
  return cuLinkAddData_v2(state, type, data, size, name, count, options, values);
}

WHARF_CLIENT_API CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* path, unsigned count,
                                        CUjit_option* options, void** values) {
  return cuLinkAddFile_v2(state, type, path, count, options, values);
}

WHARF_CLIENT_API CUresult cuStreamDestroy(CUstream stream) { return cuStreamDestroy_v2(stream); }

WHARF_CLIENT_API CUresult cuEventDestroy(CUevent event) { return cuEventDestroy_v2(event); }

WHARF_CLIENT_API CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}

WHARF_CLIENT_API CUresult cuMemPrefetchAsync(CUdeviceptr pointer, size_t size, CUdevice device, CUstream stream) {
  return cuMemPrefetchAsync_v2(pointer, size, LocationOf(device), 0, stream);
}

WHARF_CLIENT_API CUresult cuMemAdvise(CUdeviceptr pointer, size_t size, CUmem_advise advice, CUdevice device) {
  return cuMemAdvise_v2(pointer, size, advice, LocationOf(device));
}

WHARF_CLIENT_API CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, nullptr, nullptr, nullptr, nullptr);
}

WHARF_CLIENT_API CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                                    CUgraph* graph, const CUgraphNode** dependencies, size_t* count) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, nullptr, count);
}

WHARF_CLIENT_API CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* dependencies, size_t count,
                                                            unsigned flags) {
  return cuStreamUpdateCaptureDependencies_v2(stream, dependencies, nullptr, count, flags);
}

WHARF_CLIENT_API CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  return cuGraphGetEdges_v2(graph, from, to, nullptr, count);
}

WHARF_CLIENT_API CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes, size_t* count) {
  return cuGraphNodeGetDependencies_v2(node, nodes, nullptr, count);
}

WHARF_CLIENT_API CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* nodes, size_t* count) {
  return cuGraphNodeGetDependentNodes_v2(node, nodes, nullptr, count);
}

WHARF_CLIENT_API CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                                 size_t count) {
  return cuGraphAddDependencies_v2(graph, from, to, nullptr, count);
}

WHARF_CLIENT_API CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                                    size_t count) {
  return cuGraphRemoveDependencies_v2(graph, from, to, nullptr, count);
}

WHARF_CLIENT_API CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                         size_t count, CUgraphNodeParams* given) {
  return cuGraphAddNode_v2(node, graph, dependencies, nullptr, count, given);
}

}  // extern "C"
