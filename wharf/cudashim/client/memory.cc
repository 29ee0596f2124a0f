#include "wharf/cudashim/client/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>

#include "wharf/cudashim/client/device_info.h"
#include "wharf/cudashim/client/host_ranges.h"
#include "wharf/cudashim/client/memory_pool.h"
#include "wharf/cudashim/client/process.h"
#include "wharf/cudashim/client/stream_work.h"
#include "wharf/device/asked_size.h"
#include "wharf/offload/client/managed/access_fault.h"

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

// The same whether there is a session or not.
CudaError CheckUnsafe() {
  Connection* const connection = Process::Get().Current();
  return connection == nullptr ? CudaError::kSuccess : ForbidUnsafe(*connection);
}

using Kind = offload::ManagedMemory::Kind;

thread_local bool in_host_function = false;

// The program touched managed memory that is on the device.
bool ServeAccess(uint64_t address, bool write) {
  Connection* const connection = Process::Get().Current();
  if (connection == nullptr) return false;
  const device::Arena& arena = connection->session->welcome().arena;
  if (HostFunctionScope::IsInside() && address - arena.base < arena.size) {
    TellUser(
        "a host function (cudaLaunchHostFunc) touched managed memory that is on the device, which waits for it: "
        "copy what it needs to the host before it");
    return false;
  }
  CudaError why = CudaError::kSuccess;
  if (connection->managed.OnAccess(address, write, &why)) return true;
  if (why != CudaError::kSuccess) {
    TellUser(fmt::format("managed memory at {:#x} cannot be brought from the device: {} ({})", address,
                         RuntimeErrorName(static_cast<int>(why)), connection->session->StickyMessage()));
  }
  return false;
}

// Asks the server for what `made` needs. The lock is held while that is sent: no later operation may overtake it, nor a
// release an earlier mapping.
CudaError Place(Connection& connection, const absl::StatusOr<offload::AddressAllocator::Allocation>& made,
                uint64_t* address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection.mutex) {
  if (!made.ok()) {
    TellOfQuota(made.status());
    return device::CudaErrorOf(made.status());
  }
  CudaError error = CudaError::kSuccess;
  if (made->map) error = connection.session->Post(offload::MapMemory{made->map->address, made->map->size});
  if (error == CudaError::kSuccess) *address = made->address;
  return error;
}

// What was asked for, to the byte, if somebody wants to know (`wharf run --check memory`).
CudaError TellSize(Connection& connection, uint64_t address, uint64_t size) {
  static const bool wanted = std::getenv("WHARF_TELL_SIZES") != nullptr;
  if (!wanted) return CudaError::kSuccess;
  return connection.session->Post(offload::Fill{.to = device::AskedSize(address, size), .extent = {0, 0, 0}});
}

// What is mapped for an allocation is all its own, so that its pages are, here and there.
CudaError AllocatePages(Connection& connection, uint64_t size, uint64_t* address) {
  const uint64_t page = offload::ManagedMemory::Page();
  const uint64_t unit = std::max(page, connection.session->welcome().arena.granularity);
  absl::MutexLock lock(&connection.mutex);
  return Place(connection, connection.allocator.AllocateAligned((size + unit - 1) / unit * unit, page), address);
}

CudaError AllocateShared(uint64_t size, Kind kind, uint32_t flags, uint64_t* address) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  if (size == 0) return CudaError::kInvalidValue;
  if (size > UINT64_MAX / 2) return CudaError::kOutOfMemory;
  error = AllocatePages(*connection, size, address);
  if (error != CudaError::kSuccess) return error;
  offload::ServeAccesses(ServeAccess);
  if (const absl::Status added = connection->managed.Add({*address, size, kind, flags}, false); !added.ok()) {
    TellUser(std::string(Message(added)));
    (void)FreeOwn(*address);
    return CudaError::kOutOfMemory;
  }
  return CudaError::kSuccess;
}

constexpr uint32_t kMapped = 2;  // cudaHostAllocMapped, CU_MEMHOSTALLOC_DEVICEMAP

// Whether a range is whole pages, of this process alone.
bool HasOwnPages(uint64_t address, uint64_t size) {
  const uint64_t page = offload::ManagedMemory::Page();
  if (address % page != 0 || size % page != 0) return false;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uint64_t start = 0, end = 0;
    char access[5] = "";
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s", &start, &end, access) != 3) return false;
    if (end <= address) continue;
    if (start > address || std::strcmp(access, "rw-p") != 0) return false;
    if (end >= address + size) return true;
    size -= end - address;
    address = end;
  }
  return false;
}

// Host memory that was allocated without kMapped, or registered, because kernels are to use it now. It keeps its
// address here.
CudaError AdoptHost(Connection& connection, uint64_t address) {
  static absl::Mutex mutex;
  absl::MutexLock lock(&mutex);
  const auto range = HostRanges::Get().Find(address);
  if (!range) return CudaError::kSuccess;  // another thread did it
  if (!range->owned && !HasOwnPages(range->base, range->size)) return CudaError::kNotSupported;
  const Kind kind = range->owned ? Kind::kMappedHost : Kind::kRegisteredHost;
  SettleCopies();
  uint64_t device = 0;
  const CudaError error = AllocatePages(connection, range->size, &device);
  if (error != CudaError::kSuccess) return error;
  offload::ServeAccesses(ServeAccess);
  const absl::Status adopted = connection.managed.Adopt({range->base, range->size, kind, range->flags}, device);
  if (adopted.ok()) {
    HostRanges::Get().Remove(reinterpret_cast<void*>(range->base), range->owned);
    return CudaError::kSuccess;
  }
  TellUser(std::string(Message(adopted)));
  (void)FreeOwn(device);
  return CudaError::kOutOfMemory;
}

}  // namespace

HostFunctionScope::HostFunctionScope() { in_host_function = true; }
HostFunctionScope::~HostFunctionScope() { in_host_function = false; }
bool HostFunctionScope::IsInside() { return in_host_function; }

CudaError Allocate(uint64_t size, uint64_t* address) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  error = ForbidUnsafe(*connection);
  return error != CudaError::kSuccess ? error : AllocateOwn(size, address);
}

CudaError Free(uint64_t address) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  error = ForbidUnsafe(*connection);
  return error != CudaError::kSuccess ? error : FreeOn(*connection, address);
}

CudaError AllocateOwn(uint64_t size, uint64_t* address) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  *address = 0;
  if (size == 0) return CudaError::kSuccess;
  absl::MutexLock lock(&connection->mutex);
  error = Place(*connection, connection->allocator.Allocate(size), address);
  return error == CudaError::kSuccess ? TellSize(*connection, *address, size) : error;
}

CudaError FreeOwn(uint64_t address) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr || address == 0) return error;
  if (const auto shared = connection->managed.Find(address)) {
    if (!connection->managed.Remove(address, Kind::kManaged)) return CudaError::kInvalidValue;
  }
  absl::MutexLock lock(&connection->mutex);
  const auto freed = connection->allocator.Free(address);
  if (!freed.ok()) return device::CudaErrorOf(freed.status());
  if (!freed->has_value()) return CudaError::kSuccess;
  return connection->session->Post(offload::UnmapMemory{(*freed)->address});
}

CudaError FreeOn(Connection& connection, uint64_t address) {
  std::shared_ptr<cudagraph::GraphMemory> memory;  // let go of without the lock, which its last owner takes
  {
    absl::MutexLock lock(&connection.mutex);
    const auto found = connection.graph_memory.find(address);
    if (found != connection.graph_memory.end()) {
      memory = found->second.lock();
      if (memory == nullptr) connection.graph_memory.erase(found);  // the program's alone since its graph is gone
    }
  }
  if (memory == nullptr) return FreeOwn(address);
  return memory->allocated.exchange(false) ? CudaError::kSuccess : CudaError::kInvalidValue;
}

CudaError MakeGraphMemory(Connection& connection, uint64_t size, std::shared_ptr<cudagraph::GraphMemory>* memory) {
  uint64_t address = 0;
  if (size == 0) return CudaError::kInvalidValue;
  const CudaError error = AllocateOwn(size, &address);
  if (error != CudaError::kSuccess) return error;
  const auto give_back = [&connection](cudagraph::GraphMemory* gone) {
    if (!gone->allocated && Process::Get().Current() == &connection) {
      {
        absl::MutexLock lock(&connection.mutex);
        connection.graph_memory.erase(gone->address);
      }
      (void)FreeOwn(gone->address);
    }
    delete gone;
  };
  memory->reset(new cudagraph::GraphMemory{address, size, {}}, give_back);
  {
    absl::MutexLock lock(&connection.mutex);
    connection.graph_memory[address] = *memory;
  }
  NoteGraphMemory(connection);
  return CudaError::kSuccess;
}

CudaError AllocateAsync(uint64_t size, StreamHandle stream, uint64_t* address) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  device::StreamId id = 0;
  error = connection->Resolve(stream, &id);
  bool captured = false;
  if (error == CudaError::kSuccess) error = connection->captures.Enter(id, &captured);
  if (error != CudaError::kSuccess) return error;
  if (!captured) return AllocateOwn(size, address);
  std::shared_ptr<cudagraph::GraphMemory> memory;
  error = MakeGraphMemory(*connection, size, &memory);
  if (error != CudaError::kSuccess) return error;
  *address = memory->address;
  return connection->captures.Add(id, cudagraph::AllocationParams{std::move(memory)});
}

CudaError FreeAsync(uint64_t address, StreamHandle stream) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr || address == 0) return error;
  device::StreamId id = 0;
  error = connection->Resolve(stream, &id);
  bool captured = false;
  if (error == CudaError::kSuccess) error = connection->captures.Enter(id, &captured);
  if (error != CudaError::kSuccess) return error;
  return captured ? connection->captures.Add(id, cudagraph::FreeParams{address}) : FreeOn(*connection, address);
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
  if (const CudaError error = CheckUnsafe(); error != CudaError::kSuccess) return error;
  if ((flags & kMapped) != 0) {
    uint64_t address = 0;
    const CudaError error = AllocateShared(size, Kind::kMappedHost, flags, &address);
    if (error == CudaError::kSuccess) *pointer = reinterpret_cast<void*>(address);
    return error;
  }
  // Pages of its own: kernels may be given them later.
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return CudaError::kOutOfMemory;
  *pointer = memory;
  HostRanges::Get().Add(memory, size, flags, /*owned=*/true);
  return CudaError::kSuccess;
}

CudaError FreeHost(void* pointer) {
  if (pointer == nullptr) return CudaError::kSuccess;
  if (const CudaError error = CheckUnsafe(); error != CudaError::kSuccess) return error;
  SettleCopies();
  const auto address = reinterpret_cast<uint64_t>(pointer);
  Connection* const connection = Process::Get().Current();
  if (connection != nullptr) {
    if (const auto device = connection->managed.Remove(address, Kind::kMappedHost)) return FreeOwn(*device);
  }
  const auto range = HostRanges::Get().Find(address);
  if (!range || !HostRanges::Get().Remove(pointer, /*owned=*/true)) return CudaError::kInvalidValue;
  munmap(pointer, range->size);
  return CudaError::kSuccess;
}

CudaError RegisterHost(void* pointer, uint64_t size, uint32_t flags) {
  if (pointer == nullptr || size == 0) return CudaError::kInvalidValue;
  constexpr CudaError kAlreadyRegistered{712};
  if (const CudaError error = CheckUnsafe(); error != CudaError::kSuccess) return error;
  return HostRanges::Get().Add(pointer, size, flags, /*owned=*/false) ? CudaError::kSuccess : kAlreadyRegistered;
}

CudaError UnregisterHost(void* pointer) {
  SettleCopies();
  constexpr CudaError kNotRegistered{713};
  if (Connection* const connection = Process::Get().Current()) {
    const auto device = connection->managed.Return(reinterpret_cast<uint64_t>(pointer), Kind::kRegisteredHost);
    if (device) return FreeOwn(*device);
  }
  return HostRanges::Get().Remove(pointer, /*owned=*/false) ? CudaError::kSuccess : kNotRegistered;
}

CudaError AllocateManaged(uint64_t size, uint64_t* address) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  error = ForbidUnsafe(*connection);
  return error != CudaError::kSuccess ? error : AllocateShared(size, Kind::kManaged, 0, address);
}

CudaError ShareVariable(uint64_t address, uint64_t size) {
  Connection* const connection = Process::Get().Current();
  offload::ServeAccesses(ServeAccess);
  const absl::Status added = connection->managed.Add({address, size, Kind::kVariable, 0}, /*there=*/true);
  if (added.ok()) return CudaError::kSuccess;
  TellUser(std::string(Message(added)));
  return CudaError::kOutOfMemory;
}

void UnshareVariable(uint64_t address) { Process::Get().Current()->managed.RemoveVariable(address); }

bool FindShared(uint64_t address, uint64_t* size) {
  Connection* const connection = Process::Get().Current();
  if (connection == nullptr) return false;
  const auto found = connection->managed.Find(address);
  if (!found || found->kind != Kind::kVariable || found->address != address) return false;
  if (size != nullptr) *size = found->size;
  return true;
}

CudaError CheckManaged(uint64_t address, uint64_t size) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  const auto allocation = connection->managed.Find(address);
  const bool all = allocation && (allocation->kind == Kind::kManaged || allocation->kind == Kind::kVariable) &&
                   size <= allocation->size - (address - allocation->address);
  return all ? CudaError::kSuccess : CudaError::kInvalidValue;
}

CudaError Prefetch(StreamHandle stream, uint64_t address, uint64_t size, bool to_device) {
  CudaError error = CheckManaged(address, size);
  if (error != CudaError::kSuccess) return error;
  Connection* const connection = Process::Get().Current();
  device::StreamId id = 0;
  error = connection->Resolve(stream, &id);
  if (error == CudaError::kSuccess) error = connection->captures.ForbidOn(id);
  if (error != CudaError::kSuccess) return error;
  offload::ManagedMemory& managed = connection->managed;
  return to_device ? managed.Give(address, size, /*device_writes=*/true) : managed.Fetch(address, size);
}

CudaError DevicePointer(void* host, uint64_t* address) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  const auto own = reinterpret_cast<uint64_t>(host);
  PointerInfo info = Describe(own);
  if (info.kind == PointerInfo::Kind::kPinnedHost && !info.mapped) {
    error = AdoptHost(*connection, own);
    info = Describe(own);
  }
  if (error == CudaError::kNotSupported) {
    static std::once_flag told;
    std::call_once(told, [] {
      TellUser(fmt::format(
          "kernels cannot use registered host memory (cudaHostRegister) that is not whole pages of this process alone: "
          "align address and size to {}, or allocate it with cudaHostAlloc or cudaMallocManaged",
          offload::ManagedMemory::Page()));
    });
  }
  if (error != CudaError::kSuccess) return error;
  if (!info.mapped) return CudaError::kInvalidValue;
  *address = info.device_address;
  return CudaError::kSuccess;
}

void ShareHostPointers(Connection& connection, std::span<std::byte> parameters) {
  for (size_t at = 0; at + sizeof(uint64_t) <= parameters.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, &parameters[at], sizeof(word));
    if (!HostRanges::Get().MayBeOwned(word)) continue;
    // A word that is no pointer, or has no room on the device, stays what it is.
    (void)AdoptHost(connection, word);
    word = connection.managed.DeviceAddress(word);
    std::memcpy(&parameters[at], &word, sizeof(word));
  }
}

PointerInfo Describe(uint64_t address) {
  if (Connection* const connection = Process::Get().Current()) {
    if (const auto shared = connection->managed.Find(address)) {
      const bool host = shared->kind == Kind::kMappedHost || shared->kind == Kind::kRegisteredHost;
      return {host ? PointerInfo::Kind::kPinnedHost : PointerInfo::Kind::kManaged,
              shared->address,
              shared->size,
              shared->flags,
              true,
              connection->managed.DeviceAddress(address)};
    }
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
