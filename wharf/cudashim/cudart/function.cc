// Kernels: attributes, occupancy, handles.
#include <vector>

#include "wharf/cudashim/client/module.h"
#include "wharf/cudashim/cudart/runtime.h"

namespace wharf::cudashim {
namespace {

// Runs `body(function)` for the kernel a host function or kernel handle stands for.
template <typename Body>
CudaError WithFunction(const void* handle, Body&& body) {
  client::Function* const function = client::ResolveFunction(handle);
  return function == nullptr ? NoFunction(handle) : body(function);
}

CudaError GetAttributes(client::Function* function, cudaFuncAttributes* to) {
  device::FunctionAttributes from;
  if (to == nullptr) return CudaError::kInvalidValue;
  const CudaError error = client::FunctionAttributes(function, &from);
  if (error != CudaError::kSuccess) return error;
  *to = {};
  to->sharedSizeBytes = from.static_shared_bytes;
  to->constSizeBytes = from.const_bytes;
  to->localSizeBytes = from.local_bytes;
  to->maxThreadsPerBlock = static_cast<int>(from.max_threads_per_block);
  to->numRegs = static_cast<int>(from.registers);
  to->ptxVersion = from.ptx_version;
  to->binaryVersion = from.binary_version;
  to->maxDynamicSharedSizeBytes = static_cast<int>(from.max_dynamic_shared_bytes);
  to->preferredShmemCarveout = -1;
  return CudaError::kSuccess;
}

CudaError SetAttribute(client::Function* function, cudaFuncAttribute attribute, int value) {
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      if (value < 0) return CudaError::kInvalidValue;
      return client::SetMaxDynamicShared(function, static_cast<uint32_t>(value));
    case cudaFuncAttributePreferredSharedMemoryCarveout:  // a hint
      return value < -1 || value > 100 ? CudaError::kInvalidValue : CudaError::kSuccess;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
    case cudaFuncAttributeClusterSchedulingPolicyPreference:
      return CudaError::kSuccess;
    default:
      return CudaError::kInvalidValue;
  }
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* handle) {
  return Runtime(Call::k_cudaFuncGetAttributes, [&] {
    return WithFunction(handle, [&](client::Function* function) { return GetAttributes(function, attributes); });
  });
}

cudaError_t cudaFuncSetAttribute(const void* handle, cudaFuncAttribute attribute, int value) {
  return Runtime(Call::k_cudaFuncSetAttribute, [&] {
    return WithFunction(handle, [&](client::Function* function) { return SetAttribute(function, attribute, value); });
  });
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value, int device) {
  return Runtime(Call::k_cudaKernelSetAttributeForDevice, [&] {
    if (device != 0) return CudaError::kInvalidDevice;
    return WithFunction(kernel, [&](client::Function* function) { return SetAttribute(function, attribute, value); });
  });
}

// Preferences of the hardware's caches: accepted, without effect.
cudaError_t cudaFuncSetCacheConfig(const void* handle, cudaFuncCache) {
  return Runtime(Call::k_cudaFuncSetCacheConfig,
                 [&] { return WithFunction(handle, [](client::Function*) { return CudaError::kSuccess; }); });
}

cudaError_t cudaFuncSetSharedMemConfig(const void* handle, cudaSharedMemConfig) {
  return Runtime(Call::k_cudaFuncSetSharedMemConfig,
                 [&] { return WithFunction(handle, [](client::Function*) { return CudaError::kSuccess; }); });
}

cudaError_t cudaFuncGetName(const char** name, const void* handle) {
  return Runtime(Call::k_cudaFuncGetName, [&] {
    if (name == nullptr) return CudaError::kInvalidValue;
    return WithFunction(handle, [&](client::Function* function) {
      *name = client::FunctionName(function);
      return CudaError::kSuccess;
    });
  });
}

cudaError_t cudaFuncGetParamInfo(const void* handle, size_t index, size_t* offset, size_t* size) {
  return Runtime(Call::k_cudaFuncGetParamInfo, [&] {
    return WithFunction(handle, [&](client::Function* function) {
      std::vector<device::ParameterLayout> layout;
      const CudaError error = client::ParameterLayout(function, &layout);
      if (error != CudaError::kSuccess) return error;
      if (index >= layout.size() || offset == nullptr) return CudaError::kInvalidValue;
      *offset = layout[index].offset;
      if (size != nullptr) *size = layout[index].size;
      return CudaError::kSuccess;
    });
  });
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  return Runtime(Call::k_cudaGetFuncBySymbol, [&] {
    return WithFunction(symbol, [&](client::Function* found) {
      if (function == nullptr) return CudaError::kInvalidValue;
      *function = reinterpret_cast<cudaFunction_t>(found);
      return CudaError::kSuccess;
    });
  });
}

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* symbol) {
  return Runtime(Call::k_cudaGetKernel, [&] {
    return WithFunction(symbol, [&](client::Function* found) {
      if (kernel == nullptr) return CudaError::kInvalidValue;
      *kernel = reinterpret_cast<cudaKernel_t>(found);
      return CudaError::kSuccess;
    });
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* handle, int block_threads,
                                                          size_t dynamic_shared) {
  return Runtime(Call::k_cudaOccupancyMaxActiveBlocksPerMultiprocessor, [&] {
    return WithFunction(handle, [&](client::Function* function) {
      return client::Occupancy(function, block_threads, dynamic_shared, blocks);
    });
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* handle, int block_threads,
                                                                   size_t dynamic_shared, unsigned) {
  return Runtime(Call::k_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, [&] {
    return WithFunction(handle, [&](client::Function* function) {
      return client::Occupancy(function, block_threads, dynamic_shared, blocks);
    });
  });
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* handle, int blocks,
                                                      int block_threads) {
  return Runtime(Call::k_cudaOccupancyAvailableDynamicSMemPerBlock, [&] {
    return WithFunction(handle, [&](client::Function* function) {
      return client::AvailableShared(function, blocks, block_threads, bytes);
    });
  });
}

}  // extern "C"
