#include "wharf/cudashim/client/device_info.h"

#include <cuda.h>

#include <algorithm>
#include <iterator>

#include "wharf/cudashim/client/process.h"
#include "wharf/cudashim/client/stream_work.h"
#include "wharf/device/texture.h"

namespace wharf::client {
namespace {

int Clamp(uint64_t value) { return static_cast<int>(std::min<uint64_t>(value, INT32_MAX)); }

// Limits that come from the welcome. False if `attribute` is none of them.
bool FromProperties(const device::DeviceProperties& p, CUdevice_attribute attribute, int* value) {
  switch (attribute) {
#define WHARF_ATTRIBUTE(name, expression) \
  case CU_DEVICE_ATTRIBUTE_##name:        \
    *value = expression;                  \
    return true
    WHARF_ATTRIBUTE(MAX_THREADS_PER_BLOCK, p.max_threads_per_block);
    WHARF_ATTRIBUTE(MAX_BLOCK_DIM_X, Clamp(p.max_block[0]));
    WHARF_ATTRIBUTE(MAX_BLOCK_DIM_Y, Clamp(p.max_block[1]));
    WHARF_ATTRIBUTE(MAX_BLOCK_DIM_Z, Clamp(p.max_block[2]));
    WHARF_ATTRIBUTE(MAX_GRID_DIM_X, Clamp(p.max_grid[0]));
    WHARF_ATTRIBUTE(MAX_GRID_DIM_Y, Clamp(p.max_grid[1]));
    WHARF_ATTRIBUTE(MAX_GRID_DIM_Z, Clamp(p.max_grid[2]));
    WHARF_ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK, Clamp(p.shared_per_block));
    WHARF_ATTRIBUTE(TOTAL_CONSTANT_MEMORY, Clamp(p.constant_memory));
    WHARF_ATTRIBUTE(WARP_SIZE, p.warp_size);
    WHARF_ATTRIBUTE(MAX_REGISTERS_PER_BLOCK, p.registers_per_block);
    WHARF_ATTRIBUTE(CLOCK_RATE, p.clock_khz);
    WHARF_ATTRIBUTE(MULTIPROCESSOR_COUNT, p.multiprocessors);
    WHARF_ATTRIBUTE(MEMORY_CLOCK_RATE, p.memory_clock_khz);
    WHARF_ATTRIBUTE(GLOBAL_MEMORY_BUS_WIDTH, p.memory_bus_bits);
    WHARF_ATTRIBUTE(L2_CACHE_SIZE, p.l2_bytes);
    WHARF_ATTRIBUTE(MAX_THREADS_PER_MULTIPROCESSOR, p.max_threads_per_multiprocessor);
    WHARF_ATTRIBUTE(COMPUTE_CAPABILITY_MAJOR, p.compute_major);
    WHARF_ATTRIBUTE(COMPUTE_CAPABILITY_MINOR, p.compute_minor);
    WHARF_ATTRIBUTE(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, Clamp(p.shared_per_multiprocessor));
    WHARF_ATTRIBUTE(MAX_REGISTERS_PER_MULTIPROCESSOR, p.registers_per_multiprocessor);
    WHARF_ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, Clamp(p.shared_per_block_optin));
    WHARF_ATTRIBUTE(MAX_BLOCKS_PER_MULTIPROCESSOR, p.max_blocks_per_multiprocessor);
#undef WHARF_ATTRIBUTE
    default:
      return false;
  }
}

// What this remoting offers, whatever the device. Everything not named is a feature that is not there: 0.
int Fixed(CUdevice_attribute attribute) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
      return INT32_MAX;
    case CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO:
      return 32;
    case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:  // as cudaDeviceGetPCIBusId has it
      return 1;
    case CU_DEVICE_ATTRIBUTE_NUMA_ID:
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID:
      return -1;
    default:
      return 0;
  }
}

// Of textures and surfaces. No volume is larger one way for being smaller another, so the alternate limits are the
// limits.
bool FromImageLimits(CUdevice_attribute attribute, int* value) {
  using L = device::ImageLimits;
  switch (attribute) {
#define WHARF_LIMIT(name, limit)      \
  case CU_DEVICE_ATTRIBUTE_##name:    \
    *value = static_cast<int>(limit); \
    return true
    WHARF_LIMIT(TEXTURE_ALIGNMENT, device::kTextureAlignment);
    WHARF_LIMIT(SURFACE_ALIGNMENT, device::kTextureAlignment);
    WHARF_LIMIT(TEXTURE_PITCH_ALIGNMENT, device::kTexturePitchAlignment);
    WHARF_LIMIT(MAXIMUM_TEXTURE1D_WIDTH, L::kWidth);
    WHARF_LIMIT(MAXIMUM_TEXTURE1D_LINEAR_WIDTH, L::kLinear);
    WHARF_LIMIT(MAXIMUM_TEXTURE1D_LAYERED_WIDTH, L::kLayered);
    WHARF_LIMIT(MAXIMUM_TEXTURE1D_LAYERED_LAYERS, L::kLayers);
    WHARF_LIMIT(MAXIMUM_TEXTURE2D_WIDTH, L::kWidth);
    WHARF_LIMIT(MAXIMUM_TEXTURE2D_HEIGHT, L::kHeight);
    WHARF_LIMIT(MAXIMUM_TEXTURE2D_LINEAR_WIDTH, L::kPitchedWidth);
    WHARF_LIMIT(MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, L::kPitchedHeight);
    WHARF_LIMIT(MAXIMUM_TEXTURE2D_LINEAR_PITCH, L::kPitch);
    WHARF_LIMIT(MAXIMUM_TEXTURE2D_GATHER_WIDTH, L::kGather);
    WHARF_LIMIT(MAXIMUM_TEXTURE2D_GATHER_HEIGHT, L::kGather);
    WHARF_LIMIT(MAXIMUM_TEXTURE2D_LAYERED_WIDTH, L::kLayered);
    WHARF_LIMIT(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, L::kLayered);
    WHARF_LIMIT(MAXIMUM_TEXTURE2D_LAYERED_LAYERS, L::kLayers);
    WHARF_LIMIT(MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH, L::kMipmapped);
    WHARF_LIMIT(MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH, L::kMipmapped);
    WHARF_LIMIT(MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT, L::kMipmapped);
    WHARF_LIMIT(MAXIMUM_TEXTURE3D_WIDTH, L::kVolume);
    WHARF_LIMIT(MAXIMUM_TEXTURE3D_HEIGHT, L::kVolume);
    WHARF_LIMIT(MAXIMUM_TEXTURE3D_DEPTH, L::kVolume);
    WHARF_LIMIT(MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE, L::kVolume);
    WHARF_LIMIT(MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE, L::kVolume);
    WHARF_LIMIT(MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE, L::kVolume);
    WHARF_LIMIT(MAXIMUM_TEXTURECUBEMAP_WIDTH, L::kLayered);
    WHARF_LIMIT(MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH, L::kLayered);
    WHARF_LIMIT(MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS, L::kFaces);
    WHARF_LIMIT(MAXIMUM_SURFACE1D_WIDTH, L::kWidth);
    WHARF_LIMIT(MAXIMUM_SURFACE1D_LAYERED_WIDTH, L::kLayered);
    WHARF_LIMIT(MAXIMUM_SURFACE1D_LAYERED_LAYERS, L::kLayers);
    WHARF_LIMIT(MAXIMUM_SURFACE2D_WIDTH, L::kWidth);
    WHARF_LIMIT(MAXIMUM_SURFACE2D_HEIGHT, L::kHeight);
    WHARF_LIMIT(MAXIMUM_SURFACE2D_LAYERED_WIDTH, L::kLayered);
    WHARF_LIMIT(MAXIMUM_SURFACE2D_LAYERED_HEIGHT, L::kLayered);
    WHARF_LIMIT(MAXIMUM_SURFACE2D_LAYERED_LAYERS, L::kLayers);
    WHARF_LIMIT(MAXIMUM_SURFACE3D_WIDTH, L::kVolume);
    WHARF_LIMIT(MAXIMUM_SURFACE3D_HEIGHT, L::kVolume);
    WHARF_LIMIT(MAXIMUM_SURFACE3D_DEPTH, L::kVolume);
    WHARF_LIMIT(MAXIMUM_SURFACECUBEMAP_WIDTH, L::kLayered);
    WHARF_LIMIT(MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH, L::kLayered);
    WHARF_LIMIT(MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS, L::kFaces);
#undef WHARF_LIMIT
    default:
      return false;
  }
}

}  // namespace

const device::DeviceProperties& Properties() { return Process::Get().Current()->session->welcome().properties; }

CudaError DeviceAttribute(int attribute, int* value) {
  if (value == nullptr || attribute < 1 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) return CudaError::kInvalidValue;
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  const auto name = static_cast<CUdevice_attribute>(attribute);
  const bool known =
      FromProperties(connection->session->welcome().properties, name, value) || FromImageLimits(name, value);
  if (!known) *value = Fixed(name);
  return CudaError::kSuccess;
}

CudaError GemmOn(Connection& connection, const offload::RunGemm& op) {
  const CudaError error = connection.managed.Give();
  return error == CudaError::kSuccess ? connection.session->Post(op) : error;
}

CudaError RunGemm(StreamHandle stream, const device::Gemm& gemm) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  offload::RunGemm op;
  error = connection->Resolve(stream, &op.stream);
  if (error != CudaError::kSuccess) return error;
  op.gemm = gemm;
  bool captured = false;
  error = connection->captures.Enter(op.stream, &captured);
  if (error != CudaError::kSuccess) return error;
  return captured ? connection->captures.Add(op.stream, cudagraph::GemmParams{gemm}) : GemmOn(*connection, op);
}

}  // namespace wharf::client
