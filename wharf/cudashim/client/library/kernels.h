// Kernels that drop-in libraries bring themselves: PTX that the build makes of a .cu file, once for each element type
// or engine (wharf_library_kernels in CMakeLists.txt).
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "wharf/cudashim/client/module.h"
#include "wharf/device/element_type.h"

namespace wharf::client {

// The variant of a type that BLAS has, of kernels that are made for these (WHARF_BLAS_TYPES in CMakeLists.txt).
constexpr int BlasVariant(device::ElementType type) {
  switch (type) {
    case device::ElementType::kF32:
      return 0;
    case device::ElementType::kF64:
      return 1;
    case device::ElementType::kC32:
      return 2;
    default:
      return 3;
  }
}

// The PTX's modules and kernels, each loaded once in a process, when it is first asked for. Thread-safe. A library has
// one that lives for ever.
class WHARF_CLIENT_API LibraryKernels {
 public:
  // `ptx`: of each variant, by its number, NUL-terminated; stays the caller's and where it is.
  explicit LibraryKernels(const char* const* ptx) : ptx_(ptx) {}
  LibraryKernels(const LibraryKernels&) = delete;
  LibraryKernels& operator=(const LibraryKernels&) = delete;

  CudaError Find(int variant, const char* name, Function** function);

 private:
  const char* const* const ptx_;
  std::mutex mutex_;
  std::map<int, Module*> modules_;
  std::map<std::pair<int, std::string>, Function*> functions_;
};

}  // namespace wharf::client
