// Memory pools: client/memory_pool.h.
#include "wharf/cudashim/client/memory_pool.h"

#include "wharf/cudashim/cudart/runtime.h"

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* handle, int device) {
  return Runtime(Call::k_cudaDeviceGetDefaultMemPool, [&] { return client::StorePoolOf(device, handle); });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* handle, int device) {
  return Runtime(Call::k_cudaDeviceGetMemPool, [&] { return client::StorePoolOf(device, handle); });
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t handle) {
  return Runtime(Call::k_cudaDeviceSetMemPool, [&] { return client::CheckPoolOf(device, handle); });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return Runtime(Call::k_cudaMemPoolSetAttribute, [&] { return client::SetPoolAttribute(handle, attribute, value); });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return Runtime(Call::k_cudaMemPoolGetAttribute, [&] { return client::GetPoolAttribute(handle, attribute, value); });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t handle, size_t) {
  return Runtime(Call::k_cudaMemPoolTrimTo, [&] { return client::CheckPool(handle); });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t handle, const cudaMemAccessDesc*, size_t) {
  return Runtime(Call::k_cudaMemPoolSetAccess, [&] { return client::CheckPool(handle); });
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t handle, cudaMemLocation*) {
  return Runtime(Call::k_cudaMemPoolGetAccess,
                 [&] { return client::StorePoolAccess(handle, cudaMemAccessFlagsProtReadWrite, flags); });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* handle, const cudaMemPoolProps*) {
  return Runtime(Call::k_cudaMemPoolCreate, [&] { return client::StorePool(handle); });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
  return Runtime(Call::k_cudaMemPoolDestroy, [&] { return client::CheckPool(handle); });
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  return Runtime(Call::k_cudaDeviceGetGraphMemAttribute,
                 [&] { return client::GetGraphMemoryAttribute(device, attribute, value); });
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  return Runtime(Call::k_cudaDeviceSetGraphMemAttribute,
                 [&] { return client::SetGraphMemoryAttribute(device, attribute, value); });
}

cudaError_t cudaDeviceGraphMemTrim(int device) {
  return Runtime(Call::k_cudaDeviceGraphMemTrim, [&] { return client::TrimGraphMemory(device); });
}

}  // extern "C"
