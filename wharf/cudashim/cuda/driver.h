// What every body in libcuda.so.1 starts from. The driver API has no last error; contexts are one: the session.
#pragma once

#include <cuda.h>

#include <utility>

#include "wharf/cudashim/client/call.h"
#include "wharf/cudashim/client/memory.h"
#include "wharf/cudashim/client/stream.h"

namespace wharf::cudashim {

using client::Call;
using device::CudaError;

// The runtime has errors the driver does not.
inline CUresult ToResult(CudaError error) {
  if (error == client::kInvalidFilterSetting) return CUDA_ERROR_INVALID_VALUE;
  switch (error) {
    case CudaError::kInvalidConfiguration:
    case CudaError::kInvalidPitchValue:
    case CudaError::kInvalidSymbol:
    case CudaError::kInvalidMemcpyDirection:
      return CUDA_ERROR_INVALID_VALUE;
    case CudaError::kInvalidDeviceFunction:
      return CUDA_ERROR_INVALID_HANDLE;
    default:
      return static_cast<CUresult>(error);
  }
}

// A call that needs the device.
template <typename Body>
CUresult Driver(Call call, Body&& body) {
  return ToResult(client::Run(call, std::forward<Body>(body)));
}
// A call that does not.
template <typename Body>
CUresult DriverLocal(Call call, Body&& body) {
  return ToResult(client::RunLocal(call, std::forward<Body>(body)));
}

inline client::StreamHandle Stream(CUstream stream) { return reinterpret_cast<client::StreamHandle>(stream); }
inline client::EventHandle Event(CUevent event) { return reinterpret_cast<client::EventHandle>(event); }
inline uint64_t Address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

template <typename T, typename Value>
CudaError Store(T* place, Value value) {
  if (place == nullptr) return CudaError::kInvalidValue;
  *place = static_cast<T>(value);
  return CudaError::kSuccess;
}

inline CudaError CheckDevice(CUdevice device) { return device == 0 ? CudaError::kSuccess : CudaError::kInvalidDevice; }

}  // namespace wharf::cudashim
