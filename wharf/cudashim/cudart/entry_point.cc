// cudaGetDriverEntryPoint: addresses of driver functions, from the drop-in libcuda.so.1 beside this library.
#include <dlfcn.h>

#include "wharf/cudashim/cudart/runtime.h"

namespace wharf::cudashim {
namespace {

using GetProcAddress = int (*)(const char* symbol, void** function, int version, uint64_t flags, int* status);

GetProcAddress Driver() {
  static const GetProcAddress found = [] {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr : reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  }();
  return found;
}

CudaError Find(const char* symbol, void** function, int version, uint64_t flags,
               cudaDriverEntryPointQueryResult* status) {
  if (symbol == nullptr || function == nullptr) return CudaError::kInvalidValue;
  *function = nullptr;
  int result = cudaDriverEntryPointSymbolNotFound;
  if (Driver() != nullptr) Driver()(symbol, function, version, flags, &result);
  if (status != nullptr) *status = static_cast<cudaDriverEntryPointQueryResult>(result);
  return CudaError::kSuccess;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return RuntimeLocal(Call::k_cudaGetDriverEntryPoint,
                      [&] { return Find(symbol, function, kRuntimeVersion, flags, status); });
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                             unsigned long long flags, cudaDriverEntryPointQueryResult* status) {
  return RuntimeLocal(Call::k_cudaGetDriverEntryPointByVersion,
                      [&] { return Find(symbol, function, static_cast<int>(version), flags, status); });
}

}  // extern "C"
