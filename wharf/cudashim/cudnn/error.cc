// Statuses and their texts. The last error's reason is kept for each thread.
#include <algorithm>
#include <cstring>

#include "wharf/cudashim/cudnn/dnn.h"

namespace wharf::cudashim {
namespace {

// Fixed memory: threads of the program end in whatever order.
constexpr size_t kReasonBytes = 512;
thread_local char last_reason[kReasonBytes];

void Remember(const std::string& reason) {
  const size_t size = std::min(reason.size(), kReasonBytes - 1);
  std::memcpy(last_reason, reason.data(), size);
  last_reason[size] = '\0';
}

const char* NameOf(cudnnStatus_t status) {
  switch (static_cast<int>(status)) {
#define WHARF_NAME(name) \
  case name:             \
    return #name
    WHARF_NAME(CUDNN_STATUS_SUCCESS);
    WHARF_NAME(CUDNN_STATUS_NOT_INITIALIZED);
    WHARF_NAME(CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH);
    WHARF_NAME(CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH);
    WHARF_NAME(CUDNN_STATUS_DEPRECATED);
    WHARF_NAME(CUDNN_STATUS_LICENSE_ERROR);
    WHARF_NAME(CUDNN_STATUS_RUNTIME_IN_PROGRESS);
    WHARF_NAME(CUDNN_STATUS_RUNTIME_FP_OVERFLOW);
    WHARF_NAME(CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED);
    WHARF_NAME(CUDNN_STATUS_BAD_PARAM);
    WHARF_NAME(CUDNN_STATUS_INVALID_VALUE);
    WHARF_NAME(CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    WHARF_NAME(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
    WHARF_NAME(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
    WHARF_NAME(CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND);
    WHARF_NAME(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
    WHARF_NAME(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH);
    WHARF_NAME(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
    WHARF_NAME(CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES);
    WHARF_NAME(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
    WHARF_NAME(CUDNN_STATUS_BAD_PARAM_CUDA_GRAPH_MISMATCH);
    WHARF_NAME(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE);
    WHARF_NAME(CUDNN_STATUS_NOT_SUPPORTED);
    WHARF_NAME(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN);
    WHARF_NAME(CUDNN_STATUS_NOT_SUPPORTED_SHAPE);
    WHARF_NAME(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE);
    WHARF_NAME(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT);
    WHARF_NAME(CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH);
    WHARF_NAME(CUDNN_STATUS_INTERNAL_ERROR);
    WHARF_NAME(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
    WHARF_NAME(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED);
    WHARF_NAME(CUDNN_STATUS_EXECUTION_FAILED);
    WHARF_NAME(CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER);
#undef WHARF_NAME
    default:
      return "CUDNN_STATUS_UNKNOWN";
  }
}

}  // namespace

cudnnStatus_t Return(const char* function, const DnnStatus& status) {
  if (!status.ok()) Remember(std::string(function) + ": " + (status.why.empty() ? NameOf(status.code) : status.why));
  return status.code;
}

// Called by the stubs of what is not covered.
void RememberUnsupported(const char* function) { Remember(std::string(function) + " is not covered by Wharf"); }

DnnStatus ToDnnStatus(CudaError error, std::string why) {
  switch (error) {
    case CudaError::kSuccess:
      return {};
    case CudaError::kInvalidValue:
    case CudaError::kInvalidHandle:
      return BadParameter(std::move(why));
    case CudaError::kNotSupported:
      return Refused(std::move(why));
    case CudaError::kOutOfMemory:
      return {CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, std::move(why)};
    case CudaError::kNoDevice:
    case CudaError::kNotInitialized:
      return {CUDNN_STATUS_NOT_INITIALIZED, std::move(why)};
    default:
      return {CUDNN_STATUS_EXECUTION_FAILED, std::move(why)};
  }
}

}  // namespace wharf::cudashim

using namespace wharf::cudashim;  // NOLINT: the vendor's names live in the global namespace

extern "C" {

const char* cudnnGetErrorString(cudnnStatus_t status) {
  wharf::client::RunLocal(Call::k_cudnnGetErrorString, [] { return CudaError::kSuccess; });
  return NameOf(status);
}

void cudnnGetLastErrorString(char* message, size_t size) {
  wharf::client::RunLocal(Call::k_cudnnGetLastErrorString, [] { return CudaError::kSuccess; });
  if (message == nullptr || size == 0) return;
  const size_t length = std::min(std::strlen(last_reason), size - 1);
  std::memcpy(message, last_reason, length);
  message[length] = '\0';
  last_reason[0] = '\0';
}

}  // extern "C"
