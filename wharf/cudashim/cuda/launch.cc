// Launches of the driver API, and host functions in stream order.
#include "wharf/cudashim/client/launch_attribute.h"
#include "wharf/cudashim/client/module.h"
#include "wharf/cudashim/cuda/driver.h"

namespace wharf::cudashim {
namespace {

CudaError LaunchHandle(CUfunction handle, const client::LaunchShape& shape, CUstream stream, void** arguments,
                       void** extra) {
  client::Function* const function = client::ResolveFunction(handle);
  if (function == nullptr) return CudaError::kInvalidHandle;
  client::PackedParameters packed;
  if (arguments == nullptr && extra != nullptr) {
    const CudaError error = client::ReadExtra(extra, &packed);
    if (error != CudaError::kSuccess) return error;
  }
  return client::Launch(function, shape, Stream(stream), arguments, packed.data, packed.size);
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** arguments,
                        void** extra) {
  return Driver(Call::k_cuLaunchKernel, [&] {
    const client::LaunchShape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes};
    return LaunchHandle(function, shape, stream, arguments, extra);
  });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments, void** extra) {
  return Driver(Call::k_cuLaunchKernelEx, [&] {
    if (config == nullptr) return CudaError::kInvalidValue;
    client::LaunchShape shape{{config->gridDimX, config->gridDimY, config->gridDimZ},
                              {config->blockDimX, config->blockDimY, config->blockDimZ},
                              config->sharedMemBytes};
    for (unsigned i = 0; i < config->numAttrs; ++i) {
      const CUlaunchAttribute& attribute = config->attrs[i];
      const CudaError error = client::CheckLaunchAttribute(attribute.id, attribute.value);
      if (error != CudaError::kSuccess) return error;
      client::ApplyLaunchAttribute(attribute.id, attribute.value, &shape.cooperative);
    }
    return LaunchHandle(function, shape, config->hStream, arguments, extra);
  });
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                   CUstream stream, void** arguments) {
  return Driver(Call::k_cuLaunchCooperativeKernel, [&] {
    const client::LaunchShape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, true};
    return LaunchHandle(function, shape, stream, arguments, nullptr);
  });
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* user) {
  return Driver(Call::k_cuLaunchHostFunc, [&] { return client::LaunchHostFunction(Stream(stream), function, user); });
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* user, unsigned flags) {
  return Driver(Call::k_cuStreamAddCallback, [&] {
    if (flags != 0 || callback == nullptr) return CudaError::kInvalidValue;
    return client::AddStreamCallback(Stream(stream),
                                     [=](CudaError status) { callback(stream, ToResult(status), user); });
  });
}

}  // extern "C"
