#include "wharf/cudashim/client/module_state.h"

#include <algorithm>
#include <utility>

#include "wharf/base/log.h"
#include "wharf/device/fatbin/fatbin.h"
#include "wharf/device/fatbin/machine_code.h"
#include "wharf/device/ptx/parser.h"

namespace wharf::client {

Function::Function(Module* owner, std::string given)
    : module(owner), name(std::move(given)), id(Process::Get().NewId()) {}

CudaError Function::Define(Connection& connection) {
  if (defined_in_.load(std::memory_order_acquire) == connection.generation) return CudaError::kSuccess;
  absl::MutexLock lock(&module->mutex);
  if (defined_in_.load() == connection.generation) return CudaError::kSuccess;
  CudaError error = module->Load(connection, fmt::format("kernel {}", name));
  if (error != CudaError::kSuccess) return error;
  if (module->ptx() != nullptr && module->ptx()->FindFunction(name) == nullptr)
    return CudaError::kInvalidDeviceFunction;
  error = connection.session->Post(offload::DefineFunction{id, module->id, name});
  if (error == CudaError::kSuccess && max_dynamic_ != 0) {
    error = connection.session->Post(offload::SetMaxDynamicShared{id, max_dynamic_});
  }
  if (error == CudaError::kSuccess) defined_in_.store(connection.generation, std::memory_order_release);
  return error;
}

CudaError Function::Layout(Connection& connection, const std::vector<device::ParameterLayout>** layout) {
  *layout = &layout_;
  if (layout_known_.load(std::memory_order_acquire)) return CudaError::kSuccess;
  {
    absl::MutexLock lock(&module->mutex);
    if (layout_known_.load()) return CudaError::kSuccess;
    if (module->Parse().ok()) {
      const device::ptx::Function* const found = module->ptx()->FindFunction(name);
      if (found == nullptr || !found->is_entry) return CudaError::kInvalidDeviceFunction;
      layout_ = device::ptx::LayoutParameters(*found);
      layout_known_.store(true, std::memory_order_release);
      return CudaError::kSuccess;
    }
  }
  device::FunctionAttributes attributes;
  const CudaError error = Attributes(connection, &attributes);
  if (error != CudaError::kSuccess) return error;
  absl::MutexLock lock(&module->mutex);
  if (!layout_known_.load()) layout_ = attributes.parameters;
  layout_known_.store(true, std::memory_order_release);
  return CudaError::kSuccess;
}

CudaError Function::Attributes(Connection& connection, device::FunctionAttributes* attributes) {
  CudaError error = Define(connection);
  if (error != CudaError::kSuccess) return error;
  {
    absl::MutexLock lock(&module->mutex);
    if (attributes_of_ == connection.generation) {
      *attributes = attributes_;
      if (max_dynamic_ != 0) attributes->max_dynamic_shared_bytes = max_dynamic_;
      return CudaError::kSuccess;
    }
  }
  if (no_code_in_.load() == connection.generation) return CudaError::kNoBinaryForDevice;
  offload::GetAttributes::Reply reply;
  error = connection.session->AskOnce(offload::GetAttributes{id}, &reply);
  if (error == CudaError::kNoBinaryForDevice) no_code_in_.store(connection.generation);  // said once
  if (error != CudaError::kSuccess) return error;
  *attributes = reply.attributes;
  absl::MutexLock lock(&module->mutex);
  attributes_ = std::move(reply.attributes);
  attributes_of_ = connection.generation;
  return CudaError::kSuccess;
}

CudaError Function::SetMaxDynamic(Connection& connection, uint32_t bytes) {
  if (bytes > connection.session->welcome().properties.shared_per_block_optin) return CudaError::kInvalidValue;
  CudaError error = Define(connection);
  if (error == CudaError::kSuccess) error = connection.session->Post(offload::SetMaxDynamicShared{id, bytes});
  if (error == CudaError::kSuccess) max_dynamic_.store(bytes);
  return error;
}

Module::Module(std::span<const std::byte> image, std::vector<const void*> parts)
    : id(Process::Get().NewId()), image_(image), parts_(std::move(parts)) {}
Module::Module(std::vector<std::byte> image) : id(Process::Get().NewId()), owned_(std::move(image)), image_(owned_) {}

absl::Status Module::Parse() {
  if (parsed_) return parse_status_;
  parsed_ = true;
  if (!parts_.empty()) {
    // On failure the image may still be what a GPU can run.
    const auto linked = LinkParts(parts_);
    parse_status_ = linked.status();
    if (!linked.ok()) return parse_status_;
    const auto* const text = reinterpret_cast<const std::byte*>(linked->c_str());
    owned_.assign(text, text + linked->size() + 1);
    image_ = owned_;
  }
  auto parsed = ParseImage(image_);
  parse_status_ = parsed.status();
  if (parsed.ok()) ptx_ = *std::move(parsed);
  return parse_status_;
}

std::span<const std::byte> Module::ImageFor(const Connection& connection) {
  if (ptx_ != nullptr || connection.session->welcome().properties.driver != "soft") return image_;
  if (outline_.empty()) {
    const auto code = device::fatbin::FindMachineCode(image_);
    auto outline = code.ok() ? device::fatbin::WithoutCode(*code) : code.status();
    if (!outline.ok()) return image_;  // the server says what is wrong with it
    outline_ = *std::move(outline);
  }
  return outline_;
}

CudaError Module::Load(Connection& connection, const std::string& what) {
  if (LoadedIn(connection)) return CudaError::kSuccess;
  if (const absl::Status status = Parse(); !status.ok()) {
    // A real GPU may run what has no PTX, and a server may have PTX for it.
    const offload::Welcome& server = connection.session->welcome();
    const bool needs_ptx = server.properties.driver == "soft" && (server.features & offload::kFeatureKernelPacks) == 0;
    if (needs_ptx || device::CudaErrorOf(status) != CudaError::kNoBinaryForDevice) {
      if (!std::exchange(told_, true)) {
        const char* const way_out =
            needs_ptx ? "; or give the server a kernel pack of its source (wharf serve --kernel-pack, docs/packs.md)"
                      : "";
        TellUser(fmt::format("{}: {}{}", what, Message(status), way_out));
      }
      return device::CudaErrorOf(status);
    }
  }
  const std::span<const std::byte> image = ImageFor(connection);
  for (size_t offset = 0; offset < image.size();) {
    const size_t size = std::min<size_t>(image.size() - offset, offload::kMaxBulkBytes);
    const bool final = offset + size == image.size();
    const auto ownership = size > (4 << 20) ? link::BulkOwnership::kBorrow : link::BulkOwnership::kCopy;
    const CudaError error =
        connection.session->Post(offload::LoadModule{id, final}, image.subspan(offset, size), ownership);
    if (error != CudaError::kSuccess) return error;
    offset += size;
  }
  loaded_in_ = connection.generation;
  shared.clear();  // of a session before
  return CudaError::kSuccess;
}

CudaError Module::FindVariable(Connection& connection, const std::string& name, device::Symbol* symbol) {
  {
    absl::MutexLock lock(&mutex);
    if (variables_of_ != connection.generation) {
      variables_.clear();
      variables_of_ = connection.generation;
    }
    if (const auto found = variables_.find(name); found != variables_.end()) {
      *symbol = found->second;
      return CudaError::kSuccess;
    }
    const CudaError error = Load(connection, fmt::format("variable {}", name));
    if (error != CudaError::kSuccess) return error;
    if (ptx_ != nullptr && ptx_->FindVariable(name) == nullptr) return CudaError::kNotFound;
  }
  offload::FindSymbol::Reply reply;
  const CudaError error = connection.session->AskOnce(offload::FindSymbol{id, name}, &reply);
  if (error != CudaError::kSuccess) return error;
  *symbol = reply.symbol;
  {
    absl::MutexLock lock(&connection.mutex);
    connection.variables[reply.symbol.address] = reply.symbol.size;
  }
  absl::MutexLock lock(&mutex);
  variables_[name] = reply.symbol;
  return CudaError::kSuccess;
}

Registry& Registry::Get() {
  static Registry* const registry = new Registry();
  return *registry;
}

void Registry::AddModule(Module* module) {
  absl::MutexLock lock(&mutex_);
  modules_.insert(module);
}

bool Registry::RemoveModule(Module* module) {
  absl::MutexLock lock(&mutex_);
  if (modules_.erase(module) == 0) return false;
  absl::MutexLock module_lock(&module->mutex);
  for (const auto& [name, function] : module->functions) functions_.erase(function.get());
  std::erase_if(host_functions_, [&](const auto& entry) { return entry.second->module == module; });
  std::erase_if(host_variables_, [&](const auto& entry) { return entry.second.module == module; });
  return true;
}

bool Registry::Contains(const Module* module) {
  absl::MutexLock lock(&mutex_);
  return modules_.contains(module);
}

Function* Registry::AddFunction(Module* module, const std::string& name) {
  absl::MutexLock lock(&mutex_);
  absl::MutexLock module_lock(&module->mutex);
  std::unique_ptr<Function>& function = module->functions[name];
  if (function == nullptr) {
    function = std::make_unique<Function>(module, name);
    functions_.insert(function.get());
  }
  return function.get();
}

void Registry::BindFunction(const void* host_function, Function* function) {
  absl::MutexLock lock(&mutex_);
  host_functions_[host_function] = function;
}

void Registry::BindVariable(const void* host_variable, Module* module, std::string name) {
  absl::MutexLock lock(&mutex_);
  host_variables_[host_variable] = {module, std::move(name)};
}

Function* Registry::Resolve(const void* handle) {
  absl::MutexLock lock(&mutex_);
  if (functions_.contains(handle)) return static_cast<Function*>(const_cast<void*>(handle));
  const auto found = host_functions_.find(handle);
  return found == host_functions_.end() ? nullptr : found->second;
}

const void* Registry::HostFunctionOf(Function* function) {
  absl::MutexLock lock(&mutex_);
  const auto found = std::find_if(host_functions_.begin(), host_functions_.end(),
                                  [&](const auto& entry) { return entry.second == function; });
  return found == host_functions_.end() ? function : found->first;
}

std::optional<HostVariable> Registry::FindVariable(const void* host_variable) {
  absl::MutexLock lock(&mutex_);
  const auto found = host_variables_.find(host_variable);
  if (found == host_variables_.end()) return std::nullopt;
  return found->second;
}

}  // namespace wharf::client
