// Memory pools, as far as frameworks need them: every pool is the session's arena; attributes are kept, not obeyed.
#include <array>
#include <atomic>

#include "wharf/cudashim/client/memory.h"
#include "wharf/cudashim/cudart/runtime.h"

namespace wharf::cudashim {
namespace {

// The one pool; its address is the handle.
std::array<std::atomic<uint64_t>, cudaMemPoolAttrUsedMemHigh + 1> pool;

cudaMemPool_t Pool() { return reinterpret_cast<cudaMemPool_t>(&pool); }

CudaError CheckPool(cudaMemPool_t handle) { return handle == Pool() ? CudaError::kSuccess : CudaError::kInvalidValue; }

bool IsFlag(cudaMemPoolAttr attribute) { return attribute <= cudaMemPoolReuseAllowInternalDependencies; }

CudaError StorePool(cudaMemPool_t* handle) {
  if (handle == nullptr) return CudaError::kInvalidValue;
  *handle = Pool();
  return CudaError::kSuccess;
}

CudaError SetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, const void* value) {
  if (handle != Pool() || value == nullptr || attribute < 1 || attribute >= pool.size())
    return CudaError::kInvalidValue;
  pool[attribute] =
      IsFlag(attribute) ? static_cast<uint64_t>(*static_cast<const int*>(value)) : *static_cast<const uint64_t*>(value);
  return CudaError::kSuccess;
}

CudaError GetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  if (handle != Pool() || value == nullptr || attribute < 1 || attribute >= pool.size())
    return CudaError::kInvalidValue;
  if (IsFlag(attribute)) {
    *static_cast<int*>(value) = static_cast<int>(pool[attribute]);
    return CudaError::kSuccess;
  }
  uint64_t bytes = pool[attribute];
  if (attribute != cudaMemPoolAttrReleaseThreshold) {
    size_t free_bytes = 0, total = 0;
    const CudaError error = client::MemoryInfo(&free_bytes, &total);
    if (error != CudaError::kSuccess) return error;
    bytes = total - free_bytes;
  }
  *static_cast<uint64_t*>(value) = bytes;
  return CudaError::kSuccess;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* handle, int device) {
  return Runtime(Call::k_cudaDeviceGetDefaultMemPool,
                 [&] { return device != 0 ? CudaError::kInvalidDevice : StorePool(handle); });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* handle, int device) {
  return Runtime(Call::k_cudaDeviceGetMemPool,
                 [&] { return device != 0 ? CudaError::kInvalidDevice : StorePool(handle); });
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t handle) {
  return Runtime(Call::k_cudaDeviceSetMemPool,
                 [&] { return device != 0 ? CudaError::kInvalidDevice : CheckPool(handle); });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return Runtime(Call::k_cudaMemPoolSetAttribute, [&] { return SetAttribute(handle, attribute, value); });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return Runtime(Call::k_cudaMemPoolGetAttribute, [&] { return GetAttribute(handle, attribute, value); });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t handle, size_t) {
  return Runtime(Call::k_cudaMemPoolTrimTo, [&] { return CheckPool(handle); });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t handle, const cudaMemAccessDesc*, size_t) {
  return Runtime(Call::k_cudaMemPoolSetAccess, [&] { return CheckPool(handle); });
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t handle, cudaMemLocation*) {
  return Runtime(Call::k_cudaMemPoolGetAccess, [&] {
    if (flags == nullptr) return CudaError::kInvalidValue;
    *flags = cudaMemAccessFlagsProtReadWrite;
    return CheckPool(handle);
  });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* handle, const cudaMemPoolProps*) {
  return Runtime(Call::k_cudaMemPoolCreate, [&] { return StorePool(handle); });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
  return Runtime(Call::k_cudaMemPoolDestroy, [&] { return CheckPool(handle); });
}

}  // extern "C"
