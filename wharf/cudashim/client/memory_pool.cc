#include "wharf/cudashim/client/memory_pool.h"

#include <cuda.h>

#include <array>
#include <atomic>

#include "wharf/cudashim/client/memory.h"

namespace wharf::client {
namespace {

// Its address is the handle.
std::array<std::atomic<uint64_t>, CU_MEMPOOL_ATTR_USED_MEM_HIGH + 1> the_pool;

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

}  // namespace wharf::client
