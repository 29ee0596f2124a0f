// The kernels of kernels.cu, as the library launches them.
#pragma once

#include "wharf/cudashim/client/memory.h"
#include "wharf/cudashim/curand/generator.h"

namespace wharf::cudashim {

// On the generator's stream. `arguments`: one pointer to each.
CudaError LaunchRandom(const curandGenerator_st& generator, const char* kernel, uint64_t threads,
                       void* const* arguments);

inline client::StreamHandle StreamOf(const curandGenerator_st& generator) {
  return reinterpret_cast<client::StreamHandle>(generator.stream);
}

}  // namespace wharf::cudashim
