// Functions of the driver API that have several versions, under each of the names that programs may look up.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

static int failures = 0;
static void Expect(bool right, const char* what, int line) {
  if (right) return;
  std::printf("driver_versions: FAILED: line %d: %s\n", line, what);
  ++failures;
}
#define EXPECT(condition) Expect(condition, #condition, __LINE__)

// As Python's ctypes does.
template <typename Function>
static Function* Named(const char* name) {
  void* const found = dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) {
    std::printf("driver_versions: FAILED: there is no %s\n", name);
    std::exit(1);
  }
  return reinterpret_cast<Function*>(found);
}

template <typename Function>
static Function* OfVersion(const char* name, int version) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult status;
  EXPECT(cuGetProcAddress(name, &found, version, CU_GET_PROC_ADDRESS_DEFAULT, &status) == CUDA_SUCCESS);
  EXPECT(status == CU_GET_PROC_ADDRESS_SUCCESS);
  if (found == nullptr) std::exit(1);
  return reinterpret_cast<Function*>(found);
}

using Destroy = CUresult(CUcontext);

static void ContextsByName(CUdevice device) {
  CUcontext context = nullptr, top = nullptr;
  EXPECT(Named<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2")(&context, 0, device) == CUDA_SUCCESS);
  EXPECT(context != nullptr);
  // Under these names a context belongs to one thread at a time: it must be popped before it is pushed.
  EXPECT(Named<CUresult(CUcontext*)>("cuCtxPopCurrent")(&top) == CUDA_SUCCESS);
  EXPECT(top == context);
  EXPECT(Named<CUresult(CUcontext)>("cuCtxPushCurrent")(context) == CUDA_SUCCESS);
  EXPECT(Named<CUresult(CUcontext*)>("cuCtxPopCurrent")(&top) == CUDA_SUCCESS);
  EXPECT(top == context);
  EXPECT(Named<Destroy>("cuCtxDestroy")(context) == CUDA_SUCCESS);
  EXPECT(Named<CUresult(CUcontext*, CUexecAffinityParam*, int, unsigned, CUdevice)>("cuCtxCreate_v3")(
             &context, nullptr, 0, 0, device) == CUDA_SUCCESS);
  EXPECT(Named<Destroy>("cuCtxDestroy")(context) == CUDA_SUCCESS);
  EXPECT(Named<CUresult(CUdevice, unsigned)>("cuDevicePrimaryCtxSetFlags")(device, CU_CTX_SCHED_AUTO) == CUDA_SUCCESS);
  EXPECT(cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS);
  EXPECT(Named<CUresult(CUdevice)>("cuDevicePrimaryCtxRelease")(device) == CUDA_SUCCESS);
}

// CUDA 13's forms, which name a context; none means the current one.
static void ContextsOfCuda13(CUdevice device) {
  auto* const get_device = OfVersion<CUresult(CUdevice*, CUcontext)>("cuCtxGetDevice", 13000);
  auto* const synchronize = OfVersion<CUresult(CUcontext)>("cuCtxSynchronize", 13000);
  CUcontext context = nullptr;
  EXPECT(cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS);
  EXPECT(cuCtxSetCurrent(context) == CUDA_SUCCESS);
  for (const CUcontext named : {context, CUcontext{nullptr}}) {
    CUdevice found = -1;
    EXPECT(get_device(&found, named) == CUDA_SUCCESS);
    EXPECT(found == device);
    EXPECT(synchronize(named) == CUDA_SUCCESS);
  }
  EXPECT(get_device(nullptr, context) == CUDA_ERROR_INVALID_VALUE);
  CUdevice found = -1;
  EXPECT(OfVersion<CUresult(CUdevice*)>("cuCtxGetDevice", 12000)(&found) == CUDA_SUCCESS);
  EXPECT(found == device);
  EXPECT(OfVersion<CUresult()>("cuCtxSynchronize", 12000)() == CUDA_SUCCESS);
}

static void StreamsAndEventsByName() {
  CUstream stream = nullptr;
  CUevent first = nullptr, second = nullptr;
  EXPECT(cuStreamCreate(&stream, CU_STREAM_DEFAULT) == CUDA_SUCCESS);
  CUcontext current = nullptr, context = nullptr;
  CUgreenCtx green = reinterpret_cast<CUgreenCtx>(&stream);
  EXPECT(cuCtxGetCurrent(&current) == CUDA_SUCCESS);
  EXPECT(Named<CUresult(CUstream, CUcontext*, CUgreenCtx*)>("cuStreamGetCtx_v2")(stream, &context, &green) ==
         CUDA_SUCCESS);
  EXPECT(context == current && green == nullptr);
  EXPECT(cuEventCreate(&first, CU_EVENT_DEFAULT) == CUDA_SUCCESS);
  EXPECT(cuEventCreate(&second, CU_EVENT_DEFAULT) == CUDA_SUCCESS);
  EXPECT(cuEventRecord(first, stream) == CUDA_SUCCESS);
  EXPECT(cuEventRecord(second, stream) == CUDA_SUCCESS);
  EXPECT(cuStreamSynchronize(stream) == CUDA_SUCCESS);
  float milliseconds = -1;
  EXPECT(Named<CUresult(float*, CUevent, CUevent)>("cuEventElapsedTime")(&milliseconds, first, second) == CUDA_SUCCESS);
  EXPECT(milliseconds >= 0);
  for (const CUevent event : {first, second}) EXPECT(Named<CUresult(CUevent)>("cuEventDestroy")(event) == CUDA_SUCCESS);
  EXPECT(Named<CUresult(CUstream)>("cuStreamDestroy")(stream) == CUDA_SUCCESS);
}

static void OthersByName(CUdevice device) {
  CUuuid older{}, newer{};
  EXPECT(Named<CUresult(CUuuid*, CUdevice)>("cuDeviceGetUuid")(&older, device) == CUDA_SUCCESS);
  EXPECT(cuDeviceGetUuid(&newer, device) == CUDA_SUCCESS);
  for (int i = 0; i < 16; ++i) EXPECT(older.bytes[i] == newer.bytes[i]);
  static int page[1024];
  EXPECT(Named<CUresult(void*, size_t, unsigned)>("cuMemHostRegister")(page, sizeof(page), 0) == CUDA_SUCCESS);
  EXPECT(cuMemHostUnregister(page) == CUDA_SUCCESS);
  auto* const look_up = Named<CUresult(const char*, void**, int, cuuint64_t)>("cuGetProcAddress");
  void* found = nullptr;
  EXPECT(look_up("cuInit", &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT) == CUDA_SUCCESS);
  EXPECT(found != nullptr);
  EXPECT(look_up("cuNoSuchFunction", &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT) == CUDA_ERROR_NOT_FOUND);
}

int main() {
  CUdevice device;
  if (cuInit(0) == CUDA_ERROR_NO_DEVICE) return 77;
  EXPECT(cuDeviceGet(&device, 0) == CUDA_SUCCESS);
  ContextsByName(device);
  ContextsOfCuda13(device);
  StreamsAndEventsByName();
  OthersByName(device);
  EXPECT(Named<CUresult(CUdevice)>("cuDevicePrimaryCtxReset")(device) == CUDA_SUCCESS);
  std::printf("driver_versions: %s\n", failures == 0 ? "ok" : "FAILED");
  return failures == 0 ? 0 : 1;
}
