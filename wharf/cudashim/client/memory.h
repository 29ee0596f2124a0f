// Memory as both shims see it: allocation in the session's arena, copies and fills in every direction, host memory.
#pragma once

#include <span>

#include "wharf/cudashim/client/call.h"
#include "wharf/device/device.h"

namespace wharf::client {

// A stream as the program names it: 0 (legacy default or per-thread), 1 (legacy), 2 (per-thread) or an id.
using StreamHandle = uint64_t;
inline constexpr StreamHandle kLegacyStream = 1, kPerThreadStream = 2;

// A call of the program: forbidden while streams are captured, unless they, or this thread, are relaxed.
WHARF_CLIENT_API CudaError Allocate(uint64_t size, uint64_t* address);
WHARF_CLIENT_API CudaError Free(uint64_t address);
// What a library allocates for itself, and frees, at any time.
WHARF_CLIENT_API CudaError AllocateOwn(uint64_t size, uint64_t* address);
WHARF_CLIENT_API CudaError FreeOwn(uint64_t address);
// And what it writes there, before anything that is put on the stream later, captured or not.
WHARF_CLIENT_API CudaError WriteOwn(StreamHandle stream, uint64_t address, std::span<const std::byte> bytes);
// In a captured stream, nodes of the graph.
WHARF_CLIENT_API CudaError AllocateAsync(uint64_t size, StreamHandle stream, uint64_t* address);
WHARF_CLIENT_API CudaError FreeAsync(uint64_t address, StreamHandle stream);
WHARF_CLIENT_API CudaError MemoryInfo(size_t* free_bytes, size_t* total_bytes);
// The allocation `address` lies in.
WHARF_CLIENT_API CudaError AddressRange(uint64_t address, uint64_t* base, uint64_t* size);

// A box of bytes in host or device memory.
struct Box {
  uint64_t address = 0;
  uint64_t row_pitch = 0, slice_pitch = 0;  // 0: packed
};
enum class CopyKind { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice, kDefault };

// `may_return_early`: an asynchronous copy. Host memory that is not pinned is always read or written before the return;
// into pinned memory the data has landed once the stream is synchronised.
WHARF_CLIENT_API CudaError Copy(StreamHandle stream, const Box& to, const Box& from, const device::Extent& extent,
                                CopyKind kind, bool may_return_early);
WHARF_CLIENT_API CudaError Fill(StreamHandle stream, const Box& to, const device::Extent& extent, uint32_t value,
                                uint32_t element_bytes);

WHARF_CLIENT_API CudaError AllocateHost(uint64_t size, uint32_t flags, void** pointer);
WHARF_CLIENT_API CudaError FreeHost(void* pointer);
WHARF_CLIENT_API CudaError RegisterHost(void* pointer, uint64_t size, uint32_t flags);
WHARF_CLIENT_API CudaError UnregisterHost(void* pointer);

// Memory that the program and kernels use by one address (offload/client/managed).
WHARF_CLIENT_API CudaError AllocateManaged(uint64_t size, uint64_t* address);
// A __managed__ variable of a module, which the device has already, until the module is unloaded.
CudaError ShareVariable(uint64_t address, uint64_t size);
void UnshareVariable(uint64_t address);
// Whether such a variable begins there; its size.
bool FindShared(uint64_t address, uint64_t* size);
// All of [address, address + size) is managed: it is brought to the device, or here. Not in captured streams.
WHARF_CLIENT_API CudaError Prefetch(StreamHandle stream, uint64_t address, uint64_t size, bool to_device);
// Success if it is managed and that is all there is to know.
WHARF_CLIENT_API CudaError CheckManaged(uint64_t address, uint64_t size);
// The address by which kernels know host memory that was allocated for them too.
WHARF_CLIENT_API CudaError DevicePointer(void* host, uint64_t* address);

struct PointerInfo {
  enum class Kind { kUnknown, kPinnedHost, kDevice, kManaged } kind = Kind::kUnknown;
  uint64_t base = 0, size = 0;
  uint32_t host_flags = 0;
  bool mapped = false;  // kernels may use it: device_address
  uint64_t device_address = 0;
};
WHARF_CLIENT_API PointerInfo Describe(uint64_t address);

}  // namespace wharf::client
