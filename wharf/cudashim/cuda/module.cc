// Modules and libraries: images loaded at run time, among them PTX made by NVRTC.
#include "wharf/cudashim/client/module.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "wharf/cudashim/cuda/driver.h"
#include "wharf/cudashim/cuda/jit_log.h"

namespace wharf::cudashim {
namespace {

// CUmodule and CUlibrary are both the client's module; CUfunction and CUkernel its function.
template <typename Handle>
client::Module* ModuleOf(Handle handle) {
  return reinterpret_cast<client::Module*>(handle);
}

template <typename Handle, typename Load>
CudaError StoreModule(Handle* handle, Load&& load) {
  client::Module* module = nullptr;
  if (handle == nullptr) return CudaError::kInvalidValue;
  const CudaError error = load(&module);
  if (error == CudaError::kSuccess) *handle = reinterpret_cast<Handle>(module);
  return error;
}

// Whether the image stays where it is.
bool IsPreserved(std::span<const CUlibraryOption> options, void* const* values) {
  for (size_t i = 0; i < options.size(); ++i) {
    if (options[i] == CU_LIBRARY_BINARY_IS_PRESERVED) return values[i] != nullptr;
  }
  return false;
}

template <typename Handle>
CudaError StoreFunction(Handle* handle, client::Module* module, const char* name) {
  client::Function* function = nullptr;
  if (handle == nullptr) return CudaError::kInvalidValue;
  const CudaError error = client::FindFunction(module, name, &function);
  if (error == CudaError::kSuccess) *handle = reinterpret_cast<Handle>(function);
  return error;
}

// `find` gives address and size of a variable of `module`.
template <typename Find>
CudaError StoreVariable(CUdeviceptr* pointer, size_t* bytes, client::Module* module, const char* name, Find find) {
  uint64_t address = 0, size = 0;
  const CudaError error = find(module, name, &address, &size);
  if (error != CudaError::kSuccess) return error;
  if (pointer != nullptr) *pointer = address;
  if (bytes != nullptr) *bytes = size;
  return error;
}

CudaError Names(client::Module* module, std::vector<const char*>* names) {
  return client::IsModule(module) ? client::KernelNames(module, names) : CudaError::kInvalidHandle;
}

CudaError CountKernels(unsigned* count, client::Module* module) {
  std::vector<const char*> names;
  const CudaError error = Names(module, &names);
  return error == CudaError::kSuccess ? Store(count, names.size()) : error;
}

template <typename Handle>
CudaError EnumerateKernels(Handle* handles, unsigned count, client::Module* module) {
  std::vector<const char*> names;
  if (handles == nullptr) return CudaError::kInvalidValue;
  CudaError error = Names(module, &names);
  const size_t most = std::min<size_t>(count, names.size());
  for (size_t i = 0; i < most && error == CudaError::kSuccess; ++i)
    error = StoreFunction(&handles[i], module, names[i]);
  return error;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

CUresult cuModuleLoad(CUmodule* module, const char* path) {
  return Driver(Call::k_cuModuleLoad, [&] {
    return StoreModule(module, [&](client::Module** made) { return client::LoadModuleFile(path, made); });
  });
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return Driver(Call::k_cuModuleLoadData, [&] {
    return StoreModule(module, [&](client::Module** made) { return client::LoadModule(image, made); });
  });
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values) {
  return Driver(Call::k_cuModuleLoadDataEx, [&] {
    std::string reason;
    const CudaError error =
        StoreModule(module, [&](client::Module** made) { return client::LoadModule(image, made, &reason); });
    if (!reason.empty()) WriteErrorLog(reason, count, options, values);
    return error;
  });
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return Driver(Call::k_cuModuleLoadFatBinary, [&] {
    return StoreModule(module, [&](client::Module** made) { return client::LoadModule(image, made); });
  });
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option* options, void** values, unsigned count,
                           CUlibraryOption* library_options, void** library_values, unsigned library_count) {
  return Driver(Call::k_cuLibraryLoadData, [&] {
    if (library_count != 0 && (library_options == nullptr || library_values == nullptr))
      return CudaError::kInvalidValue;
    const bool preserved = IsPreserved({library_options, library_count}, library_values);
    std::string reason;
    const CudaError error = StoreModule(library, [&](client::Module** made) {
      return preserved ? client::LoadPreservedModule(image, made, &reason) : client::LoadModule(image, made, &reason);
    });
    if (!reason.empty()) WriteErrorLog(reason, count, options, values);
    return error;
  });
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*, void**, unsigned, CUlibraryOption*,
                               void**, unsigned) {
  return Driver(Call::k_cuLibraryLoadFromFile, [&] {
    return StoreModule(library, [&](client::Module** made) { return client::LoadModuleFile(path, made); });
  });
}

CUresult cuModuleUnload(CUmodule module) {
  return Driver(Call::k_cuModuleUnload, [&] { return client::UnloadModule(ModuleOf(module)); });
}

CUresult cuLibraryUnload(CUlibrary library) {
  return Driver(Call::k_cuLibraryUnload, [&] { return client::UnloadModule(ModuleOf(library)); });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return Driver(Call::k_cuModuleGetFunction, [&] { return StoreFunction(function, ModuleOf(module), name); });
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return Driver(Call::k_cuLibraryGetKernel, [&] { return StoreFunction(kernel, ModuleOf(library), name); });
}

CUresult cuModuleGetGlobal(CUdeviceptr* pointer, size_t* bytes, CUmodule module, const char* name) {
  return Driver(Call::k_cuModuleGetGlobal_v2,
                [&] { return StoreVariable(pointer, bytes, ModuleOf(module), name, client::FindModuleVariable); });
}

CUresult cuLibraryGetGlobal(CUdeviceptr* pointer, size_t* bytes, CUlibrary library, const char* name) {
  return Driver(Call::k_cuLibraryGetGlobal,
                [&] { return StoreVariable(pointer, bytes, ModuleOf(library), name, client::FindVariable); });
}

CUresult cuLibraryGetManaged(CUdeviceptr* pointer, size_t* bytes, CUlibrary library, const char* name) {
  return Driver(Call::k_cuLibraryGetManaged,
                [&] { return StoreVariable(pointer, bytes, ModuleOf(library), name, client::FindManagedVariable); });
}

CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule module) {
  return Driver(Call::k_cuModuleGetFunctionCount, [&] { return CountKernels(count, ModuleOf(module)); });
}

CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary library) {
  return Driver(Call::k_cuLibraryGetKernelCount, [&] { return CountKernels(count, ModuleOf(library)); });
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule module) {
  return Driver(Call::k_cuModuleEnumerateFunctions,
                [&] { return EnumerateKernels(functions, count, ModuleOf(module)); });
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary library) {
  return Driver(Call::k_cuLibraryEnumerateKernels, [&] { return EnumerateKernels(kernels, count, ModuleOf(library)); });
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  return DriverLocal(Call::k_cuModuleGetLoadingMode, [&] { return Store(mode, CU_MODULE_LAZY_LOADING); });
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  return Driver(Call::k_cuLibraryGetModule, [&] {
    if (!client::IsModule(ModuleOf(library))) return CudaError::kInvalidHandle;
    return StoreModule(module, [&](client::Module** same) {
      *same = ModuleOf(library);
      return CudaError::kSuccess;
    });
  });
}

}  // extern "C"
