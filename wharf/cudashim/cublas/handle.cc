// Handles and what they carry; versions; names of statuses; logging, which is accepted without effect.
#include <cuda_runtime_api.h>

#include <cstdio>

#include "wharf/cudashim/client/memory.h"
#include "wharf/cudashim/cublas/blas.h"

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  return ToStatus(client::Run(Call::k_cublasCreate_v2, [&] {
    return handle == nullptr ? CudaError::kInvalidValue : Store(handle, new cublasContext());
  }));
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  return BlasLocal(Call::k_cublasDestroy_v2, handle, [&] {
    if (client::IsConnected()) {
      for (const auto& [stream, workspace] : handle->workspaces) handle->outgrown.push_back(workspace.address);
      handle->outgrown.push_back(handle->constants);
      for (const uint64_t address : handle->outgrown) (void)client::FreeOwn(address);  // 0 is nothing
    }
    handle->magic = 0;
    delete handle;
    return CudaError::kSuccess;
  });
}

cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
  return ToStatus(client::RunLocal(Call::k_cublasGetVersion_v2, [&] { return Store(version, kBlasVersionNumber); }));
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  return ToStatus(client::RunLocal(Call::k_cublasGetProperty, [&] {
    return type < MAJOR_VERSION || type > PATCH_LEVEL ? CudaError::kInvalidValue : Store(value, kBlasVersion[type]);
  }));
}

size_t cublasGetCudartVersion(void) {
  client::RunLocal(Call::k_cublasGetCudartVersion, [] { return CudaError::kSuccess; });
  return kRuntimeVersion;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  return BlasLocal(Call::k_cublasSetStream_v2, handle, [&] { return Store(&handle->stream, stream); });
}

cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream) {
  return BlasLocal(Call::k_cublasGetStream_v2, handle, [&] { return Store(stream, handle->stream); });
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
  return BlasLocal(Call::k_cublasSetPointerMode_v2, handle, [&] {
    if (mode != CUBLAS_POINTER_MODE_HOST && mode != CUBLAS_POINTER_MODE_DEVICE) return CudaError::kInvalidValue;
    return Store(&handle->pointer_mode, mode);
  });
}

cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return BlasLocal(Call::k_cublasGetPointerMode_v2, handle, [&] { return Store(mode, handle->pointer_mode); });
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return BlasLocal(Call::k_cublasSetMathMode, handle, [&] { return Store(&handle->math_mode, mode); });
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  return BlasLocal(Call::k_cublasGetMathMode, handle, [&] { return Store(mode, handle->math_mode); });
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  return BlasLocal(Call::k_cublasSetAtomicsMode, handle, [&] { return Store(&handle->atomics_mode, mode); });
}

cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode) {
  return BlasLocal(Call::k_cublasGetAtomicsMode, handle, [&] { return Store(mode, handle->atomics_mode); });
}

cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int count) {
  return BlasLocal(Call::k_cublasSetSmCountTarget, handle, [&] { return Store(&handle->sm_count_target, count); });
}

cublasStatus_t cublasGetSmCountTarget(cublasHandle_t handle, int* count) {
  return BlasLocal(Call::k_cublasGetSmCountTarget, handle, [&] { return Store(count, handle->sm_count_target); });
}

// The server's library finds its own workspace.
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void*, size_t) {
  return BlasLocal(Call::k_cublasSetWorkspace_v2, handle, [] { return CudaError::kSuccess; });
}

const char* cublasGetStatusName(cublasStatus_t status) {
  client::RunLocal(Call::k_cublasGetStatusName, [] { return CudaError::kSuccess; });
  return StatusName(status);
}

const char* cublasGetStatusString(cublasStatus_t status) {
  client::RunLocal(Call::k_cublasGetStatusString, [] { return CudaError::kSuccess; });
  return StatusSentence(status);
}

// What BLAS says of a wrong argument; programs may call it, cuBLAS answers by statuses.
void cublasXerbla(const char* function, int argument) {
  client::RunLocal(Call::k_cublasXerbla, [] { return CudaError::kSuccess; });
  std::fprintf(stderr, " ** On entry to %s parameter number %d had an illegal value\n", function, argument);
}

cublasStatus_t cublasLoggerConfigure(int, int, int, const char*) {
  return ToStatus(client::RunLocal(Call::k_cublasLoggerConfigure, [] { return CudaError::kSuccess; }));
}

cublasStatus_t cublasSetLoggerCallback(cublasLogCallback) {
  return ToStatus(client::RunLocal(Call::k_cublasSetLoggerCallback, [] { return CudaError::kSuccess; }));
}

cublasStatus_t cublasGetLoggerCallback(cublasLogCallback* callback) {
  return ToStatus(
      client::RunLocal(Call::k_cublasGetLoggerCallback, [&] { return Store(callback, cublasLogCallback{}); }));
}

}  // extern "C"
