// Kernels of the driver API: attributes and occupancy. CUfunction and CUkernel are the same handle here.
#include <algorithm>
#include <vector>

#include "wharf/cudashim/client/device_info.h"
#include "wharf/cudashim/client/module.h"
#include "wharf/cudashim/cuda/driver.h"

namespace wharf::cudashim {
namespace {

template <typename Handle, typename Body>
CudaError WithFunction(Handle handle, Body&& body) {
  client::Function* const function = client::ResolveFunction(reinterpret_cast<const void*>(handle));
  return function == nullptr ? CudaError::kInvalidHandle : body(function);
}

CudaError GetAttribute(client::Function* function, CUfunction_attribute attribute, int* value) {
  device::FunctionAttributes from;
  const CudaError error = client::FunctionAttributes(function, &from);
  if (error != CudaError::kSuccess) return error;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return Store(value, from.max_threads_per_block);
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return Store(value, from.static_shared_bytes);
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      return Store(value, from.const_bytes);
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return Store(value, from.local_bytes);
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return Store(value, from.registers);
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      return Store(value, from.ptx_version);
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return Store(value, from.binary_version);
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return Store(value, from.max_dynamic_shared_bytes);
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return Store(value, -1);
    default:
      return attribute < CU_FUNC_ATTRIBUTE_MAX ? Store(value, 0) : CudaError::kInvalidValue;
  }
}

CudaError SetAttribute(client::Function* function, CUfunction_attribute attribute, int value) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (value < 0) return CudaError::kInvalidValue;
      return client::SetMaxDynamicShared(function, static_cast<uint32_t>(value));
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return CudaError::kSuccess;
    default:
      return CudaError::kInvalidValue;
  }
}

CudaError ParameterInfo(client::Function* function, size_t index, size_t* offset, size_t* size) {
  std::vector<device::ParameterLayout> layout;
  const CudaError error = client::ParameterLayout(function, &layout);
  if (error != CudaError::kSuccess) return error;
  if (index >= layout.size()) return CudaError::kInvalidValue;
  if (size != nullptr) *size = layout[index].size;
  return Store(offset, layout[index].offset);
}

// The block size that keeps most threads of a multiprocessor busy, and the grid that fills the device with it.
CudaError PotentialBlockSize(client::Function* function, CUoccupancyB2DSize shared_of, size_t shared, int limit,
                             int* grid, int* block) {
  if (grid == nullptr || block == nullptr) return CudaError::kInvalidValue;
  device::FunctionAttributes attributes;
  CudaError error = client::FunctionAttributes(function, &attributes);
  if (error != CudaError::kSuccess) return error;
  const device::DeviceProperties& device = client::Properties();
  int most = std::min(static_cast<int>(attributes.max_threads_per_block), device.max_threads_per_block);
  if (limit > 0) most = std::min(most, limit);
  int best_threads = 0;
  *grid = *block = 0;
  for (int size = most / 32 * 32; size > 0; size -= 32) {
    int blocks = 0;
    error = client::Occupancy(function, size, shared_of != nullptr ? shared_of(size) : shared, &blocks);
    if (error != CudaError::kSuccess) return error;
    if (blocks * size <= best_threads) continue;
    best_threads = blocks * size;
    *block = size;
    *grid = blocks * device.multiprocessors;
  }
  return CudaError::kSuccess;
}

CudaError Exists(client::Function*) { return CudaError::kSuccess; }

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
  return Driver(Call::k_cuFuncGetAttribute, [&] {
    return WithFunction(handle, [&](client::Function* f) { return GetAttribute(f, attribute, value); });
  });
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel handle, CUdevice) {
  return Driver(Call::k_cuKernelGetAttribute, [&] {
    return WithFunction(handle, [&](client::Function* f) { return GetAttribute(f, attribute, value); });
  });
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  return Driver(Call::k_cuFuncSetAttribute, [&] {
    return WithFunction(handle, [&](client::Function* f) { return SetAttribute(f, attribute, value); });
  });
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice) {
  return Driver(Call::k_cuKernelSetAttribute, [&] {
    return WithFunction(handle, [&](client::Function* f) { return SetAttribute(f, attribute, value); });
  });
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* size) {
  return Driver(Call::k_cuFuncGetParamInfo, [&] {
    return WithFunction(handle, [&](client::Function* f) { return ParameterInfo(f, index, offset, size); });
  });
}

CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t* offset, size_t* size) {
  return Driver(Call::k_cuKernelGetParamInfo, [&] {
    return WithFunction(handle, [&](client::Function* f) { return ParameterInfo(f, index, offset, size); });
  });
}

CUresult cuFuncGetName(const char** name, CUfunction handle) {
  return Driver(Call::k_cuFuncGetName, [&] {
    return WithFunction(handle, [&](client::Function* f) { return Store(name, client::FunctionName(f)); });
  });
}

CUresult cuKernelGetName(const char** name, CUkernel handle) {
  return Driver(Call::k_cuKernelGetName, [&] {
    return WithFunction(handle, [&](client::Function* f) { return Store(name, client::FunctionName(f)); });
  });
}

CUresult cuFuncGetModule(CUmodule* module, CUfunction handle) {
  return Driver(Call::k_cuFuncGetModule, [&] {
    return WithFunction(handle, [&](client::Function* f) {
      return Store(module, reinterpret_cast<CUmodule>(client::FunctionModule(f)));
    });
  });
}

CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel handle) {
  return Driver(Call::k_cuKernelGetLibrary, [&] {
    return WithFunction(handle, [&](client::Function* f) {
      return Store(library, reinterpret_cast<CUlibrary>(client::FunctionModule(f)));
    });
  });
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel handle) {
  return Driver(Call::k_cuKernelGetFunction, [&] {
    return WithFunction(handle, [&](client::Function* f) { return Store(function, reinterpret_cast<CUfunction>(f)); });
  });
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache) {
  return Driver(Call::k_cuFuncSetCacheConfig, [&] { return WithFunction(handle, Exists); });
}

CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache, CUdevice) {
  return Driver(Call::k_cuKernelSetCacheConfig, [&] { return WithFunction(handle, Exists); });
}

CUresult cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig) {
  return Driver(Call::k_cuFuncSetSharedMemConfig, [&] { return WithFunction(handle, Exists); });
}

CUresult cuFuncLoad(CUfunction handle) {
  return Driver(Call::k_cuFuncLoad, [&] { return WithFunction(handle, Exists); });
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction handle) {
  return Driver(Call::k_cuFuncIsLoaded, [&] {
    return WithFunction(handle, [&](client::Function*) { return Store(state, CU_FUNCTION_LOADING_STATE_LOADED); });
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int block_threads, size_t shared) {
  return Driver(Call::k_cuOccupancyMaxActiveBlocksPerMultiprocessor, [&] {
    return WithFunction(handle,
                        [&](client::Function* f) { return client::Occupancy(f, block_threads, shared, blocks); });
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction handle, int block_threads,
                                                              size_t shared, unsigned) {
  return Driver(Call::k_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, [&] {
    return WithFunction(handle,
                        [&](client::Function* f) { return client::Occupancy(f, block_threads, shared, blocks); });
  });
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction handle, CUoccupancyB2DSize shared_of,
                                          size_t shared, int limit) {
  return Driver(Call::k_cuOccupancyMaxPotentialBlockSize, [&] {
    return WithFunction(
        handle, [&](client::Function* f) { return PotentialBlockSize(f, shared_of, shared, limit, grid, block); });
  });
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction handle,
                                                   CUoccupancyB2DSize shared_of, size_t shared, int limit, unsigned) {
  return Driver(Call::k_cuOccupancyMaxPotentialBlockSizeWithFlags, [&] {
    return WithFunction(
        handle, [&](client::Function* f) { return PotentialBlockSize(f, shared_of, shared, limit, grid, block); });
  });
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction handle, int blocks, int block_threads) {
  return Driver(Call::k_cuOccupancyAvailableDynamicSMemPerBlock, [&] {
    return WithFunction(handle,
                        [&](client::Function* f) { return client::AvailableShared(f, blocks, block_threads, bytes); });
  });
}

}  // extern "C"
