#include "wharf/device/cuda/driver/driver_api.h"

#include <dlfcn.h>

#include <map>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "wharf/device/cuda/library/library.h"

namespace wharf::device::cuda {
namespace {

// What tells a driver from Wharf's drop-in library: the drop-in never has the private table every driver exports.
constexpr const char* kOnlyInDriver = "cuGetExportTable";
constexpr const char* kOnlyInDropIn = "wharf_shim_marker";

}  // namespace

absl::Status Driver::ToStatus(Result result, const char* what) const {
  if (result == kResultSuccess) return absl::OkStatus();
  const char* name = nullptr;
  const char* words = nullptr;
  if (GetErrorName(result, &name) != kResultSuccess || name == nullptr) name = "unknown error";
  if (GetErrorString(result, &words) != kResultSuccess || words == nullptr) words = "";
  return CudaStatus(static_cast<CudaError>(result), "{}: {} ({}) {}", what, name, result, words);
}

absl::StatusOr<const Driver*> LoadDriver(const std::string& library) {
  // As long-lived as the libraries.
  static absl::Mutex mutex;
  static auto* loaded = new std::map<std::string, std::unique_ptr<Driver>>;
  absl::MutexLock lock(&mutex);
  if (const auto it = loaded->find(library); it != loaded->end()) return it->second.get();
  WHARF_ASSIGN_OR_RETURN(void* handle, OpenLibrary(library));
  if (dlsym(handle, kOnlyInDropIn) != nullptr || dlsym(handle, kOnlyInDriver) == nullptr) {
    return Unavailable(
        "{} is not an NVIDIA driver (Wharf's own drop-in library, perhaps: do not start a server under "
        "`wharf run`)",
        library);
  }
  auto driver = std::make_unique<Driver>();
  const char* missing = nullptr;
#define WHARF_FIND(member, name, arguments)                                    \
  driver->member = reinterpret_cast<Result(*) arguments>(dlsym(handle, name)); \
  if (driver->member == nullptr && missing == nullptr) missing = name;
  WHARF_CUDA_DRIVER_FUNCTIONS(WHARF_FIND)
#undef WHARF_FIND
  if (missing != nullptr) {
    return Unavailable("{} has no {}: a driver for CUDA 12.4 or newer is needed", library, missing);
  }
  return ((*loaded)[library] = std::move(driver)).get();
}

}  // namespace wharf::device::cuda
