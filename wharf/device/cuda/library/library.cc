#include "wharf/device/cuda/library/library.h"

namespace wharf::device::cuda {

absl::StatusOr<void*> OpenLibrary(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    return Unavailable("{} cannot be opened: {}", library, why == nullptr ? "unknown reason" : why);
  }
  return handle;
}

}  // namespace wharf::device::cuda
