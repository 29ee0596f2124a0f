// Copies as the driver API describes them, as boxes of bytes.
#pragma once

#include "wharf/cudashim/cuda/driver.h"
#include "wharf/cudashim/graph/params.h"

namespace wharf::cudashim {

// Of plain memory and of arrays. Which side is on the host is left open.
CudaError DescribeCopy(const CUDA_MEMCPY3D& given, cudagraph::CopyParams* copy);

}  // namespace wharf::cudashim
