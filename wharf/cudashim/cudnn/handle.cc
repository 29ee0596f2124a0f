// Handles, versions; callbacks for logging, which are accepted without effect.
#include <cuda_runtime_api.h>

#include "wharf/cudashim/cudnn/dnn.h"

namespace wharf::cudashim {

DnnStatus CheckHandle(cudnnHandle_t handle) {
  if (handle == nullptr) return NullPointer("the handle");
  if (handle->magic != cudnnContext::kMagic)
    return BadParameter("what was given is no handle, or one that was destroyed");
  return {};
}

}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

namespace {

// What programs are told: later than any of cuDNN 9, for they take a library that is older than the one they were
// compiled against for a broken installation. What is not covered is refused when it is called.
constexpr int kMajor = CUDNN_MAJOR, kMinor = 99, kPatch = 0;
static_assert(kMajor == 9);

void Count(Call call) {
  client::RunLocal(call, [] { return CudaError::kSuccess; });
}
cudnnStatus_t Accept(Call call) {
  Count(call);
  return CUDNN_STATUS_SUCCESS;
}
}  // namespace

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  DnnStatus status;
  const CudaError error = client::Run(Call::k_cudnnCreate, [&] {
    status = CreateNew(handle);
    return CudaError::kSuccess;
  });
  return Return("cudnnCreate", status.ok() ? ToDnnStatus(error) : status);
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  return WHARF_DNN_LOCAL(cudnnDestroy, [&] {
    WHARF_DNN_RETURN_IF_ERROR(CheckHandle(handle));
    handle->magic = 0;
    return Destroy(handle);
  });
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  return WHARF_DNN_LOCAL(cudnnSetStream, [&] {
    WHARF_DNN_RETURN_IF_ERROR(CheckHandle(handle));
    return StoreTo(&handle->stream, stream);
  });
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  return WHARF_DNN_LOCAL(cudnnGetStream, [&] {
    WHARF_DNN_RETURN_IF_ERROR(CheckHandle(handle));
    return StoreTo(stream, handle->stream);
  });
}

size_t cudnnGetVersion(void) {
  Count(Call::k_cudnnGetVersion);
  return kMajor * 10000 + kMinor * 100 + kPatch;
}

size_t cudnnGetMaxDeviceVersion(void) {
  Count(Call::k_cudnnGetMaxDeviceVersion);
  return CUDNN_MAX_DEVICE_VERSION;
}

size_t cudnnGetCudartVersion(void) {
  Count(Call::k_cudnnGetCudartVersion);
  return CUDART_VERSION;
}

cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int* value) {
  return WHARF_DNN_LOCAL(cudnnGetProperty, [&] {
    constexpr int kVersion[] = {kMajor, kMinor, kPatch};
    if (type < MAJOR_VERSION || type > PATCH_LEVEL) return BadParameter("there is no such property");
    return StoreTo(value, kVersion[type]);
  });
}

cudnnStatus_t cudnnGraphVersionCheck(void) { return Accept(Call::k_cudnnGraphVersionCheck); }
cudnnStatus_t cudnnOpsVersionCheck(void) { return Accept(Call::k_cudnnOpsVersionCheck); }
cudnnStatus_t cudnnCnnVersionCheck(void) { return Accept(Call::k_cudnnCnnVersionCheck); }
cudnnStatus_t cudnnAdvVersionCheck(void) { return Accept(Call::k_cudnnAdvVersionCheck); }

cudnnStatus_t cudnnSetCallback(unsigned, void*, cudnnCallback_t) { return Accept(Call::k_cudnnSetCallback); }

cudnnStatus_t cudnnGetCallback(unsigned* mask, void** data, cudnnCallback_t* callback) {
  return WHARF_DNN_LOCAL(cudnnGetCallback, [&] {
    StoreIfWanted(mask, 0u);
    StoreIfWanted(data, static_cast<void*>(nullptr));
    StoreIfWanted(callback, static_cast<cudnnCallback_t>(nullptr));
    return DnnStatus{};
  });
}

// Errors of work that was queued come with the calls that wait for it, as everywhere.
cudnnStatus_t cudnnQueryRuntimeError(cudnnHandle_t handle, cudnnStatus_t* status, cudnnErrQueryMode_t,
                                     cudnnRuntimeTag_t*) {
  return WHARF_DNN_LOCAL(cudnnQueryRuntimeError, [&] {
    WHARF_DNN_RETURN_IF_ERROR(CheckHandle(handle));
    return StoreTo(status, CUDNN_STATUS_SUCCESS);
  });
}

}  // extern "C"
