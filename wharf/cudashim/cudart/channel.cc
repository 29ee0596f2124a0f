// Channel descriptors: plain values.
#include "wharf/cudashim/cudart/runtime.h"

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  cudaChannelFormatDesc description{};
  client::RunLocal(Call::k_cudaCreateChannelDesc, [&] {
    description = {x, y, z, w, kind};
    return CudaError::kSuccess;
  });
  return description;
}
