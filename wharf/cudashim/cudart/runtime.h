// What every body in libcudart.so.13 starts from: translation of errors and handles, in one place. The sources are
// compiled once more, for libcudart.so.12 (WHARF_CUDA_12).
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "wharf/cudashim/client/call.h"
#include "wharf/cudashim/client/memory.h"
#include "wharf/cudashim/client/stream.h"

namespace wharf::cudashim {

using client::Call;
using device::CudaError;

#ifdef WHARF_CUDA_12
inline constexpr int kRuntimeVersion = WHARF_CUDA_12;
#else
inline constexpr int kRuntimeVersion = CUDART_VERSION;
#endif

// A call that needs the device. Its error is also the thread's last error.
template <typename Body>
cudaError_t Runtime(Call call, Body&& body) {
  const CudaError error = client::Run(call, std::forward<Body>(body));
  client::SetLastError(error);
  return static_cast<cudaError_t>(error);
}
// A call that does not.
template <typename Body>
cudaError_t RuntimeLocal(Call call, Body&& body) {
  const CudaError error = client::RunLocal(call, std::forward<Body>(body));
  client::SetLastError(error);
  return static_cast<cudaError_t>(error);
}

inline client::StreamHandle Stream(cudaStream_t stream) { return reinterpret_cast<client::StreamHandle>(stream); }
inline client::EventHandle Event(cudaEvent_t event) { return reinterpret_cast<client::EventHandle>(event); }
inline uint64_t Address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }
inline device::Dim3 Shape(dim3 shape) { return {shape.x, shape.y, shape.z}; }

// What NVIDIA's runtime says of what is no kernel: of all that it does not know itself it asks the driver, as of
// handles.
inline CudaError NoFunction(const void* given) {
  return given == nullptr ? CudaError::kInvalidDeviceFunction : CudaError::kInvalidHandle;
}

// kInvalidMemcpyDirection for a number that is no direction.
inline CudaError Direction(cudaMemcpyKind kind, client::CopyKind* direction) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return CudaError::kInvalidMemcpyDirection;
  *direction = static_cast<client::CopyKind>(kind);
  return CudaError::kSuccess;
}

}  // namespace wharf::cudashim
