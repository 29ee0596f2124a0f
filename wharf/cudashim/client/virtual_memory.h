// Virtual memory management for the driver API: offload/client/virtual_memory on the session's memory.
#pragma once

#include "wharf/cudashim/client/memory.h"

namespace wharf::client {

// What sizes and addresses of the calls below are multiples of: what GPUs have, or more if the session's device does.
WHARF_CLIENT_API CudaError VirtualGranularity(size_t* bytes);
WHARF_CLIENT_API CudaError ReserveAddresses(uint64_t size, uint64_t alignment, uint64_t wish, uint64_t* address);
WHARF_CLIENT_API CudaError FreeAddresses(uint64_t address, uint64_t size);
WHARF_CLIENT_API CudaError CreateMemory(uint64_t size, uint64_t* handle);
WHARF_CLIENT_API CudaError ReleaseMemory(uint64_t handle);
WHARF_CLIENT_API CudaError RetainMemory(uint64_t address, uint64_t* handle);
WHARF_CLIENT_API CudaError CheckMemoryHandle(uint64_t handle);
WHARF_CLIENT_API CudaError MapMemory(uint64_t address, uint64_t size, uint64_t offset, uint64_t handle);
WHARF_CLIENT_API CudaError UnmapMemory(uint64_t address, uint64_t size);
WHARF_CLIENT_API CudaError OpenMemory(uint64_t address, uint64_t size);
WHARF_CLIENT_API CudaError IsMemoryOpen(uint64_t address, bool* open);

}  // namespace wharf::client
