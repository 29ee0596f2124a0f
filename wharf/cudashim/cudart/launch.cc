// Every way to launch a kernel, and host functions in stream order.
#include "wharf/cudashim/client/launch_attribute.h"
#include "wharf/cudashim/client/module.h"
#include "wharf/cudashim/cudart/runtime.h"

namespace wharf::cudashim {
namespace {

CudaError LaunchHandle(const void* handle, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                       cudaStream_t stream, bool cooperative = false) {
  client::Function* const function = client::ResolveFunction(handle);
  if (function == nullptr) return NoFunction(handle);
  const client::LaunchShape shape{Shape(grid), Shape(block), shared_bytes, cooperative};
  // A kernel without parameters may be launched without an array.
  void* none = nullptr;
  const CudaError error =
      client::Launch(function, shape, Stream(stream), arguments != nullptr ? arguments : &none, nullptr, 0);
  // CUDA 12's runtime tells shapes from other invalid values, though not in graphs; CUDA 13's does not.
  const bool tells_shapes = kRuntimeVersion < 13000;
  if (tells_shapes && error == CudaError::kInvalidValue && !client::IsLaunchable(shape)) {
    return CudaError::kInvalidConfiguration;
  }
  return error;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

WHARF_CLIENT_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                                size_t shared_bytes, cudaStream_t stream) {
  return Runtime(Call::k___cudaLaunchKernel,
                 [&] { return LaunchHandle(kernel, grid, block, arguments, shared_bytes, stream); });
}

WHARF_CLIENT_API cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                                     size_t shared_bytes, cudaStream_t stream) {
  const client::PerThreadDefaultStream scope;
  return Runtime(Call::k___cudaLaunchKernel_ptsz,
                 [&] { return LaunchHandle(kernel, grid, block, arguments, shared_bytes, stream); });
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                             cudaStream_t stream) {
  return Runtime(Call::k_cudaLaunchKernel,
                 [&] { return LaunchHandle(function, grid, block, arguments, shared_bytes, stream); });
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  return Runtime(Call::k_cudaLaunchKernelExC, [&] {
    if (config == nullptr) return CudaError::kInvalidValue;
    bool cooperative = false;
    for (unsigned i = 0; i < config->numAttrs; ++i) {
      const cudaLaunchAttribute& attribute = config->attrs[i];
      const CudaError error = client::CheckLaunchAttribute(attribute.id, attribute.val);
      if (error != CudaError::kSuccess) return error;
      client::ApplyLaunchAttribute(attribute.id, attribute.val, &cooperative);
    }
    return LaunchHandle(function, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes,
                        config->stream, cooperative);
  });
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                        size_t shared_bytes, cudaStream_t stream) {
  return Runtime(Call::k_cudaLaunchCooperativeKernel, [&] {
    return LaunchHandle(function, grid, block, arguments, shared_bytes, stream, /*cooperative=*/true);
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* user) {
  return Runtime(Call::k_cudaLaunchHostFunc,
                 [&] { return client::LaunchHostFunction(Stream(stream), function, user); });
}

}  // extern "C"
