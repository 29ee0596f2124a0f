// Beginning and end, and what is asked of no device in particular.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>

#include "wharf/cudashim/client/device_info.h"
#include "wharf/cudashim/client/memory.h"
#include "wharf/cudashim/nvml/nvml.h"

namespace wharf::cudashim {
namespace {

// The driver is at the server, and nobody asks it for its release: the first that has CUDA 13.0, as cuDriverGetVersion
// says it is.
constexpr char kDriverRelease[] = "580.65.06";
constexpr char kManagementRelease[] = "13.580.65.06";
constexpr int kCudaVersion = 13000;

std::mutex initialization;
std::atomic<int> initialized{0};  // how often more than ended

nvmlReturn_t Initialize() {
  const std::lock_guard lock(initialization);
  // A session that has failed is still a device that can be asked for its name.
  if (client::Connect() != client::CudaError::kSuccess && !client::IsConnected()) return NVML_ERROR_DRIVER_NOT_LOADED;
  ++initialized;
  return NVML_SUCCESS;
}

}  // namespace

nvmlReturn_t CheckInitialized() { return initialized > 0 ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED; }

nvmlDevice_t TheDevice() {
  static char device;
  return reinterpret_cast<nvmlDevice_t>(&device);
}

nvmlReturn_t CheckDevice(nvmlDevice_t device) {
  const nvmlReturn_t ready = CheckInitialized();
  return ready == NVML_SUCCESS && device != TheDevice() ? NVML_ERROR_INVALID_ARGUMENT : ready;
}

nvmlReturn_t AskMemory(unsigned long long* free, unsigned long long* total) {
  size_t free_bytes = 0, total_bytes = 0;
  const client::CudaError error =
      client::Run(client::Call::k_cuMemGetInfo_v2, [&] { return client::MemoryInfo(&free_bytes, &total_bytes); });
  if (error != client::CudaError::kSuccess) return NVML_ERROR_GPU_IS_LOST;
  *free = free_bytes;
  *total = total_bytes;
  return NVML_SUCCESS;
}

nvmlReturn_t StoreText(const char* text, char* place, unsigned length) {
  if (place == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (std::strlen(text) >= length) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::strcpy(place, text);  // NOLINT(clang-analyzer-security.insecureAPI.strcpy): its length is checked
  return NVML_SUCCESS;
}

}  // namespace wharf::cudashim

using namespace wharf::cudashim;  // NOLINT

extern "C" {

WHARF_CLIENT_API nvmlReturn_t nvmlInit() { return Initialize(); }
WHARF_CLIENT_API nvmlReturn_t nvmlInit_v2() { return Initialize(); }
WHARF_CLIENT_API nvmlReturn_t nvmlInitWithFlags(unsigned) { return Initialize(); }

WHARF_CLIENT_API nvmlReturn_t nvmlShutdown() {
  const std::lock_guard lock(initialization);
  const nvmlReturn_t ready = CheckInitialized();
  if (ready == NVML_SUCCESS) --initialized;
  return ready;
}

WHARF_CLIENT_API const char* nvmlErrorString(nvmlReturn_t error) {
  switch (error) {
    case NVML_SUCCESS:
      return "The operation was successful";
    case NVML_ERROR_UNINITIALIZED:
      return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT:
      return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED:
      return "Not Supported";
    case NVML_ERROR_NOT_FOUND:
      return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE:
      return "Insufficient Size";
    case NVML_ERROR_DRIVER_NOT_LOADED:
      return "Driver Not Loaded";
    case NVML_ERROR_FUNCTION_NOT_FOUND:
      return "Function Not Found";
    case NVML_ERROR_GPU_IS_LOST:
      return "GPU is lost";
  }
  return "Unknown Error";
}

WHARF_CLIENT_API nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned length) {
  const nvmlReturn_t ready = CheckInitialized();
  return ready == NVML_SUCCESS ? StoreText(kDriverRelease, version, length) : ready;
}
// These two are answered without a beginning, as NVIDIA's library does.
WHARF_CLIENT_API nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned length) {
  return StoreText(kManagementRelease, version, length);
}
WHARF_CLIENT_API nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) { return Store(version, kCudaVersion); }
WHARF_CLIENT_API nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) { return Store(version, kCudaVersion); }

// Cut off where it is longer.
WHARF_CLIENT_API nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char* name, unsigned length) {
  if (const nvmlReturn_t ready = CheckInitialized(); ready != NVML_SUCCESS) return ready;
  if (name == nullptr || length == 0) return NVML_ERROR_INVALID_ARGUMENT;
  const std::string path = "/proc/" + std::to_string(pid) + "/cmdline";
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return NVML_ERROR_NOT_FOUND;
  name[std::fread(name, 1, length - 1, file)] = '\0';
  std::fclose(file);
  return NVML_SUCCESS;
}

WHARF_CLIENT_API nvmlReturn_t nvmlUnitGetCount(unsigned* count) {
  const nvmlReturn_t ready = CheckInitialized();
  return ready == NVML_SUCCESS ? Store(count, 0U) : ready;
}

}  // extern "C"
