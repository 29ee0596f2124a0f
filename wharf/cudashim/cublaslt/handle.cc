// Handles, versions, names of statuses; logging and the heuristics cache, which are accepted without effect.
#include <cuda_runtime_api.h>

#include "wharf/cudashim/cublaslt/descriptors.h"

struct cublasLtContext {};

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

namespace {
cublasStatus_t Accept(Call call) {
  return LtLocal(call, [] { return CudaError::kSuccess; });
}
}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  return ToStatus(client::Run(Call::k_cublasLtCreate, [&] {
    if (handle == nullptr) return CudaError::kInvalidValue;
    *handle = new cublasLtContext();
    return CudaError::kSuccess;
  }));
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return LtLocal(Call::k_cublasLtDestroy, [&] {
    delete handle;
    return CudaError::kSuccess;
  });
}

size_t cublasLtGetVersion(void) {
  Accept(Call::k_cublasLtGetVersion);
  return kBlasVersionNumber;
}

size_t cublasLtGetCudartVersion(void) {
  Accept(Call::k_cublasLtGetCudartVersion);
  return kRuntimeVersion;
}

cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int* value) {
  return LtLocal(Call::k_cublasLtGetProperty, [&] {
    if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL) return CudaError::kInvalidValue;
    *value = kBlasVersion[type];
    return CudaError::kSuccess;
  });
}

const char* cublasLtGetStatusName(cublasStatus_t status) {
  Accept(Call::k_cublasLtGetStatusName);
  return StatusName(status);
}

const char* cublasLtGetStatusString(cublasStatus_t status) {
  Accept(Call::k_cublasLtGetStatusString);
  return StatusSentence(status);
}

cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t* capacity) {
  return LtLocal(Call::k_cublasLtHeuristicsCacheGetCapacity, [&] {
    if (capacity == nullptr) return CudaError::kInvalidValue;
    *capacity = 0;
    return CudaError::kSuccess;
  });
}

cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t) { return Accept(Call::k_cublasLtHeuristicsCacheSetCapacity); }
cublasStatus_t cublasLtLoggerSetCallback(cublasLtLoggerCallback_t) { return Accept(Call::k_cublasLtLoggerSetCallback); }
cublasStatus_t cublasLtLoggerSetFile(FILE*) { return Accept(Call::k_cublasLtLoggerSetFile); }
cublasStatus_t cublasLtLoggerOpenFile(const char*) { return Accept(Call::k_cublasLtLoggerOpenFile); }
cublasStatus_t cublasLtLoggerSetLevel(int) { return Accept(Call::k_cublasLtLoggerSetLevel); }
cublasStatus_t cublasLtLoggerSetMask(int) { return Accept(Call::k_cublasLtLoggerSetMask); }
cublasStatus_t cublasLtLoggerForceDisable(void) { return Accept(Call::k_cublasLtLoggerForceDisable); }

}  // extern "C"
