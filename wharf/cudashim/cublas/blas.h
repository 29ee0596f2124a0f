// What every body in libcublas.so.13 starts from.
#pragma once

#include <cublas_v2.h>

#include <map>
#include <utility>
#include <vector>

#include "wharf/cudashim/client/call.h"
#include "wharf/cudashim/client/device_info.h"
#include "wharf/cudashim/client/gemm_types.h"

// The program's handle points to one of these. One thread uses a handle at a time, as the vendor asks.
struct cublasContext {
  static constexpr uint64_t kMagic = 0x77687266626c6173;
  uint64_t magic = kMagic;
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  cublasAtomicsMode_t atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED;
  int sm_count_target = 0;
  uint64_t constants = 0;  // device memory of vector.cc; 0: none yet
  // Device memory of calls on each stream (Workspace). What was outgrown stays, for graphs may have it.
  struct Workspace {
    uint64_t address = 0, bytes = 0;
  };
  std::map<cudaStream_t, Workspace> workspaces;
  std::vector<uint64_t> outgrown;
};

namespace wharf::cudashim {

using client::Call;
using device::CudaError;
using device::ElementType;

// A call that needs the device, on a valid handle.
template <typename Body>
cublasStatus_t Blas(Call call, cublasHandle_t handle, Body&& body) {
  if (handle == nullptr || handle->magic != cublasContext::kMagic) return CUBLAS_STATUS_NOT_INITIALIZED;
  return ToStatus(client::Run(call, std::forward<Body>(body)));
}
// A getter or setter of the handle.
template <typename Body>
cublasStatus_t BlasLocal(Call call, cublasHandle_t handle, Body&& body) {
  if (handle == nullptr || handle->magic != cublasContext::kMagic) return CUBLAS_STATUS_NOT_INITIALIZED;
  return ToStatus(client::RunLocal(call, std::forward<Body>(body)));
}

inline client::StreamHandle StreamOf(cublasHandle_t handle) {
  return reinterpret_cast<client::StreamHandle>(handle->stream);
}

template <typename T>
CudaError Store(T* place, T value) {
  if (place == nullptr) return CudaError::kInvalidValue;
  *place = value;
  return CudaError::kSuccess;
}

// One matrix operand as the program gives it.
struct Operand {
  const void* data;  // or a device array of pointers
  ElementType type;
  int64_t ld;
  int64_t stride = 0;
};
struct GemmCall {
  cublasOperation_t transpose_a, transpose_b;
  int64_t m, n, k;
  ElementType compute;
  const void* alpha;
  Operand a, b;
  const void* beta;
  Operand c;
  int64_t batch = 1;
  bool pointer_arrays = false;
};
// What the vendor checks.
bool IsValidGemm(const GemmCall& call);
// Checks it and sends the product. Nothing is sent for an empty one.
CudaError RunGemm(cublasHandle_t handle, const GemmCall& call);

// Of what the handle keeps on the device (vector.cc): room for a result of 16 bytes at most, and a one of this type
// where the handle's scalars are.
CudaError PlaceOfResult(cublasHandle_t handle, uint64_t* place);
CudaError ScalarOne(cublasHandle_t handle, ElementType type, const void** one);

}  // namespace wharf::cudashim
