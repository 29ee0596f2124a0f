// What nvcc's host code calls at start-up and around a launch.
#include <vector_types.h>

#include <vector>

#include "wharf/cudashim/client/module.h"
#include "wharf/cudashim/cudart/runtime.h"

namespace wharf::cudashim {
namespace {

struct CallConfiguration {
  dim3 grid, block;
  size_t shared_bytes;
  void* stream;
};
thread_local std::vector<CallConfiguration> configurations;

// The handle the compiler's code keeps points to the module.
client::Module* ModuleOf(void** handle) { return handle == nullptr ? nullptr : static_cast<client::Module*>(*handle); }

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT: the vendor's names live in the global namespace
using namespace wharf::cudashim;  // NOLINT

extern "C" {

WHARF_CLIENT_API void** __cudaRegisterFatBinary(void* wrapper) {
  void** handle = nullptr;
  client::RunLocal(Call::k___cudaRegisterFatBinary, [&] {
    handle = new void*(client::RegisterFatBinary(wrapper));
    return CudaError::kSuccess;
  });
  return handle;
}

WHARF_CLIENT_API void __cudaRegisterFatBinaryEnd(void**) {}

WHARF_CLIENT_API void __cudaUnregisterFatBinary(void** handle) {
  client::RunLocal(Call::k___cudaUnregisterFatBinary, [&] {
    if (handle != nullptr) client::UnregisterFatBinary(ModuleOf(handle));
    delete handle;
    return CudaError::kSuccess;
  });
}

WHARF_CLIENT_API void __cudaRegisterFunction(void** handle, const char* host_function, char*, const char* name, int,
                                             uint3*, uint3*, dim3*, dim3*, int*) {
  client::RegisterFunction(ModuleOf(handle), host_function, name);
}

WHARF_CLIENT_API void __cudaRegisterVar(void** handle, char* host_variable, char*, const char* name, int, size_t size,
                                        int, int) {
  client::RegisterVariable(ModuleOf(handle), host_variable, name, size);
}

WHARF_CLIENT_API void __cudaRegisterManagedVar(void** handle, void** host_pointer, char*, const char* name, int, size_t,
                                               int, int) {
  client::RegisterManagedVariable(ModuleOf(handle), host_pointer, name);
}

// Before the program's first use of a __managed__ variable.
WHARF_CLIENT_API char __cudaInitModule(void** handle) {
  client::InitializeManaged(ModuleOf(handle));
  return 1;
}

WHARF_CLIENT_API cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  client::Function* const function = client::ResolveFunction(host_function);
  if (function == nullptr) return cudaErrorInvalidDeviceFunction;
  *kernel = reinterpret_cast<cudaKernel_t>(function);
  return cudaSuccess;
}

WHARF_CLIENT_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, void* stream) {
  configurations.push_back({grid, block, shared_bytes, stream});
  return 0;
}

WHARF_CLIENT_API cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  if (configurations.empty()) {
    client::SetLastError(client::kMissingConfiguration);
    return cudaErrorMissingConfiguration;
  }
  const CallConfiguration top = configurations.back();
  configurations.pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *static_cast<void**>(stream) = top.stream;
  return cudaSuccess;
}

}  // extern "C"
