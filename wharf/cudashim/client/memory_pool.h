// Memory pools, as far as frameworks need them: there is one pool, the session's arena; attributes are kept, not
// obeyed.
#pragma once

#include "wharf/cudashim/client/call.h"

namespace wharf::client {

// The pool's handle in both APIs.
WHARF_CLIENT_API void* DefaultPool();
WHARF_CLIENT_API CudaError CheckPool(const void* pool);
// `attribute` is a cudaMemPoolAttr / CUmemPool_attribute (they share numbers): flags are ints, sizes 64-bit.
WHARF_CLIENT_API CudaError SetPoolAttribute(const void* pool, int attribute, const void* value);
WHARF_CLIENT_API CudaError GetPoolAttribute(const void* pool, int attribute, void* value);

}  // namespace wharf::client
