#include "wharf/cudashim/client/memory_pool.h"

#include <cuda.h>

#include <array>
#include <atomic>

#include "wharf/cudashim/client/memory.h"
#include "wharf/cudashim/client/process.h"

namespace wharf::client {
namespace {

// Its address is the handle.
std::array<std::atomic<uint64_t>, CU_MEMPOOL_ATTR_USED_MEM_HIGH + 1> the_pool;

// The most of graphs' memory so far, used and reserved.
std::array<std::atomic<uint64_t>, 2> graph_memory_most;
static_assert(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT == 0 && CU_GRAPH_MEM_ATTR_USED_MEM_HIGH == 1 &&
              CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT == 2 && CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH == 3);
bool IsMost(int attribute) { return (attribute & 1) != 0; }

uint64_t GraphMemoryNow(Connection& connection) {
  absl::MutexLock lock(&connection.mutex);
  uint64_t bytes = 0;
  for (const auto& [address, memory] : connection.graph_memory) {
    if (const auto range = connection.allocator.Find(address)) bytes += range->size;
  }
  return bytes;
}

bool IsFlag(int attribute) { return attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES; }

bool IsValid(const void* pool, int attribute, const void* value) {
  return pool == &the_pool && value != nullptr && attribute >= 1 && attribute < static_cast<int>(the_pool.size());
}

}  // namespace

void* DefaultPool() { return &the_pool; }

CudaError CheckPool(const void* pool) { return pool == &the_pool ? CudaError::kSuccess : CudaError::kInvalidValue; }

CudaError SetPoolAttribute(const void* pool, int attribute, const void* value) {
  if (!IsValid(pool, attribute, value)) return CudaError::kInvalidValue;
  the_pool[static_cast<size_t>(attribute)] =
      IsFlag(attribute) ? static_cast<uint64_t>(*static_cast<const int*>(value)) : *static_cast<const uint64_t*>(value);
  return CudaError::kSuccess;
}

CudaError GetPoolAttribute(const void* pool, int attribute, void* value) {
  if (!IsValid(pool, attribute, value)) return CudaError::kInvalidValue;
  const uint64_t kept = the_pool[static_cast<size_t>(attribute)];
  if (IsFlag(attribute)) {
    *static_cast<int*>(value) = static_cast<int>(kept);
    return CudaError::kSuccess;
  }
  uint64_t bytes = kept;
  if (attribute != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
    size_t free_bytes = 0, total = 0;
    const CudaError error = MemoryInfo(&free_bytes, &total);
    if (error != CudaError::kSuccess) return error;
    bytes = total - free_bytes;
  }
  *static_cast<uint64_t*>(value) = bytes;
  return CudaError::kSuccess;
}

void NoteGraphMemory(Connection& connection) {
  const uint64_t now = GraphMemoryNow(connection);
  for (std::atomic<uint64_t>& most : graph_memory_most) {
    uint64_t before = most;
    while (before < now && !most.compare_exchange_weak(before, now)) {
    }
  }
}

CudaError SetGraphMemoryAttribute(int device, int attribute, const void* value) {
  if (device != 0) return CudaError::kInvalidDevice;
  const bool known = attribute >= 0 && attribute <= CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH && IsMost(attribute);
  if (!known || value == nullptr || *static_cast<const uint64_t*>(value) != 0) return CudaError::kInvalidValue;
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  graph_memory_most[static_cast<size_t>(attribute / 2)] = GraphMemoryNow(*connection);
  return CudaError::kSuccess;
}

CudaError GetGraphMemoryAttribute(int device, int attribute, void* value) {
  if (device != 0) return CudaError::kInvalidDevice;
  if (value == nullptr || attribute < 0 || attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) {
    return CudaError::kInvalidValue;
  }
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  *static_cast<uint64_t*>(value) =
      IsMost(attribute) ? graph_memory_most[static_cast<size_t>(attribute / 2)].load() : GraphMemoryNow(*connection);
  return CudaError::kSuccess;
}

}  // namespace wharf::client
