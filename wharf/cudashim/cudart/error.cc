// The runtime's error state. cudaGetLastError clears the thread's last error, whatever it is: of a broken context the
// next call that needs it tells again, as in NVIDIA's runtimes of CUDA 12 and 13.
#include "wharf/cudashim/client/device_info.h"
#include "wharf/cudashim/cudart/runtime.h"

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudaError_t cudaGetLastError(void) {
  CudaError last = CudaError::kSuccess;
  const CudaError learnt = client::RunLocal(Call::k_cudaGetLastError, [&] {
    last = client::TakeLastError();
    return CudaError::kSuccess;
  });
  return static_cast<cudaError_t>(last != CudaError::kSuccess ? last : learnt);
}

cudaError_t cudaPeekAtLastError(void) {
  CudaError last = CudaError::kSuccess;
  const CudaError learnt = client::RunLocal(Call::k_cudaPeekAtLastError, [&] {
    last = client::PeekLastError();
    return CudaError::kSuccess;
  });
  client::SetLastError(learnt);
  return static_cast<cudaError_t>(last != CudaError::kSuccess ? last : learnt);
}

const char* cudaGetErrorName(cudaError_t error) {
  const char* name = nullptr;
  client::RunLocal(Call::k_cudaGetErrorName, [&] {
    name = client::RuntimeErrorName(error);
    return CudaError::kSuccess;
  });
  return name != nullptr ? name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  const char* sentence = nullptr;
  client::RunLocal(Call::k_cudaGetErrorString, [&] {
    sentence = client::ErrorSentence(error);
    return CudaError::kSuccess;
  });
  return sentence != nullptr ? sentence : "unrecognized error code";
}

}  // extern "C"
