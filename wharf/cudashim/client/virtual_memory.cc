#include "wharf/cudashim/client/virtual_memory.h"

#include <algorithm>
#include <mutex>

#include "wharf/cudashim/client/process.h"
#include "wharf/cudashim/client/stream_work.h"

namespace wharf::client {
namespace {

constexpr uint64_t kGranularity = uint64_t{2} << 20;  // every GPU's

// Runs `body(virtual memory)` with the session's lock: what is sent keeps the order of what was decided.
template <typename Body>
CudaError WithVirtualMemory(Body&& body) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  absl::MutexLock lock(&connection->mutex);
  return body(connection->virtual_memory);
}

// Once each: the one line that says what this cannot do.
void TellOfSecondPlace() {
  static std::once_flag told;
  std::call_once(told, [] {
    TellUser("cuMemMap: memory that is mapped already, or a part of it, is not supported (docs/offload.md)");
  });
}

}  // namespace

uint64_t VirtualGranularityOf(const device::Arena& arena) { return std::max(kGranularity, arena.granularity); }

// Work of any stream may use what moves.
offload::VirtualMemory::Server VirtualMemoryServer(offload::ClientSession& session) {
  using Range = offload::AddressAllocator::Range;
  return {.map =
              [&session](Range range) {
                return session.Post(offload::MapMemory{range.address, range.size});
              },
          .unmap = [&session](Range range) { return session.Post(offload::UnmapMemory{range.address}); },
          .move =
              [&session](uint64_t to, Range from) {
                CudaError error = session.Ask(offload::SynchronizeDevice{});
                if (error != CudaError::kSuccess) return error;
                error = session.Post(offload::CopyOnDevice{device::kDefaultStream, device::Region{to},
                                                           device::Region{from.address}, device::Extent{from.size}});
                return error == CudaError::kSuccess ? session.Ask(offload::SynchronizeDevice{}) : error;
              }};
}

CudaError VirtualGranularity(size_t* bytes) {
  return WithVirtualMemory([&](offload::VirtualMemory& memory) {
    *bytes = memory.Granularity();
    return CudaError::kSuccess;
  });
}

CudaError ReserveAddresses(uint64_t size, uint64_t alignment, uint64_t wish, uint64_t* address) {
  return WithVirtualMemory(
      [&](offload::VirtualMemory& memory) { return memory.Reserve(size, alignment, wish, address); });
}

CudaError FreeAddresses(uint64_t address, uint64_t size) {
  return WithVirtualMemory([&](offload::VirtualMemory& memory) { return memory.EndReservation(address, size); });
}

CudaError CreateMemory(uint64_t size, uint64_t* handle) {
  return WithVirtualMemory([&](offload::VirtualMemory& memory) { return memory.Create(size, handle); });
}

CudaError ReleaseMemory(uint64_t handle) {
  return WithVirtualMemory([&](offload::VirtualMemory& memory) { return memory.Release(handle); });
}

CudaError RetainMemory(uint64_t address, uint64_t* handle) {
  return WithVirtualMemory([&](offload::VirtualMemory& memory) { return memory.Retain(address, handle); });
}

CudaError CheckMemoryHandle(uint64_t handle) {
  return WithVirtualMemory([&](offload::VirtualMemory& memory) {
    return memory.Exists(handle) ? CudaError::kSuccess : CudaError::kInvalidValue;
  });
}

CudaError MapMemory(uint64_t address, uint64_t size, uint64_t offset, uint64_t handle) {
  const CudaError error =
      WithVirtualMemory([&](offload::VirtualMemory& memory) { return memory.Map(address, size, offset, handle); });
  if (error == CudaError::kNotSupported) TellOfSecondPlace();
  return error;
}

CudaError UnmapMemory(uint64_t address, uint64_t size) {
  return WithVirtualMemory([&](offload::VirtualMemory& memory) { return memory.Unmap(address, size); });
}

CudaError OpenMemory(uint64_t address, uint64_t size) {
  return WithVirtualMemory([&](offload::VirtualMemory& memory) { return memory.Open(address, size); });
}

CudaError IsMemoryOpen(uint64_t address, bool* open) {
  return WithVirtualMemory([&](offload::VirtualMemory& memory) {
    const std::optional<bool> found = memory.IsOpen(address);
    if (!found) return CudaError::kInvalidValue;
    *open = *found;
    return CudaError::kSuccess;
  });
}

}  // namespace wharf::client
