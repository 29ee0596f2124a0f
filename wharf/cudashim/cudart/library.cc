// Libraries: modules loaded at run time through the runtime API.
#include <algorithm>
#include <vector>

#include "wharf/cudashim/client/module.h"
#include "wharf/cudashim/cudart/runtime.h"

namespace wharf::cudashim {
namespace {

client::Module* ModuleOf(cudaLibrary_t library) { return reinterpret_cast<client::Module*>(library); }

template <typename Load>
CudaError StoreModule(cudaLibrary_t* library, Load&& load) {
  client::Module* module = nullptr;
  if (library == nullptr) return CudaError::kInvalidValue;
  const CudaError error = load(&module);
  if (error == CudaError::kSuccess) *library = reinterpret_cast<cudaLibrary_t>(module);
  return error;
}

CudaError Names(cudaLibrary_t library, std::vector<const char*>* names) {
  client::Module* const module = ModuleOf(library);
  return client::IsModule(module) ? client::KernelNames(module, names) : CudaError::kInvalidHandle;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**, unsigned,
                                cudaLibraryOption*, void**, unsigned) {
  return Runtime(Call::k_cudaLibraryLoadData, [&] {
    return StoreModule(library, [&](client::Module** module) { return client::LoadModule(code, module); });
  });
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* path, cudaJitOption*, void**, unsigned,
                                    cudaLibraryOption*, void**, unsigned) {
  return Runtime(Call::k_cudaLibraryLoadFromFile, [&] {
    return StoreModule(library, [&](client::Module** module) { return client::LoadModuleFile(path, module); });
  });
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return Runtime(Call::k_cudaLibraryUnload, [&] { return client::UnloadModule(ModuleOf(library)); });
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  return Runtime(Call::k_cudaLibraryGetKernel, [&] {
    client::Function* function = nullptr;
    if (kernel == nullptr) return CudaError::kInvalidValue;
    const CudaError error = client::FindFunction(ModuleOf(library), name, &function);
    if (error == CudaError::kSuccess) *kernel = reinterpret_cast<cudaKernel_t>(function);
    return error;
  });
}

cudaError_t cudaLibraryGetKernelCount(unsigned* count, cudaLibrary_t library) {
  return Runtime(Call::k_cudaLibraryGetKernelCount, [&] {
    std::vector<const char*> names;
    if (count == nullptr) return CudaError::kInvalidValue;
    const CudaError error = Names(library, &names);
    if (error == CudaError::kSuccess) *count = static_cast<unsigned>(names.size());
    return error;
  });
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned count, cudaLibrary_t library) {
  return Runtime(Call::k_cudaLibraryEnumerateKernels, [&] {
    std::vector<const char*> names;
    if (kernels == nullptr) return CudaError::kInvalidValue;
    CudaError error = Names(library, &names);
    for (size_t i = 0; error == CudaError::kSuccess && i < std::min<size_t>(count, names.size()); ++i) {
      client::Function* function = nullptr;
      error = client::FindFunction(ModuleOf(library), names[i], &function);
      kernels[i] = reinterpret_cast<cudaKernel_t>(function);
    }
    return error;
  });
}

cudaError_t cudaLibraryGetGlobal(void** pointer, size_t* bytes, cudaLibrary_t library, const char* name) {
  return Runtime(Call::k_cudaLibraryGetGlobal, [&] {
    uint64_t address = 0, size = 0;
    const CudaError error = client::FindVariable(ModuleOf(library), name, &address, &size);
    if (error != CudaError::kSuccess) return error;
    if (pointer != nullptr) *pointer = reinterpret_cast<void*>(address);
    if (bytes != nullptr) *bytes = size;
    return error;
  });
}

}  // extern "C"
