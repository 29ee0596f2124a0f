// The driver API's device queries: one device, the server's.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "wharf/cudashim/client/device_info.h"
#include "wharf/cudashim/cuda/driver.h"
#include "wharf/device/texture.h"

namespace wharf::cudashim {
namespace {

void FillProperties(const device::DeviceProperties& from, CUdevprop* to) {
  *to = {};
  to->maxThreadsPerBlock = from.max_threads_per_block;
  for (size_t i = 0; i < 3; ++i) {
    to->maxThreadsDim[i] = static_cast<int>(from.max_block[i]);
    to->maxGridSize[i] = static_cast<int>(from.max_grid[i]);
  }
  to->sharedMemPerBlock = static_cast<int>(from.shared_per_block);
  to->totalConstantMemory = static_cast<int>(from.constant_memory);
  to->SIMDWidth = from.warp_size;
  to->memPitch = INT32_MAX;
  to->regsPerBlock = from.registers_per_block;
  to->clockRate = from.clock_khz;
  to->textureAlign = int{device::kTextureAlignment};
}

CudaError CopyText(char* to, int length, const char* from, CUdevice device) {
  if (to == nullptr || length <= 0) return CudaError::kInvalidValue;
  std::snprintf(to, static_cast<size_t>(length), "%s", from);
  return CheckDevice(device);
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

CUresult cuInit(unsigned flags) {
  return Driver(Call::k_cuInit, [&] { return flags == 0 ? CudaError::kSuccess : CudaError::kInvalidValue; });
}

CUresult cuDriverGetVersion(int* version) {
  return DriverLocal(Call::k_cuDriverGetVersion, [&] { return Store(version, CUDA_VERSION); });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return Driver(Call::k_cuDeviceGet, [&] { return ordinal != 0 ? CudaError::kInvalidDevice : Store(device, ordinal); });
}

CUresult cuDeviceGetCount(int* count) {
  return Driver(Call::k_cuDeviceGetCount, [&] { return Store(count, 1); });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return Driver(Call::k_cuDeviceGetName,
                [&] { return CopyText(name, length, client::Properties().name.c_str(), device); });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return Driver(Call::k_cuDeviceGetUuid_v2, [&] {
    if (uuid == nullptr) return CudaError::kInvalidValue;
    std::memcpy(uuid->bytes, client::Properties().uuid.data(), sizeof(uuid->bytes));
    return CheckDevice(device);
  });
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  return Driver(Call::k_cuDeviceTotalMem_v2, [&] {
    return device != 0 ? CudaError::kInvalidDevice : Store(bytes, client::Properties().total_memory);
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return Driver(Call::k_cuDeviceGetAttribute,
                [&] { return device != 0 ? CudaError::kInvalidDevice : client::DeviceAttribute(attribute, value); });
}

CUresult cuDeviceGetProperties(CUdevprop* properties, CUdevice device) {
  return Driver(Call::k_cuDeviceGetProperties, [&] {
    if (properties == nullptr) return CudaError::kInvalidValue;
    FillProperties(client::Properties(), properties);
    return CheckDevice(device);
  });
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  return Driver(Call::k_cuDeviceComputeCapability, [&] {
    const CudaError error = Store(major, client::Properties().compute_major);
    if (error != CudaError::kSuccess || device != 0) return error != CudaError::kSuccess ? error : CheckDevice(device);
    return Store(minor, client::Properties().compute_minor);
  });
}

CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
  return Driver(Call::k_cuDeviceGetPCIBusId, [&] { return CopyText(text, length, client::kPciBusId, device); });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* text) {
  return Driver(Call::k_cuDeviceGetByPCIBusId, [&] {
    return text == nullptr || std::strcmp(text, client::kPciBusId) != 0 ? CudaError::kInvalidValue : Store(device, 0);
  });
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return Driver(Call::k_cuDeviceCanAccessPeer,
                [&] { return device != 0 || peer != 0 ? CudaError::kInvalidDevice : Store(can, 0); });
}

CUresult cuDeviceGetP2PAttribute(int*, CUdevice_P2PAttribute, CUdevice, CUdevice) {
  return Driver(Call::k_cuDeviceGetP2PAttribute, [] { return CudaError::kInvalidDevice; });
}

CUresult cuGetErrorName(CUresult error, const char** name) {
  return DriverLocal(Call::k_cuGetErrorName, [&] {
    if (name == nullptr) return CudaError::kInvalidValue;
    *name = client::DriverErrorName(error);
    return *name == nullptr ? CudaError::kInvalidValue : CudaError::kSuccess;
  });
}

CUresult cuGetErrorString(CUresult error, const char** sentence) {
  return DriverLocal(Call::k_cuGetErrorString, [&] {
    if (sentence == nullptr) return CudaError::kInvalidValue;
    *sentence = client::DriverErrorName(error) == nullptr ? nullptr : client::ErrorSentence(error);
    return *sentence == nullptr ? CudaError::kInvalidValue : CudaError::kSuccess;
  });
}

CUresult cuProfilerStart(void) {
  return DriverLocal(Call::k_cuProfilerStart, [] { return CudaError::kSuccess; });
}

CUresult cuProfilerStop(void) {
  return DriverLocal(Call::k_cuProfilerStop, [] { return CudaError::kSuccess; });
}

}  // extern "C"
