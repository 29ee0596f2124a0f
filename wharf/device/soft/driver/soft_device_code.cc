// SoftDevice's modules, functions and launches.
#include <algorithm>
#include <utility>

#include "wharf/device/occupancy.h"
#include "wharf/device/ptx/parser.h"
#include "wharf/device/soft/driver/box.h"
#include "wharf/device/soft/driver/soft_device.h"

namespace wharf::device::soft {
namespace {
constexpr uint32_t kMaxLocalBytes = 512 << 10;  // of one thread, as on every architecture of CUDA
}

absl::StatusOr<std::shared_ptr<LoadedModule>> SoftDevice::FindModule(ModuleId id) const {
  const auto module = modules_.find(id);
  if (module == modules_.end()) return CudaStatus(CudaError::kInvalidHandle, "there is no module {}", id);
  return module->second;
}

absl::Status SoftDevice::LoadModule(ModuleId id, std::vector<std::byte> image) {
  if (modules_.contains(id)) return CudaStatus(CudaError::kInvalidValue, "module {} exists already", id);
  WHARF_ASSIGN_OR_RETURN(std::unique_ptr<LoadedModule> module,
                         LoadedModule::Load(image, packs_.get(), *memory_, *compiler_, background_));
  modules_[id] = std::move(module);
  return absl::OkStatus();
}

absl::Status SoftDevice::UnloadModule(ModuleId id) {
  WHARF_ASSIGN_OR_RETURN(const std::shared_ptr<const LoadedModule> module, FindModule(id));
  if (const DeviceAddress base = module->variables_base(); base != 0) {
    WHARF_ASSIGN_OR_RETURN(const uint64_t size, memory_->Unmap(base));
    Enqueue(streams_[kDefaultStream], [this, base, size] { memory_->Decommit(base, size); });
  }
  ++names_version_;
  ++memory_version_;
  modules_.erase(id);
  std::erase_if(functions_, [id](const auto& function) { return function.second.module == id; });
  return absl::OkStatus();
}

absl::Status SoftDevice::DefineFunction(FunctionId id, ModuleId module_id, const std::string& name) {
  WHARF_ASSIGN_OR_RETURN(const std::shared_ptr<const LoadedModule> module, FindModule(module_id));
  Function function;
  function.kernel = module->FindKernel(name);
  // One without code is defined, so that whoever wants to launch it is told.
  if (CudaErrorOf(function.kernel.status()) == CudaError::kNotFound) return function.kernel.status();
  function.module = module_id;
  function.name = std::make_shared<const std::string>(name);
  if (!functions_.emplace(id, std::move(function)).second) {
    return CudaStatus(CudaError::kInvalidValue, "function {} exists already", id);
  }
  return absl::OkStatus();
}

uint32_t SoftDevice::DefaultDynamicShared(const CompiledKernel& described) const {
  return properties_.shared_per_block - std::min(described.static_shared_bytes, properties_.shared_per_block);
}

absl::StatusOr<SoftDevice::Function*> SoftDevice::FindFunction(FunctionId id) {
  const auto found = functions_.find(id);
  if (found == functions_.end()) return CudaStatus(CudaError::kInvalidHandle, "there is no function {}", id);
  Function& function = found->second;
  if (function.described == nullptr) {
    WHARF_RETURN_IF_ERROR(function.kernel.status());
    WHARF_ASSIGN_OR_RETURN(const std::shared_ptr<LoadedModule> module, FindModule(function.module));
    WHARF_ASSIGN_OR_RETURN(const std::shared_ptr<const CompiledKernel> described, module->Describe(*function.kernel));
    // Nobody should have to launch a kernel to learn that it cannot be compiled.
    if (!described->by_shape) WHARF_RETURN_IF_ERROR(module->Compile(*function.kernel, kAnyBlock).status());
    function.described = described;
    function.max_dynamic_shared = DefaultDynamicShared(*described);
  }
  return &function;
}

absl::StatusOr<std::shared_ptr<const CompiledKernel>> SoftDevice::CodeFor(Function& function,
                                                                          const LaunchConfig& config) {
  if (function.last_code != nullptr && function.last_block == config.block) return function.last_code;
  WHARF_ASSIGN_OR_RETURN(const std::shared_ptr<LoadedModule> module, FindModule(function.module));
  WHARF_ASSIGN_OR_RETURN(function.last_code, module->Compile(*function.kernel, config.block));
  function.last_block = config.block;
  return function.last_code;
}

absl::StatusOr<FunctionAttributes> SoftDevice::Attributes(FunctionId id) {
  WHARF_ASSIGN_OR_RETURN(const Function* function, FindFunction(id));
  WHARF_ASSIGN_OR_RETURN(const std::shared_ptr<const LoadedModule> module, FindModule(function->module));
  const CompiledKernel& kernel = *function->described;
  FunctionAttributes attributes;
  attributes.static_shared_bytes = kernel.static_shared_bytes;
  attributes.const_bytes = static_cast<uint32_t>(std::min<uint64_t>(module->const_bytes(), ~0u));
  attributes.local_bytes = kernel.local_bytes;
  attributes.max_threads_per_block = static_cast<uint32_t>(properties_.max_threads_per_block);
  if (kernel.max_threads != 0) {
    attributes.max_threads_per_block = std::min(attributes.max_threads_per_block, kernel.max_threads);
  }
  attributes.max_dynamic_shared_bytes = function->max_dynamic_shared;
  attributes.ptx_version = attributes.binary_version = static_cast<int32_t>(module->ptx().target_sm);
  attributes.parameters = kernel.parameters;
  return attributes;
}

absl::Status SoftDevice::SetMaxDynamicShared(FunctionId id, uint32_t bytes) {
  WHARF_ASSIGN_OR_RETURN(Function * function, FindFunction(id));
  const uint32_t used = function->described->static_shared_bytes;
  if (used > properties_.shared_per_block_optin || bytes > properties_.shared_per_block_optin - used) {
    return CudaStatus(CudaError::kInvalidValue,
                      "{} bytes of dynamic shared memory: with {} static ones {} are too many", bytes, used,
                      uint64_t{bytes} + used);
  }
  function->max_dynamic_shared = bytes;
  ++names_version_;
  return absl::OkStatus();
}

absl::StatusOr<Footprint> SoftDevice::FootprintOf(FunctionId id) {
  const auto found = functions_.find(id);
  if (found == functions_.end()) return CudaStatus(CudaError::kInvalidHandle, "there is no function {}", id);
  Function& function = found->second;
  if (!function.footprint) {
    WHARF_RETURN_IF_ERROR(function.kernel.status());
    WHARF_ASSIGN_OR_RETURN(const std::shared_ptr<const LoadedModule> module, FindModule(function.module));
    WHARF_ASSIGN_OR_RETURN(function.footprint, module->FootprintOf(*function.kernel));
  }
  return *function.footprint;
}

absl::StatusOr<Symbol> SoftDevice::FindSymbol(ModuleId module_id, const std::string& name) {
  WHARF_ASSIGN_OR_RETURN(const std::shared_ptr<const LoadedModule> module, FindModule(module_id));
  return module->FindSymbol(name);
}

absl::Status SoftDevice::CheckCooperative(const Function& function, const LaunchConfig& config) const {
  FunctionAttributes attributes;
  attributes.static_shared_bytes = function.described->static_shared_bytes;
  const uint64_t blocks = config.grid.Count(), most = BlocksAtOnce(properties_, attributes, config);
  if (blocks > most) {
    return CudaStatus(CudaError::kCooperativeLaunchTooLarge, "kernel {}: {} blocks at once, {} fit", *function.name,
                      blocks, most);
  }
  if (!executor_->IsResident(config)) {
    return CudaStatus(CudaError::kCooperativeLaunchTooLarge,
                      "kernel {}: {} threads at once are more than this process may have stacks: raise "
                      "vm.max_map_count or serve fewer threads",
                      *function.name, blocks * config.block.Count());
  }
  return absl::OkStatus();
}

absl::Status SoftDevice::CheckLaunch(const Function& function, const LaunchConfig& config,
                                     size_t parameter_bytes) const {
  const CompiledKernel& kernel = *function.described;
  const Dim3 &grid = config.grid, &block = config.block;
  if (!IsInRange(grid, block, properties_)) {
    return CudaStatus(CudaError::kInvalidConfiguration,
                      "kernel {}: grid ({},{},{}) of blocks ({},{},{}) is out of range", *function.name, grid.x, grid.y,
                      grid.z, block.x, block.y, block.z);
  }
  const Dim3 required{kernel.required_block[0], kernel.required_block[1], kernel.required_block[2]};
  if (required.x != 0 && !(required == block)) {
    return CudaStatus(CudaError::kInvalidValue, "kernel {} requires blocks of ({},{},{})", *function.name, required.x,
                      required.y, required.z);
  }
  if (kernel.max_threads != 0 && block.Count() > kernel.max_threads) {
    return CudaStatus(CudaError::kLaunchOutOfResources, "kernel {} is built for {} threads a block, not {}",
                      *function.name, kernel.max_threads, block.Count());
  }
  if (kernel.static_shared_bytes > properties_.shared_per_block) {
    return CudaStatus(CudaError::kLaunchOutOfResources, "kernel {} needs {} bytes of shared memory", *function.name,
                      kernel.static_shared_bytes);
  }
  if (kernel.local_bytes > kMaxLocalBytes) {
    return CudaStatus(CudaError::kLaunchOutOfResources, "kernel {} needs {} bytes of local memory a thread, {} allowed",
                      *function.name, kernel.local_bytes, kMaxLocalBytes);
  }
  if (config.shared_bytes > function.max_dynamic_shared) {
    return CudaStatus(CudaError::kInvalidValue, "kernel {}: {} bytes of dynamic shared memory, {} allowed",
                      *function.name, config.shared_bytes, function.max_dynamic_shared);
  }
  if (config.cooperative) WHARF_RETURN_IF_ERROR(CheckCooperative(function, config));
  if (parameter_bytes < kernel.parameter_bytes) {
    return CudaStatus(CudaError::kInvalidValue, "kernel {} takes {} bytes of parameters, {} given", *function.name,
                      kernel.parameter_bytes, parameter_bytes);
  }
  return absl::OkStatus();
}

absl::Status SoftDevice::Launch(StreamId stream_id, FunctionId function_id, const LaunchConfig& config,
                                std::vector<std::byte> parameters) {
  WHARF_ASSIGN_OR_RETURN(std::shared_ptr<Timeline> stream, FindStream(stream_id));
  WHARF_ASSIGN_OR_RETURN(Function * function, FindFunction(function_id));
  WHARF_RETURN_IF_ERROR(CheckLaunch(*function, config, parameters.size()));
  WHARF_ASSIGN_OR_RETURN(std::shared_ptr<const CompiledKernel> code, CodeFor(*function, config));
  WHARF_ASSIGN_OR_RETURN(std::shared_ptr<LoadedModule> parent, ParentModule(*function));
  if (parent == nullptr) {
    EnqueueLaunch(std::move(stream), *function, std::move(code), config, std::move(parameters));
    return absl::OkStatus();
  }
  EnqueueWork(std::move(stream), [this, code = std::move(code), name = function->name, config,
                                  parameters = std::move(parameters), parent = std::move(parent)] {
    return RunLaunch({.kernel = code.get(), .name = *name, .config = config, .parameters = parameters.data()},
                     parent.get());
  });
  return absl::OkStatus();
}

bool SoftDevice::PrepareGuarded(FunctionId id) {
  const auto function = functions_.find(id);
  if (function == functions_.end() || !function->second.kernel.ok()) return true;
  const absl::StatusOr<std::shared_ptr<LoadedModule>> module = FindModule(function->second.module);
  return !module.ok() || (*module)->PrepareGuarded(*function->second.kernel);
}

absl::Status SoftDevice::LaunchGuarded(StreamId stream_id, FunctionId function_id, const LaunchConfig& config,
                                       std::vector<std::byte> parameters, const Guard& guard) {
  if (config.cooperative) return CudaStatus(CudaError::kNotSupported, "a cooperative launch cannot be guarded");
  WHARF_ASSIGN_OR_RETURN(std::shared_ptr<Timeline> stream, FindStream(stream_id));
  WHARF_ASSIGN_OR_RETURN(const Function* function, FindFunction(function_id));
  WHARF_RETURN_IF_ERROR(CheckLaunch(*function, config, parameters.size()));
  WHARF_ASSIGN_OR_RETURN(const std::shared_ptr<LoadedModule> module, FindModule(function->module));
  WHARF_ASSIGN_OR_RETURN(const GuardedCode* code, module->CompileGuarded(*function->kernel));
  WHARF_ASSIGN_OR_RETURN(parameters, code->kernel.Parameters(std::move(parameters), guard));
  EnqueueLaunch(std::move(stream), *function, code->compiled, config, std::move(parameters));
  return absl::OkStatus();
}

void SoftDevice::EnqueueLaunch(std::shared_ptr<Timeline> stream, const Function& function,
                               std::shared_ptr<const CompiledKernel> kernel, const LaunchConfig& config,
                               std::vector<std::byte> parameters) {
  EnqueueWork(std::move(stream), [this, kernel = std::move(kernel), name = function.name, config,
                                  parameters = std::move(parameters)] {
    return executor_->Run({.kernel = kernel.get(), .name = *name, .config = config, .parameters = parameters.data()});
  });
}

absl::StatusOr<std::shared_ptr<LoadedModule>> SoftDevice::ParentModule(const Function& function) const {
  if (!function.described->launches_kernels) return nullptr;
  return FindModule(function.module);
}

absl::Status SoftDevice::RunLaunch(const KernelLaunch& launch, LoadedModule* module) {
  if (module == nullptr) return executor_->Run(launch);
  ChildLaunches children(module->Children(), properties_, services_.heap);
  KernelLaunch parent = launch;
  parent.children = &children;
  WHARF_RETURN_IF_ERROR(executor_->Run(parent));
  while (const std::optional<ChildWork> work = children.Next()) {
    if (const auto* const child = std::get_if<ChildLaunch>(&*work)) {
      WHARF_RETURN_IF_ERROR(RunChild(*child, children, *module));
    } else {
      WHARF_RETURN_IF_ERROR(RunForKernel(*work, launch.name));
    }
  }
  return absl::OkStatus();
}

absl::Status SoftDevice::RunForKernel(const ChildWork& work, std::string_view kernel) {
  const auto* const fill = std::get_if<ChildFill>(&work);
  const ChildCopy copy = fill == nullptr ? std::get<ChildCopy>(work) : ChildCopy{fill->to, fill->to, fill->bytes};
  for (const DeviceAddress address : {copy.to, copy.from}) {
    if (memory_->IsLive(address, copy.bytes)) continue;
    return CudaStatus(CudaError::kIllegalAddress, "kernel {}: a copy or fill of {} bytes at {:#x}: not all is mapped",
                      kernel, copy.bytes, address);
  }
  const Region to{copy.to}, from{copy.from};
  const Extent extent{copy.bytes};
  if (fill != nullptr) {
    FillBox(to, extent, fill->value, 1);
    NoteWritten(*memory_, to, extent);
  } else {
    NoteCopied(*memory_, to, from, extent);
    CopyBox(to, from, extent);
  }
  return absl::OkStatus();
}

absl::Status SoftDevice::RunChild(const ChildLaunch& child, ChildLaunches& children, LoadedModule& module) {
  const std::string& name = child.kernel->name;
  Function function;
  function.name = std::make_shared<const std::string>(name);
  WHARF_ASSIGN_OR_RETURN(function.described, module.Describe(name));
  function.max_dynamic_shared = DefaultDynamicShared(*function.described);
  WHARF_RETURN_IF_ERROR(CheckLaunch(function, child.config, child.parameters.size()));
  WHARF_ASSIGN_OR_RETURN(const std::shared_ptr<const CompiledKernel> code, module.Compile(name, child.config.block));
  return executor_->Run({.kernel = code.get(),
                         .name = name,
                         .config = child.config,
                         .parameters = child.parameters.data(),
                         .children = &children});
}

}  // namespace wharf::device::soft
