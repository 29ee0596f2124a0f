// Virtual memory management of the driver API.
#include "wharf/cudashim/client/virtual_memory.h"

#include "wharf/cudashim/cuda/driver.h"

namespace wharf::cudashim {
namespace {

CudaError NotSupported(const char* what) {
  client::ReportUnsupported(what);
  return CudaError::kNotSupported;
}

bool IsHost(CUmemLocationType type) {
  return type == CU_MEM_LOCATION_TYPE_HOST || type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
         type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

CudaError CheckLocation(const CUmemLocation& location) {
  if (IsHost(location.type)) return NotSupported("virtual memory (of the host)");
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CudaError::kInvalidValue;
  return CheckDevice(location.id);
}

// Memory of the device. That it could be handed to another process is promised, as only handing it over would show that
// it cannot; compression and RDMA change no result.
CudaError CheckProperties(const CUmemAllocationProp* properties) {
  if (properties == nullptr) return CudaError::kInvalidValue;
  if (properties->type != CU_MEM_ALLOCATION_TYPE_PINNED) {
    if (properties->type != CU_MEM_ALLOCATION_TYPE_MANAGED) return CudaError::kInvalidValue;
    return NotSupported("virtual memory (that is managed)");
  }
  constexpr int kPromised = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  if ((properties->requestedHandleTypes & ~kPromised) != 0)
    return NotSupported("virtual memory (handles of this kind)");
  if (properties->allocFlags.usage != 0) return NotSupported("virtual memory (tiles of arrays)");
  return CheckLocation(properties->location);
}

CudaError CheckAccess(const CUmemAccessDesc* access, size_t count) {
  if (access == nullptr || count == 0) return CudaError::kInvalidValue;
  for (size_t i = 0; i < count; ++i) {
    const CudaError error = CheckLocation(access[i].location);
    if (error != CudaError::kSuccess) return error;
    if (access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) continue;
    const bool known = access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ||  // what would be less than all or nothing
                       access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ;
    return known ? NotSupported("virtual memory (access that is less than to read and write)")
                 : CudaError::kInvalidValue;
  }
  return CudaError::kSuccess;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags option) {
  return Driver(Call::k_cuMemGetAllocationGranularity, [&] {
    const CudaError error = CheckProperties(properties);
    if (error != CudaError::kSuccess) return error;
    const bool known = option == CU_MEM_ALLOC_GRANULARITY_MINIMUM || option == CU_MEM_ALLOC_GRANULARITY_RECOMMENDED;
    if (granularity == nullptr || !known) return CudaError::kInvalidValue;
    return client::VirtualGranularity(granularity);
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* pointer, size_t size, size_t alignment, CUdeviceptr wish,
                             unsigned long long flags) {
  return Driver(Call::k_cuMemAddressReserve, [&] {
    uint64_t address = 0;
    if (pointer == nullptr || flags != 0) return CudaError::kInvalidValue;
    const CudaError error = client::ReserveAddresses(size, alignment, wish, &address);
    if (error == CudaError::kSuccess) *pointer = address;
    return error;
  });
}

CUresult cuMemAddressFree(CUdeviceptr pointer, size_t size) {
  return Driver(Call::k_cuMemAddressFree, [&] { return client::FreeAddresses(pointer, size); });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* properties,
                     unsigned long long flags) {
  return Driver(Call::k_cuMemCreate, [&] {
    if (handle == nullptr || flags != 0) return CudaError::kInvalidValue;
    const CudaError error = CheckProperties(properties);
    if (error != CudaError::kSuccess) return error;
    uint64_t made = 0;
    const CudaError created = client::CreateMemory(size, &made);
    if (created == CudaError::kSuccess) *handle = made;
    return created;
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return Driver(Call::k_cuMemRelease, [&] { return client::ReleaseMemory(handle); });
}

CUresult cuMemMap(CUdeviceptr pointer, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  return Driver(Call::k_cuMemMap, [&] {
    return flags != 0 ? CudaError::kInvalidValue : client::MapMemory(pointer, size, offset, handle);
  });
}

CUresult cuMemUnmap(CUdeviceptr pointer, size_t size) {
  return Driver(Call::k_cuMemUnmap, [&] { return client::UnmapMemory(pointer, size); });
}

CUresult cuMemSetAccess(CUdeviceptr pointer, size_t size, const CUmemAccessDesc* access, size_t count) {
  return Driver(Call::k_cuMemSetAccess, [&] {
    const CudaError error = CheckAccess(access, count);
    return error == CudaError::kSuccess ? client::OpenMemory(pointer, size) : error;
  });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr pointer) {
  return Driver(Call::k_cuMemGetAccess, [&] {
    if (flags == nullptr || location == nullptr) return CudaError::kInvalidValue;
    bool open = false;
    CudaError error = client::IsMemoryOpen(pointer, &open);
    if (error != CudaError::kSuccess) return error;
    if (IsHost(location->type)) {
      open = false;
    } else {
      error = CheckLocation(*location);
    }
    if (error == CudaError::kSuccess)
      *flags = open ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return error;
  });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle) {
  return Driver(Call::k_cuMemGetAllocationPropertiesFromHandle, [&] {
    if (properties == nullptr) return CudaError::kInvalidValue;
    const CudaError error = client::CheckMemoryHandle(handle);
    if (error != CudaError::kSuccess) return error;
    *properties = {};
    properties->type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties->location = {};
    properties->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties->location.id = 0;
    return CudaError::kSuccess;
  });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* pointer) {
  return Driver(Call::k_cuMemRetainAllocationHandle, [&] {
    uint64_t held = 0;
    if (handle == nullptr) return CudaError::kInvalidValue;
    const CudaError error = client::RetainMemory(Address(pointer), &held);
    if (error == CudaError::kSuccess) *handle = held;
    return error;
  });
}

}  // extern "C"
