// NVIDIA's management library as programs see it: the types of its functions that tell something here. NVIDIA's own
// header is no part of the CUDA toolkit everywhere, so it is not needed; layouts and numbers are those of its
// release 13.
#pragma once

#include "wharf/cudashim/client/call.h"

extern "C" {

enum nvmlReturn_t {
  NVML_SUCCESS = 0,
  NVML_ERROR_UNINITIALIZED = 1,
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_NOT_SUPPORTED = 3,
  NVML_ERROR_NOT_FOUND = 6,
  NVML_ERROR_INSUFFICIENT_SIZE = 7,
  NVML_ERROR_DRIVER_NOT_LOADED = 9,
  NVML_ERROR_FUNCTION_NOT_FOUND = 13,
  NVML_ERROR_GPU_IS_LOST = 15,
};

using nvmlDevice_t = struct nvmlDevice_st*;

struct nvmlPciInfo_t {
  char busIdLegacy[16];  // "0000:01:00.0"
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];  // "00000000:01:00.0"
};
static_assert(sizeof(nvmlPciInfo_t) == 68);

// Bytes.
struct nvmlMemory_t {
  unsigned long long total, free, used;
};
struct nvmlMemory_v2_t {
  unsigned version;  // kMemoryVersion, set by the caller
  unsigned long long total, reserved, free, used;
};
static_assert(sizeof(nvmlMemory_v2_t) == 40);

struct nvmlProcessInfo_v1_t {
  unsigned pid;
  unsigned long long usedGpuMemory;  // bytes
};
struct nvmlProcessInfo_t {  // of the second version and the third
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId, computeInstanceId;  // ~0 where a GPU is not divided
};
static_assert(sizeof(nvmlProcessInfo_v1_t) == 16 && sizeof(nvmlProcessInfo_t) == 24);

enum nvmlClockType_t { NVML_CLOCK_GRAPHICS, NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_CLOCK_VIDEO };

}  // extern "C"

namespace wharf::cudashim {

inline constexpr unsigned kMemoryVersion = sizeof(nvmlMemory_v2_t) | 2U << 24;

// NVML_SUCCESS between nvmlInit and the nvmlShutdown that belongs to it, else NVML_ERROR_UNINITIALIZED.
nvmlReturn_t CheckInitialized();
// That, and whether `device` is the one that there is: else NVML_ERROR_INVALID_ARGUMENT.
nvmlReturn_t CheckDevice(nvmlDevice_t device);
nvmlDevice_t TheDevice();
// Bytes of the device as cudaMemGetInfo has them; one round trip.
nvmlReturn_t AskMemory(unsigned long long* free, unsigned long long* total);

template <typename T>
nvmlReturn_t Store(T* place, T value) {
  if (place == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *place = value;
  return NVML_SUCCESS;
}
// With its NUL; NVML_ERROR_INSUFFICIENT_SIZE, and nothing is written, where that is longer than `length`.
nvmlReturn_t StoreText(const char* text, char* place, unsigned length);

}  // namespace wharf::cudashim
