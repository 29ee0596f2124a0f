#include "wharf/cudashim/client/module.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include "wharf/base/log.h"
#include "wharf/cudashim/client/device_info.h"
#include "wharf/cudashim/client/module_state.h"

namespace wharf::client {
namespace {

CudaError Adopt(std::unique_ptr<Module> made, Module** module, std::string* reason) {
  {
    absl::MutexLock lock(&made->mutex);
    const absl::Status parsed = made->Parse();
    if (!parsed.ok() && device::CudaErrorOf(parsed) != CudaError::kNoBinaryForDevice) {
      Log(LogLevel::kWarning, "a module was refused", {{"reason", Message(parsed)}});
      if (reason != nullptr) *reason = Message(parsed);
      return device::CudaErrorOf(parsed);
    }
  }
  *module = made.release();  // kept for ever: handles of it may outlive it
  Registry::Get().AddModule(*module);
  return CudaError::kSuccess;
}

// Whether the module's PTX has a managed variable of that name; none without PTX.
std::optional<bool> DeclaresManaged(Module& module, const char* name) {
  absl::MutexLock lock(&module.mutex);
  if (!module.Parse().ok()) return std::nullopt;
  const device::ptx::Variable* const variable = module.ptx()->FindVariable(name);
  return variable != nullptr && variable->is_managed;
}

}  // namespace

Module* RegisterFatBinary(const void* wrapper) {
  const auto image = MeasureImage(wrapper);
  if (!image.ok()) {
    TellUser("the program carries a fat binary that cannot be read: " + std::string(Message(image.status())));
  }
  auto* const module = new Module(image.ok() ? *image : std::span<const std::byte>(), LinkedParts(wrapper));
  Registry::Get().AddModule(module);
  return module;
}

void UnregisterFatBinary(Module* module) { Registry::Get().RemoveModule(module); }

void RegisterFunction(Module* module, const void* host_function, const char* name) {
  if (!IsModule(module)) return;
  Registry::Get().BindFunction(host_function, Registry::Get().AddFunction(module, name));
}

void RegisterVariable(Module* module, const void* host_variable, const char* name, uint64_t) {
  if (IsModule(module)) Registry::Get().BindVariable(host_variable, module, name);
}

void RegisterManagedVariable(Module* module, void** host_pointer, const char* name) {
  if (!IsModule(module)) return;
  absl::MutexLock lock(&module->mutex);
  module->managed[name] = host_pointer;
}

void InitializeManaged(Module* module) {
  if (!IsModule(module)) return;
  std::map<std::string, void**> variables;
  {
    absl::MutexLock lock(&module->mutex);
    variables = module->managed;
  }
  for (const auto& [name, host_pointer] : variables) {
    uint64_t address = 0;
    const CudaError error = FindManagedVariable(module, name.c_str(), &address, nullptr);
    if (error == CudaError::kSuccess) {
      *host_pointer = reinterpret_cast<void*>(address);
    } else {
      TellUser(fmt::format("the __managed__ variable {} cannot be used: {}", name,
                           RuntimeErrorName(static_cast<int>(error))));
    }
  }
}

CudaError LoadModule(const void* image, Module** module, std::string* reason) {
  const auto bytes = MeasureImage(image);
  if (!bytes.ok()) {
    if (reason != nullptr) *reason = Message(bytes.status());
    return device::CudaErrorOf(bytes.status());
  }
  return Adopt(std::make_unique<Module>(std::vector<std::byte>(bytes->begin(), bytes->end())), module, reason);
}

CudaError LoadPreservedModule(const void* image, Module** module, std::string* reason) {
  const auto bytes = MeasureImage(image);
  if (!bytes.ok()) {
    if (reason != nullptr) *reason = Message(bytes.status());
    return device::CudaErrorOf(bytes.status());
  }
  return Adopt(std::make_unique<Module>(*bytes, LinkedParts(image)), module, reason);
}

CudaError LoadModuleFile(const char* path, Module** module) {
  if (path == nullptr) return CudaError::kInvalidValue;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CudaError::kFileNotFound;
  std::vector<char> content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<std::byte> image(content.size());
  std::memcpy(image.data(), content.data(), content.size());
  return Adopt(std::make_unique<Module>(std::move(image)), module, nullptr);
}

CudaError UnloadModule(Module* module) {
  if (!Registry::Get().RemoveModule(module)) return CudaError::kInvalidHandle;
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  absl::MutexLock lock(&module->mutex);
  if (!module->LoadedIn(*connection)) return CudaError::kSuccess;
  for (const uint64_t address : module->shared) UnshareVariable(address);
  return connection->session->Post(offload::UnloadModule{module->id});
}

bool IsModule(const Module* module) { return Registry::Get().Contains(module); }

CudaError KernelNames(Module* module, std::vector<const char*>* names) {
  absl::MutexLock lock(&module->mutex);
  const absl::Status parsed = module->Parse();
  if (!parsed.ok()) return device::CudaErrorOf(parsed);
  for (const auto& [name, index] : module->ptx()->function_index) {
    if (module->ptx()->functions[index].is_entry) names->push_back(name.c_str());
  }
  return CudaError::kSuccess;
}

CudaError FindFunction(Module* module, const char* name, Function** function) {
  if (name == nullptr) return CudaError::kInvalidValue;
  if (!IsModule(module)) return CudaError::kInvalidHandle;
  bool has_ptx = false;
  {
    absl::MutexLock lock(&module->mutex);
    has_ptx = module->Parse().ok();
    if (has_ptx) {
      const device::ptx::Function* const found = module->ptx()->FindFunction(name);
      if (found == nullptr || !found->is_entry) return CudaError::kNotFound;
    }
  }
  Function* const made = Registry::Get().AddFunction(module, name);
  if (!has_ptx) {
    CudaError error = CudaError::kSuccess;
    Connection* const connection = Process::Get().Connect(&error);
    device::FunctionAttributes attributes;
    if (connection != nullptr) error = made->Attributes(*connection, &attributes);
    if (error != CudaError::kSuccess) return error;
  }
  *function = made;
  return CudaError::kSuccess;
}

Function* ResolveFunction(const void* handle) { return Registry::Get().Resolve(handle); }
const void* HostFunctionOf(Function* function) { return Registry::Get().HostFunctionOf(function); }
const char* FunctionName(const Function* function) { return function->name.c_str(); }
Module* FunctionModule(const Function* function) { return function->module; }

CudaError FunctionAttributes(Function* function, device::FunctionAttributes* attributes) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  return connection == nullptr ? error : function->Attributes(*connection, attributes);
}

CudaError ParameterLayout(Function* function, std::vector<device::ParameterLayout>* layout) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  const std::vector<device::ParameterLayout>* found = nullptr;
  error = function->Layout(*connection, &found);
  if (error == CudaError::kSuccess) *layout = *found;
  return error;
}

CudaError SetMaxDynamicShared(Function* function, uint32_t bytes) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  return connection == nullptr ? error : function->SetMaxDynamic(*connection, bytes);
}

CudaError AvailableShared(Function* function, int blocks, int block_threads, size_t* bytes) {
  if (bytes == nullptr || blocks <= 0 || block_threads <= 0) return CudaError::kInvalidValue;
  device::FunctionAttributes attributes;
  const CudaError error = FunctionAttributes(function, &attributes);
  if (error != CudaError::kSuccess) return error;
  const device::DeviceProperties& device = Properties();
  const uint64_t share = std::min<uint64_t>(device.shared_per_multiprocessor / static_cast<uint32_t>(blocks),
                                            device.shared_per_block_optin);
  *bytes = share > attributes.static_shared_bytes ? share - attributes.static_shared_bytes : 0;
  return CudaError::kSuccess;
}

uint32_t MaxDynamicShared(const Function* function) {
  if (function->max_dynamic_shared() != 0) return function->max_dynamic_shared();
  Connection* const connection = Process::Get().Current();
  return connection == nullptr ? 48u << 10 : connection->session->welcome().properties.shared_per_block;
}

CudaError FindVariable(Module* module, const char* name, uint64_t* address, uint64_t* size) {
  if (name == nullptr) return CudaError::kInvalidValue;
  if (!IsModule(module)) return CudaError::kInvalidHandle;
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  device::Symbol symbol;
  error = module->FindVariable(*connection, name, &symbol);
  if (error != CudaError::kSuccess) return error;
  if (address != nullptr) *address = symbol.address;
  if (size != nullptr) *size = symbol.size;
  return CudaError::kSuccess;
}

CudaError FindManagedVariable(Module* module, const char* name, uint64_t* address, uint64_t* size) {
  if (name == nullptr) return CudaError::kInvalidValue;
  if (!IsModule(module)) return CudaError::kInvalidHandle;
  if (DeclaresManaged(*module, name) == false) return CudaError::kNotFound;
  uint64_t at = 0, bytes = 0;
  CudaError error = FindVariable(module, name, &at, &bytes);
  if (error == CudaError::kSuccess && !FindShared(at, nullptr)) {
    error = ShareVariable(at, bytes);
    absl::MutexLock lock(&module->mutex);
    module->shared.push_back(at);
  }
  if (error != CudaError::kSuccess) return error;
  if (address != nullptr) *address = at;
  if (size != nullptr) *size = bytes;
  return CudaError::kSuccess;
}

CudaError FindModuleVariable(Module* module, const char* name, uint64_t* address, uint64_t* size) {
  const bool is_managed = name != nullptr && IsModule(module) && DeclaresManaged(*module, name) == true;
  return is_managed ? FindManagedVariable(module, name, address, size) : FindVariable(module, name, address, size);
}

CudaError FindHostVariable(const void* host_variable, uint64_t* address, uint64_t* size) {
  if (FindShared(reinterpret_cast<uint64_t>(host_variable), size)) {  // a __managed__ one is given by its address
    if (address != nullptr) *address = reinterpret_cast<uint64_t>(host_variable);
    return CudaError::kSuccess;
  }
  const auto variable = Registry::Get().FindVariable(host_variable);
  if (!variable) return CudaError::kInvalidSymbol;
  const CudaError error = FindVariable(variable->module, variable->name.c_str(), address, size);
  return error == CudaError::kNotFound ? CudaError::kInvalidSymbol : error;
}

}  // namespace wharf::client
