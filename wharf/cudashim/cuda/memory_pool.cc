// Memory pools: client/memory_pool.h.
#include "wharf/cudashim/client/memory_pool.h"

#include "wharf/cudashim/cuda/driver.h"

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* handle, CUdevice device) {
  return Driver(Call::k_cuDeviceGetDefaultMemPool, [&] { return client::StorePoolOf(device, handle); });
}

CUresult cuDeviceGetMemPool(CUmemoryPool* handle, CUdevice device) {
  return Driver(Call::k_cuDeviceGetMemPool, [&] { return client::StorePoolOf(device, handle); });
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle) {
  return Driver(Call::k_cuDeviceSetMemPool, [&] { return client::CheckPoolOf(device, handle); });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return Driver(Call::k_cuMemPoolSetAttribute, [&] { return client::SetPoolAttribute(handle, attribute, value); });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return Driver(Call::k_cuMemPoolGetAttribute, [&] { return client::GetPoolAttribute(handle, attribute, value); });
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t) {
  return Driver(Call::k_cuMemPoolTrimTo, [&] { return client::CheckPool(handle); });
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc*, size_t) {
  return Driver(Call::k_cuMemPoolSetAccess, [&] { return client::CheckPool(handle); });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle, CUmemLocation*) {
  return Driver(Call::k_cuMemPoolGetAccess,
                [&] { return client::StorePoolAccess(handle, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, flags); });
}

CUresult cuMemPoolCreate(CUmemoryPool* handle, const CUmemPoolProps*) {
  return Driver(Call::k_cuMemPoolCreate, [&] { return client::StorePool(handle); });
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  return Driver(Call::k_cuMemPoolDestroy, [&] { return client::CheckPool(handle); });
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) {
  return Driver(Call::k_cuDeviceGetGraphMemAttribute,
                [&] { return client::GetGraphMemoryAttribute(device, attribute, value); });
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) {
  return Driver(Call::k_cuDeviceSetGraphMemAttribute,
                [&] { return client::SetGraphMemoryAttribute(device, attribute, value); });
}

CUresult cuDeviceGraphMemTrim(CUdevice device) {
  return Driver(Call::k_cuDeviceGraphMemTrim, [&] { return client::TrimGraphMemory(device); });
}

}  // extern "C"
