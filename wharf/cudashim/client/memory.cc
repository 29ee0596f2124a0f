#include "wharf/cudashim/client/memory.h"

#include <cstdlib>
#include <mutex>

#include "wharf/cudashim/client/host_ranges.h"
#include "wharf/cudashim/client/process.h"

namespace wharf::client {
namespace {

// Copies that returned early may still be writing to pinned memory.
void SettleCopies() {
  if (Connection* const connection = Process::Get().Current()) connection->session->WaitForDetached();
}

// Once: programs may probe how much there is.
void TellOfQuota(const absl::Status& refusal) {
  static std::once_flag told;
  std::call_once(told, [&] {
    TellUser(fmt::format("out of device memory: {}; raise --memory of `wharf serve` or `wharf run --local`",
                         Message(refusal)));
  });
}

}  // namespace

CudaError Allocate(uint64_t size, uint64_t* address) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  *address = 0;
  if (size == 0) return CudaError::kSuccess;
  // The lock is held while the mapping is sent: no later operation may overtake it, nor a release an earlier mapping.
  absl::MutexLock lock(&connection->mutex);
  const auto made = connection->allocator.Allocate(size);
  if (!made.ok()) {
    TellOfQuota(made.status());
    return device::CudaErrorOf(made.status());
  }
  if (made->map) error = connection->session->Post(offload::MapMemory{made->map->address, made->map->size});
  if (error == CudaError::kSuccess) *address = made->address;
  return error;
}

CudaError Free(uint64_t address) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr || address == 0) return error;
  absl::MutexLock lock(&connection->mutex);
  const auto freed = connection->allocator.Free(address);
  if (!freed.ok()) return device::CudaErrorOf(freed.status());
  if (!freed->has_value()) return CudaError::kSuccess;
  return connection->session->Post(offload::UnmapMemory{(*freed)->address});
}

CudaError MemoryInfo(size_t* free_bytes, size_t* total_bytes) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  absl::MutexLock lock(&connection->mutex);
  if (total_bytes != nullptr) *total_bytes = connection->allocator.Quota();
  if (free_bytes != nullptr) *free_bytes = connection->allocator.Quota() - connection->allocator.MappedBytes();
  return CudaError::kSuccess;
}

CudaError AddressRange(uint64_t address, uint64_t* base, uint64_t* size) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  const auto range = connection->FindRange(address);
  if (!range) return CudaError::kNotFound;
  if (base != nullptr) *base = range->address;
  if (size != nullptr) *size = range->size;
  return CudaError::kSuccess;
}

CudaError AllocateHost(uint64_t size, uint32_t flags, void** pointer) {
  *pointer = nullptr;
  if (size == 0) return CudaError::kSuccess;
  constexpr uint64_t kPage = 4096;
  if (size > UINT64_MAX - kPage) return CudaError::kOutOfMemory;
  void* const memory = std::aligned_alloc(kPage, (size + kPage - 1) / kPage * kPage);
  if (memory == nullptr) return CudaError::kOutOfMemory;
  *pointer = memory;
  HostRanges::Get().Add(memory, size, flags, /*owned=*/true);
  return CudaError::kSuccess;
}

CudaError FreeHost(void* pointer) {
  if (pointer == nullptr) return CudaError::kSuccess;
  SettleCopies();
  if (!HostRanges::Get().Remove(pointer, /*owned=*/true)) return CudaError::kInvalidValue;
  std::free(pointer);
  return CudaError::kSuccess;
}

CudaError RegisterHost(void* pointer, uint64_t size, uint32_t flags) {
  if (pointer == nullptr || size == 0) return CudaError::kInvalidValue;
  constexpr CudaError kAlreadyRegistered{712};
  return HostRanges::Get().Add(pointer, size, flags, /*owned=*/false) ? CudaError::kSuccess : kAlreadyRegistered;
}

CudaError UnregisterHost(void* pointer) {
  SettleCopies();
  constexpr CudaError kNotRegistered{713};
  return HostRanges::Get().Remove(pointer, /*owned=*/false) ? CudaError::kSuccess : kNotRegistered;
}

PointerInfo Describe(uint64_t address) {
  if (Connection* const connection = Process::Get().Current()) {
    if (const auto range = connection->FindRange(address)) {
      return {PointerInfo::Kind::kDevice, range->address, range->size, 0};
    }
  }
  if (const auto range = HostRanges::Get().Find(address)) {
    return {PointerInfo::Kind::kPinnedHost, range->base, range->size, range->flags};
  }
  return {};
}

}  // namespace wharf::client
