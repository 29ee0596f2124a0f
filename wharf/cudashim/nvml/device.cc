// The one device: what the server's welcome says of it, and its memory.
#include <strings.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "wharf/cudashim/client/device_info.h"
#include "wharf/cudashim/nvml/nvml.h"

namespace wharf::cudashim {
namespace {

const device::DeviceProperties& Properties() { return client::Properties(); }

// "GPU-" and the bytes of cudaDeviceProp::uuid, in groups.
std::string Uuid() {
  std::string text = "GPU";
  for (size_t i = 0; i < Properties().uuid.size(); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", Properties().uuid[i]);
    text += digits;
  }
  return text;
}

struct PciPlace {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  friend bool operator==(const PciPlace&, const PciPlace&) = default;
};

// Digits of the domain may be four or eight.
bool ReadPlace(const char* text, PciPlace* place) {
  return std::sscanf(text, "%x:%x:%x.%x", &place->domain, &place->bus, &place->device, &place->function) == 4;
}

PciPlace OurPlace() {
  PciPlace place;
  ReadPlace(client::kPciBusId, &place);
  return place;
}

// A number that the device may not have told.
nvmlReturn_t StoreKnown(unsigned* place, int value) {
  if (place == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (value <= 0) return NVML_ERROR_NOT_SUPPORTED;
  *place = static_cast<unsigned>(value);
  return NVML_SUCCESS;
}

// How the device is joined to its own host is not known either: as GPUs of its generation are, by 16 lanes.
constexpr unsigned kPcieLanes = 16;

unsigned PcieGeneration() {
  const int capability = Properties().compute_major * 10 + Properties().compute_minor;
  return capability < 80 ? 3 : capability < 90 ? 4 : 5;
}

template <typename Body>
nvmlReturn_t OfDevice(nvmlDevice_t device, Body&& body) {
  const nvmlReturn_t ready = CheckDevice(device);
  return ready == NVML_SUCCESS ? body() : ready;
}

template <typename Matches>
nvmlReturn_t Handle(nvmlDevice_t* device, Matches&& matches) {
  if (const nvmlReturn_t ready = CheckInitialized(); ready != NVML_SUCCESS) return ready;
  return matches() ? Store(device, TheDevice()) : NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t HandleByIndex(unsigned index, nvmlDevice_t* device) {
  if (const nvmlReturn_t ready = CheckInitialized(); ready != NVML_SUCCESS) return ready;
  return index == 0 ? Store(device, TheDevice()) : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t HandleByPciBusId(const char* text, nvmlDevice_t* device) {
  PciPlace place;
  if (text == nullptr || !ReadPlace(text, &place)) {
    const nvmlReturn_t ready = CheckInitialized();
    return ready == NVML_SUCCESS ? NVML_ERROR_INVALID_ARGUMENT : ready;
  }
  return Handle(device, [&] { return place == OurPlace(); });
}

nvmlReturn_t Count(unsigned* count) {
  const nvmlReturn_t ready = CheckInitialized();
  return ready == NVML_SUCCESS ? Store(count, 1U) : ready;
}

// Which GPU it is beyond its place is not known: its numbers of vendor and subsystem are 0.
nvmlReturn_t PciInfo(nvmlDevice_t device, nvmlPciInfo_t* info) {
  return OfDevice(device, [&] {
    if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const PciPlace place = OurPlace();
    *info = {};
    info->domain = place.domain;
    info->bus = place.bus;
    info->device = place.device;
    std::snprintf(info->busIdLegacy, sizeof(info->busIdLegacy), "%04X:%02X:%02X.0", place.domain, place.bus,
                  place.device);
    std::snprintf(info->busId, sizeof(info->busId), "%08X:%02X:%02X.0", place.domain, place.bus, place.device);
    return NVML_SUCCESS;
  });
}

// This process: what others of the server do is nobody's business. `count`: in, the places; out, how many there are.
template <typename Info>
nvmlReturn_t ComputingProcesses(nvmlDevice_t device, unsigned* count, Info* infos) {
  return OfDevice(device, [&] {
    if (count == nullptr || (*count > 0 && infos == nullptr)) return NVML_ERROR_INVALID_ARGUMENT;
    const bool fits = *count > 0;
    *count = 1;
    if (!fits) return NVML_ERROR_INSUFFICIENT_SIZE;
    unsigned long long free = 0, total = 0;
    if (const nvmlReturn_t asked = AskMemory(&free, &total); asked != NVML_SUCCESS) return asked;
    std::memset(infos, 0xff, sizeof(Info));
    infos->pid = static_cast<unsigned>(getpid());
    infos->usedGpuMemory = total - free;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t NoProcesses(nvmlDevice_t device, unsigned* count) {
  return OfDevice(device, [&] { return Store(count, 0U); });
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetCount(unsigned* count) { return Count(count); }
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) { return Count(count); }

WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* device) {
  return HandleByIndex(index, device);
}
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  return HandleByIndex(index, device);
}
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* text, nvmlDevice_t* device) {
  return HandleByPciBusId(text, device);
}
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* text, nvmlDevice_t* device) {
  return HandleByPciBusId(text, device);
}
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  return Handle(device, [&] { return uuid != nullptr && strcasecmp(uuid, Uuid().c_str()) == 0; });
}

WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length) {
  return OfDevice(device, [&] { return StoreText(Properties().name.c_str(), name, length); });
}
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned length) {
  return OfDevice(device, [&] { return StoreText(Uuid().c_str(), uuid, length); });
}
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned* index) {
  return OfDevice(device, [&] { return Store(index, 0U); });
}
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned* number) {
  return OfDevice(device, [&] { return Store(number, 0U); });
}
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, unsigned* brand) {
  return OfDevice(device, [&] { return Store(brand, 0U); });  // unknown
}
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t* info) {
  return PciInfo(device, info);
}
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t* info) {
  return PciInfo(device, info);
}
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* info) {
  return PciInfo(device, info);
}

WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  return OfDevice(device, [&] {
    if (memory == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const nvmlReturn_t asked = AskMemory(&memory->free, &memory->total);
    if (asked == NVML_SUCCESS) memory->used = memory->total - memory->free;
    return asked;
  });
}
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  return OfDevice(device, [&] {
    if (memory == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (memory->version != kMemoryVersion) return NVML_ERROR_FUNCTION_NOT_FOUND;  // as NVIDIA's says of other structs
    const nvmlReturn_t asked = AskMemory(&memory->free, &memory->total);
    if (asked != NVML_SUCCESS) return asked;
    memory->reserved = 0;
    memory->used = memory->total - memory->free;
    return NVML_SUCCESS;
  });
}

WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor) {
  return OfDevice(device, [&] {
    const nvmlReturn_t stored = Store(major, int{Properties().compute_major});
    return stored == NVML_SUCCESS ? Store(minor, int{Properties().compute_minor}) : stored;
  });
}
// Numbers by which NVML names Volta (5) to Blackwell (10).
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, unsigned* architecture) {
  return OfDevice(device, [&] {
    const int capability = Properties().compute_major * 10 + Properties().compute_minor;
    const unsigned number = capability < 75    ? 5
                            : capability < 80  ? 6
                            : capability < 89  ? 7
                            : capability < 90  ? 8
                            : capability < 100 ? 9
                                               : 10;
    return Store(architecture, number);
  });
}
// MHz.
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* clock) {
  return OfDevice(device, [&] {
    switch (type) {
      case NVML_CLOCK_GRAPHICS:
      case NVML_CLOCK_SM:
        return StoreKnown(clock, Properties().clock_khz / 1000);
      case NVML_CLOCK_MEM:
        return StoreKnown(clock, Properties().memory_clock_khz / 1000);
      case NVML_CLOCK_VIDEO:
        return NVML_ERROR_NOT_SUPPORTED;
    }
    return NVML_ERROR_INVALID_ARGUMENT;
  });
}
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t device, unsigned* bits) {
  return OfDevice(device, [&] { return StoreKnown(bits, Properties().memory_bus_bits); });
}
#define WHARF_OF_LINK(name, value)                                                       \
  WHARF_CLIENT_API nvmlReturn_t name(nvmlDevice_t device, unsigned* place) {             \
    return OfDevice(device, [&] { return Store(place, static_cast<unsigned>(value)); }); \
  }
WHARF_OF_LINK(nvmlDeviceGetCurrPcieLinkGeneration, PcieGeneration())
WHARF_OF_LINK(nvmlDeviceGetMaxPcieLinkGeneration, PcieGeneration())
WHARF_OF_LINK(nvmlDeviceGetGpuMaxPcieLinkGeneration, PcieGeneration())
WHARF_OF_LINK(nvmlDeviceGetCurrPcieLinkWidth, kPcieLanes)
WHARF_OF_LINK(nvmlDeviceGetMaxPcieLinkWidth, kPcieLanes)
WHARF_OF_LINK(nvmlDeviceGetPcieSpeed, 1000 << PcieGeneration())  // of a lane, in Mbit/s
WHARF_OF_LINK(nvmlDeviceGetPcieLinkMaxSpeed, PcieGeneration())   // NVML numbers speeds by their generation
#undef WHARF_OF_LINK
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, unsigned* mode) {
  return OfDevice(device, [&] { return Store(mode, 0U); });  // any number of processes
}
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetMultiGpuBoard(nvmlDevice_t device, unsigned* several) {
  return OfDevice(device, [&] { return Store(several, 0U); });
}
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned* count) {
  return OfDevice(device, [&] { return Store(count, 0U); });
}
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t one, nvmlDevice_t other, int* same) {
  return OfDevice(one, [&] { return OfDevice(other, [&] { return Store(same, 1); }); });
}
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t one, nvmlDevice_t other,
                                                                  unsigned* level) {
  return OfDevice(one, [&] { return OfDevice(other, [&] { return Store(level, 0U); }); });  // the device itself
}

WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned* count,
                                                                   nvmlProcessInfo_v1_t* infos) {
  return ComputingProcesses(device, count, infos);
}
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned* count,
                                                                      nvmlProcessInfo_t* infos) {
  return ComputingProcesses(device, count, infos);
}
WHARF_CLIENT_API nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                                      nvmlProcessInfo_t* infos) {
  return ComputingProcesses(device, count, infos);
}
#define WHARF_NO_PROCESSES(name) \
  WHARF_CLIENT_API nvmlReturn_t name(nvmlDevice_t device, unsigned* count, void*) { return NoProcesses(device, count); }
WHARF_NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses)
WHARF_NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2)
WHARF_NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3)
WHARF_NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses)
WHARF_NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2)
WHARF_NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3)
#undef WHARF_NO_PROCESSES

}  // extern "C"
