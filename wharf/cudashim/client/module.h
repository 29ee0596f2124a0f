// Modules, kernels and variables as both shims see them. Images are kept on the client and sent at the first use of one
// of their kernels or variables; parameter layouts are read from the image's PTX here, so a launch asks nothing.
#pragma once

#include <string>
#include <vector>

#include "wharf/cudashim/client/memory.h"
#include "wharf/cudashim/graph/params.h"

namespace wharf::client {

class Module;
class Function;

// A fat binary the program carries (a wrapper as __cudaRegisterFatBinary gets it); its bytes stay where they are.
WHARF_CLIENT_API Module* RegisterFatBinary(const void* wrapper);
WHARF_CLIENT_API void UnregisterFatBinary(Module* module);
WHARF_CLIENT_API void RegisterFunction(Module* module, const void* host_function, const char* name);
WHARF_CLIENT_API void RegisterVariable(Module* module, const void* host_variable, const char* name, uint64_t size);
// A __managed__ variable, and where the program keeps its address, which InitializeManaged finds out and writes there.
WHARF_CLIENT_API void RegisterManagedVariable(Module* module, void** host_pointer, const char* name);
WHARF_CLIENT_API void InitializeManaged(Module* module);

// An image given at run time: fat binary, wrapper, cubin or NUL-terminated PTX, told apart by content; copied. On
// failure `reason`, if given, says why.
WHARF_CLIENT_API CudaError LoadModule(const void* image, Module** module, std::string* reason = nullptr);
// The same of one that stays where it is: it is not copied. Of a wrapper the parts count that it was linked from.
WHARF_CLIENT_API CudaError LoadPreservedModule(const void* image, Module** module, std::string* reason = nullptr);
WHARF_CLIENT_API CudaError LoadModuleFile(const char* path, Module** module);
// kInvalidHandle if it is no module that LoadModule made.
WHARF_CLIENT_API CudaError UnloadModule(Module* module);
WHARF_CLIENT_API bool IsModule(const Module* module);
// The kernels the image's PTX defines.
WHARF_CLIENT_API CudaError KernelNames(Module* module, std::vector<const char*>* names);

// A kernel by name. kNotFound if the PTX has none of that name; without PTX the server is asked.
WHARF_CLIENT_API CudaError FindFunction(Module* module, const char* name, Function** function);
// A kernel by the host function that stands for it, or by its own handle; nullptr if it is neither.
WHARF_CLIENT_API Function* ResolveFunction(const void* handle);
// The host function that stands for a kernel, or the kernel's own handle if none does.
WHARF_CLIENT_API const void* HostFunctionOf(Function* function);
WHARF_CLIENT_API const char* FunctionName(const Function* function);
WHARF_CLIENT_API Module* FunctionModule(const Function* function);

WHARF_CLIENT_API CudaError FunctionAttributes(Function* function, device::FunctionAttributes* attributes);
WHARF_CLIENT_API CudaError ParameterLayout(Function* function, std::vector<device::ParameterLayout>* layout);
WHARF_CLIENT_API CudaError SetMaxDynamicShared(Function* function, uint32_t bytes);
// The dynamic shared memory that each of `blocks` blocks could have if all were on one multiprocessor.
WHARF_CLIENT_API CudaError AvailableShared(Function* function, int blocks, int block_threads, size_t* bytes);
WHARF_CLIENT_API uint32_t MaxDynamicShared(const Function* function);

// Address and size of a module's variable; asked once.
WHARF_CLIENT_API CudaError FindVariable(Module* module, const char* name, uint64_t* address, uint64_t* size);
// The same of a __managed__ one, which the program can use by its address from then on. kNotFound if it is none.
WHARF_CLIENT_API CudaError FindManagedVariable(Module* module, const char* name, uint64_t* address, uint64_t* size);
// Of either kind.
WHARF_CLIENT_API CudaError FindModuleVariable(Module* module, const char* name, uint64_t* address, uint64_t* size);
// The same of any by its host shadow. kInvalidSymbol if it is none.
WHARF_CLIENT_API CudaError FindHostVariable(const void* host_variable, uint64_t* address, uint64_t* size);

struct LaunchShape {
  device::Dim3 grid, block;
  uint64_t shared_bytes = 0;
  bool cooperative = false;
};
// Whether grid and block are shapes of this device's, whatever the kernel. REQUIRES: a call has reached the device.
WHARF_CLIENT_API bool IsLaunchable(const LaunchShape& shape);
// Parameters one by one (each points to a value) or, if `arguments` is null, as the packed buffer.
// kInvalidValue and kCooperativeLaunchTooLarge for shapes that the device does not run.
WHARF_CLIENT_API CudaError Launch(Function* function, const LaunchShape& shape, StreamHandle stream,
                                  void* const* arguments, const void* packed, size_t packed_bytes);
// The same, checked and kept for a graph.
WHARF_CLIENT_API CudaError MakeKernelParams(Function* function, const LaunchShape& shape, void* const* arguments,
                                            const void* packed, size_t packed_bytes, cudagraph::KernelParams* params);

// Resident blocks on one multiprocessor.
WHARF_CLIENT_API CudaError Occupancy(Function* function, int block_threads, uint64_t dynamic_shared, int* blocks);

}  // namespace wharf::client
