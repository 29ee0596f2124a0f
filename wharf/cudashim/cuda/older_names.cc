// Functions under the names that they had before. Their parameters are the same or fewer, so each does what the newest
// of its name does. No header of CUDA 13 leads here; programs that look functions up by name do.
#include "wharf/cudashim/cuda/driver.h"

#undef cuCtxDestroy
#undef cuCtxPopCurrent
#undef cuCtxPushCurrent
#undef cuDeviceGetUuid
#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset
#undef cuDevicePrimaryCtxSetFlags
#undef cuEventDestroy
#undef cuEventElapsedTime
#undef cuGetProcAddress
#undef cuMemHostRegister
#undef cuStreamDestroy

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

WHARF_CLIENT_API CUresult cuStreamDestroy(CUstream stream) { return cuStreamDestroy_v2(stream); }

WHARF_CLIENT_API CUresult cuEventDestroy(CUevent event) { return cuEventDestroy_v2(event); }

WHARF_CLIENT_API CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}

}  // extern "C"
