// Device management: one device, the server's.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "wharf/cudashim/client/device_info.h"
#include "wharf/cudashim/cudart/device_properties.h"
#include "wharf/cudashim/cudart/runtime.h"

namespace wharf::cudashim {
namespace {

std::atomic<unsigned> device_flags{cudaDeviceScheduleAuto};
std::atomic<int> cache_config{cudaFuncCachePreferNone};
// Limits the program may set and read back; the device keeps its own.
std::array<std::atomic<size_t>, 7> limits{1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};

CudaError CheckDevice(int device) { return device == 0 ? CudaError::kSuccess : CudaError::kInvalidDevice; }

template <typename T>
CudaError Store(T* place, T value) {
  if (place == nullptr) return CudaError::kInvalidValue;
  *place = value;
  return CudaError::kSuccess;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return Runtime(Call::k_cudaGetDeviceCount, [&] { return Store(count, 1); });
}

cudaError_t cudaGetDevice(int* device) {
  return Runtime(Call::k_cudaGetDevice, [&] { return Store(device, 0); });
}

cudaError_t cudaSetDevice(int device) {
  return Runtime(Call::k_cudaSetDevice, [&] { return CheckDevice(device); });
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  return Runtime(Call::k_cudaInitDevice, [&] { return CheckDevice(device); });
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) {
  return Runtime(Call::k_cudaChooseDevice, [&] { return Store(device, 0); });
}

cudaError_t cudaSetValidDevices(int* devices, int count) {
  return RuntimeLocal(Call::k_cudaSetValidDevices, [&] {
    if (count < 0 || (count > 0 && devices == nullptr)) return CudaError::kInvalidValue;
    return std::all_of(devices, devices + count, [](int device) { return device == 0; }) ? CudaError::kSuccess
                                                                                         : CudaError::kInvalidDevice;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return Runtime(Call::k_cudaGetDeviceProperties, [&] {
    if (properties == nullptr) return CudaError::kInvalidValue;
    if (device != 0) return CudaError::kInvalidDevice;
    FillCommonProperties(client::Properties(), properties);
    properties->deviceNumaId = properties->hostNumaId = -1;
    return CudaError::kSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return Runtime(Call::k_cudaDeviceGetAttribute,
                 [&] { return device != 0 ? CudaError::kInvalidDevice : client::DeviceAttribute(attribute, value); });
}

cudaError_t cudaDeviceSynchronize(void) {
  return Runtime(Call::k_cudaDeviceSynchronize, [] { return client::SynchronizeDevice(); });
}

cudaError_t cudaDeviceReset(void) {
  return static_cast<cudaError_t>(client::RunLocal(Call::k_cudaDeviceReset, [] { return client::ResetDevice(); }));
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return RuntimeLocal(Call::k_cudaDeviceGetLimit, [&] {
    return limit >= limits.size() ? CudaError::kInvalidValue : Store(value, limits[limit].load());
  });
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return RuntimeLocal(Call::k_cudaDeviceSetLimit, [&] {
    if (limit >= limits.size()) return CudaError::kInvalidValue;
    limits[limit] = value;
    return CudaError::kSuccess;
  });
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return RuntimeLocal(Call::k_cudaDeviceGetCacheConfig,
                      [&] { return Store(config, static_cast<cudaFuncCache>(cache_config.load())); });
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) {
  return RuntimeLocal(Call::k_cudaDeviceSetCacheConfig, [&] {
    cache_config = config;
    return CudaError::kSuccess;
  });
}

cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  return RuntimeLocal(Call::k_cudaDeviceGetSharedMemConfig,
                      [&] { return Store(config, cudaSharedMemBankSizeFourByte); });
}

cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) {
  return RuntimeLocal(Call::k_cudaDeviceSetSharedMemConfig, [] { return CudaError::kSuccess; });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return Runtime(Call::k_cudaDeviceGetPCIBusId, [&] {
    if (text == nullptr || length <= 0) return CudaError::kInvalidValue;
    std::snprintf(text, static_cast<size_t>(length), "%s", client::kPciBusId);
    return CheckDevice(device);
  });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return Runtime(Call::k_cudaDeviceGetByPCIBusId, [&] {
    if (text == nullptr || std::strcmp(text, client::kPciBusId) != 0) return CudaError::kInvalidValue;
    return Store(device, 0);
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return Runtime(Call::k_cudaDeviceGetStreamPriorityRange, [&] {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
    return CudaError::kSuccess;
  });
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  return RuntimeLocal(Call::k_cudaGetDeviceFlags, [&] { return Store(flags, device_flags.load()); });
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
  return RuntimeLocal(Call::k_cudaSetDeviceFlags, [&] {
    if ((flags & ~static_cast<unsigned>(cudaDeviceMask)) != 0) return CudaError::kInvalidValue;
    device_flags = flags;
    return CudaError::kSuccess;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return Runtime(Call::k_cudaDeviceCanAccessPeer,
                 [&] { return device != 0 || peer != 0 ? CudaError::kInvalidDevice : Store(can, 0); });
}

cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  return Runtime(Call::k_cudaDeviceEnablePeerAccess, [] { return CudaError::kInvalidDevice; });
}

cudaError_t cudaDeviceDisablePeerAccess(int) {
  return Runtime(Call::k_cudaDeviceDisablePeerAccess, [] { return CudaError::kInvalidDevice; });
}

cudaError_t cudaDeviceGetP2PAttribute(int*, cudaDeviceP2PAttr, int, int) {
  return Runtime(Call::k_cudaDeviceGetP2PAttribute, [] { return CudaError::kInvalidDevice; });
}

cudaError_t cudaDriverGetVersion(int* version) {
  return RuntimeLocal(Call::k_cudaDriverGetVersion, [&] { return Store(version, CUDART_VERSION); });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  return RuntimeLocal(Call::k_cudaRuntimeGetVersion, [&] { return Store(version, kRuntimeVersion); });
}

cudaError_t cudaProfilerStart(void) {
  return RuntimeLocal(Call::k_cudaProfilerStart, [] { return CudaError::kSuccess; });
}

cudaError_t cudaProfilerStop(void) {
  return RuntimeLocal(Call::k_cudaProfilerStop, [] { return CudaError::kSuccess; });
}

}  // extern "C"
