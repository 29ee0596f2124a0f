// Memory pools, as far as frameworks need them: there is one pool, the session's arena; attributes are kept, not
// obeyed.
#pragma once

#include "wharf/cudashim/client/call.h"

namespace wharf::client {

// The pool's handle in both APIs.
WHARF_CLIENT_API void* DefaultPool();
WHARF_CLIENT_API CudaError CheckPool(const void* pool);
inline CudaError CheckPoolOf(int device, const void* pool) {
  return device != 0 ? CudaError::kInvalidDevice : CheckPool(pool);
}
// Handle: the API's type of it.
template <typename Handle>
CudaError StorePool(Handle* handle) {
  if (handle == nullptr) return CudaError::kInvalidValue;
  *handle = static_cast<Handle>(DefaultPool());
  return CudaError::kSuccess;
}
template <typename Handle>
CudaError StorePoolOf(int device, Handle* handle) {
  return device != 0 ? CudaError::kInvalidDevice : StorePool(handle);
}
// Every device may do everything with the pool: `all`.
template <typename Access>
CudaError StorePoolAccess(const void* pool, Access all, Access* access) {
  if (access == nullptr) return CudaError::kInvalidValue;
  *access = all;
  return CheckPool(pool);
}
// `attribute` is a cudaMemPoolAttr / CUmemPool_attribute (they share numbers): flags are ints, sizes 64-bit.
WHARF_CLIENT_API CudaError SetPoolAttribute(const void* pool, int attribute, const void* value);
WHARF_CLIENT_API CudaError GetPoolAttribute(const void* pool, int attribute, void* value);

// Memory of graphs' own, by cudaGraphMemAttributeType: it is there from the making of a node on, so what is reserved is
// what is used. Only the most so far can be set, to zero, which begins it anew.
WHARF_CLIENT_API CudaError SetGraphMemoryAttribute(int device, int attribute, const void* value);
WHARF_CLIENT_API CudaError GetGraphMemoryAttribute(int device, int attribute, void* value);
// There is nothing to give back.
inline CudaError TrimGraphMemory(int device) { return device != 0 ? CudaError::kInvalidDevice : CudaError::kSuccess; }
// There is more of it now. Takes the connection's lock.
struct Connection;
void NoteGraphMemory(Connection& connection);

}  // namespace wharf::client
