// Copies as the runtime API describes them, as boxes of bytes.
#pragma once

#include "wharf/cudashim/cudart/array.h"
#include "wharf/cudashim/graph/params.h"

namespace wharf::cudashim {

// Of plain memory and of arrays. Which side is on the host is left open.
CudaError DescribeCopy(const cudaMemcpy3DParms& given, cudagraph::CopyParams* copy);

// The part [offset, offset + count) of a module's variable.
CudaError SymbolRange(const void* symbol, size_t offset, size_t count, void** pointer);

}  // namespace wharf::cudashim
