#include "wharf/device/cuda_error.h"

#include <charconv>

#include "absl/strings/cord.h"

namespace wharf::device {
namespace {
constexpr char kPayload[] = "wharf/cuda-error";
}

absl::Status CudaStatus(CudaError error, std::string message) {
  absl::StatusCode code = absl::StatusCode::kInternal;
  switch (error) {
    case CudaError::kInvalidValue:
    case CudaError::kInvalidConfiguration:
    case CudaError::kInvalidHandle:
    case CudaError::kInvalidPtx:
    case CudaError::kInvalidImage:
      code = absl::StatusCode::kInvalidArgument;
      break;
    case CudaError::kOutOfMemory:
    case CudaError::kLaunchOutOfResources:
    case CudaError::kCooperativeLaunchTooLarge:
      code = absl::StatusCode::kResourceExhausted;
      break;
    case CudaError::kNotSupported:
    case CudaError::kUnsupportedPtx:
    case CudaError::kNoBinaryForDevice:
      code = absl::StatusCode::kUnimplemented;
      break;
    case CudaError::kNotFound:
      code = absl::StatusCode::kNotFound;
      break;
    case CudaError::kRemoteLost:
      code = absl::StatusCode::kUnavailable;
      break;
    default:
      break;
  }
  absl::Status status(code, message);
  status.SetPayload(kPayload, absl::Cord(std::to_string(static_cast<int>(error))));
  return status;
}

CudaError CudaErrorOf(const absl::Status& status) {
  if (status.ok()) return CudaError::kSuccess;
  if (const auto payload = status.GetPayload(kPayload)) {
    const std::string text(*payload);
    int value = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc()) {
      return static_cast<CudaError>(value);
    }
  }
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return CudaError::kInvalidValue;
    case absl::StatusCode::kResourceExhausted:
      return CudaError::kOutOfMemory;
    case absl::StatusCode::kNotFound:
      return CudaError::kNotFound;
    case absl::StatusCode::kUnimplemented:
      return CudaError::kNotSupported;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return CudaError::kNotPermitted;
    default:
      return CudaError::kRemoteLost;
  }
}

bool IsSticky(CudaError error) {
  switch (error) {
    case CudaError::kIllegalAddress:
    case CudaError::kLaunchTimeout:
    case CudaError::kAssert:
    case CudaError::kHardwareStackError:
    case CudaError::kIllegalInstruction:
    case CudaError::kMisalignedAddress:
    case CudaError::kLaunchFailure:
    case CudaError::kRemoteLost:
      return true;
    default:
      return false;
  }
}

}  // namespace wharf::device
