// CUDA's error numbers, and how an absl::Status carries one. The runtime's cudaError_t and the driver's CUresult share
// these numbers, so one enum serves the device drivers, the wire and both shims.
#pragma once

#include <cstdint>

#include "wharf/base/status.h"

namespace wharf::device {

enum class CudaError : int32_t {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kInvalidConfiguration = 9,  // runtime only: a launch's grid, block or shared memory is out of range
  kInvalidPitchValue = 12,
  kInvalidSymbol = 13,
  kInvalidMemcpyDirection = 21,
  kLaunchPendingCountExceeded = 69,  // too many launches by kernels wait
  kInvalidDeviceFunction = 98,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForDevice = 209,
  kInvalidPtx = 218,
  kUnsupportedPtx = 222,
  kInvalidSource = 300,
  kFileNotFound = 301,
  kSharedObjectSymbolNotFound = 302,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kAssert = 710,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kLaunchFailure = 719,
  kCooperativeLaunchTooLarge = 720,  // more blocks than the device holds at once
  kNotPermitted = 800,
  kNotSupported = 801,
  kRemoteLost = 999,  // CUDA's "unknown": the server or the link is gone
};

// A status that carries `error`; its message is for people. REQUIRES: error != kSuccess.
absl::Status CudaStatus(CudaError error, std::string message);

template <typename... Args>
absl::Status CudaStatus(CudaError error, fmt::format_string<Args...> format,
                        Args&&... args) requires(sizeof...(Args) > 0) {
  return CudaStatus(error, fmt::format(format, std::forward<Args>(args)...));
}

// The CUDA error of a status: what CudaStatus stored, else the nearest match to the absl code (OK -> kSuccess).
CudaError CudaErrorOf(const absl::Status& status);

// Faults of a running kernel leave the context unusable: every later call returns the same error (CUDA's "sticky"
// errors).
bool IsSticky(CudaError error);

}  // namespace wharf::device
