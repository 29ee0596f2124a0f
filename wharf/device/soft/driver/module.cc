#include "wharf/device/soft/driver/module.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <span>
#include <utility>

#include "wharf/device/fatbin/fatbin.h"
#include "wharf/device/fatbin/machine_code.h"
#include "wharf/device/pack/name.h"
#include "wharf/device/ptx/footprint.h"
#include "wharf/device/ptx/parser.h"
#include "wharf/device/soft/runtime/function_address.h"

namespace wharf::device::soft {
namespace {

bool IsModuleVariable(const ptx::Variable& variable) {
  return variable.space == ptx::Space::kGlobal || variable.space == ptx::Space::kConst;
}

// The container's errors in CUDA's terms.
absl::Status ImageStatus(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnimplemented:
      return CudaStatus(CudaError::kNoBinaryForDevice, std::string(Message(status)));
    case absl::StatusCode::kResourceExhausted:
      return CudaStatus(CudaError::kOutOfMemory, std::string(Message(status)));
    default:
      return CudaStatus(CudaError::kInvalidImage, std::string(Message(status)));
  }
}

absl::StatusOr<GuardedCode> CompileGuardedNow(const ptx::Module& ptx, const std::string& kernel, Compiler& compiler) {
  GuardedCode code;
  WHARF_ASSIGN_OR_RETURN(code.kernel, ptx::GuardKernel(ptx, kernel));
  WHARF_ASSIGN_OR_RETURN(const std::shared_ptr<const ptx::Module> module, ptx::Parse(code.kernel.ptx));
  const SymbolResolver no_variables = nullptr;  // it has none
  WHARF_ASSIGN_OR_RETURN(code.compiled, compiler.Compile(*module, kernel, no_variables));
  return code;
}

}  // namespace

absl::StatusOr<LoadedModule::Stood> LoadedModule::StandIn(const std::vector<std::byte>& image,
                                                          const pack::PackSet* packs, const absl::Status& no_ptx,
                                                          std::shared_ptr<const ptx::Module>* ptx) {
  const absl::StatusOr<std::vector<std::byte>> bytes = fatbin::FindMachineCode(image);
  if (absl::IsNotFound(bytes.status())) return ImageStatus(no_ptx);
  if (!bytes.ok()) return ImageStatus(bytes.status());
  const absl::StatusOr<fatbin::MachineCode> code = fatbin::ReadMachineCode(*bytes);
  if (!code.ok()) return CudaStatus(CudaError::kInvalidImage, std::string(Message(code.status())));
  if (code->kernels.empty()) return ImageStatus(no_ptx);
  Stood stood;
  for (const fatbin::MachineKernel& kernel : code->kernels) stood.kernels.insert(kernel.name);
  absl::StatusOr<pack::Match> match =
      packs == nullptr ? NotFound("{}", pack::WithoutPtx(code->sm)) : packs->Find(*code);
  if (match.ok()) {
    *ptx = std::move(match->ptx);
    stood.kernel_names = std::move(match->kernels);
    stood.variable_names = std::move(match->variables);
  } else {
    *ptx = std::make_shared<const ptx::Module>();
    stood.why = match.status();
  }
  return stood;
}

absl::StatusOr<std::unique_ptr<LoadedModule>> LoadedModule::Load(const std::vector<std::byte>& image,
                                                                 const pack::PackSet* packs, Memory& memory,
                                                                 Compiler& compiler, IdleWorker& background) {
  absl::StatusOr<std::string> text = fatbin::FindPtx(image);
  if (!text.ok() && !absl::IsUnimplemented(text.status())) return ImageStatus(text.status());
  std::shared_ptr<const ptx::Module> ptx;
  std::optional<Stood> stood;
  if (text.ok()) {
    WHARF_ASSIGN_OR_RETURN(ptx, ptx::Parse(*std::move(text)));
  } else {
    WHARF_ASSIGN_OR_RETURN(stood, StandIn(image, packs, text.status(), &ptx));
  }
  std::unique_ptr<LoadedModule> module(new LoadedModule(std::move(ptx), compiler, background));
  module->stood_ = std::move(stood);
  WHARF_RETURN_IF_ERROR(module->PlaceVariables(memory));
  return module;
}

absl::Status LoadedModule::PlaceVariables(Memory& memory) {
  uint64_t size = 0;
  for (const ptx::Variable& variable : ptx_->variables) {
    if (!IsModuleVariable(variable) || variable.is_extern) continue;
    const uint64_t element = uint64_t{ptx::SizeOf(variable.type)} * variable.vector;
    if (element != 0 && variable.elements > memory.quota() / element) {
      return CudaStatus(CudaError::kOutOfMemory, "variable {} is larger than the session's memory", variable.name);
    }
    const uint64_t alignment = std::bit_ceil(std::clamp<uint64_t>(variable.alignment, 16, Memory::kGranularity));
    size = (size + alignment - 1) / alignment * alignment;
    if (size > memory.quota()) return CudaStatus(CudaError::kOutOfMemory, "the module's variables exceed the memory");
    symbols_[variable.name] = {.address = size, .size = variable.Bytes()};
    size += variable.Bytes();
    if (variable.space == ptx::Space::kConst) const_bytes_ += variable.Bytes();
  }
  if (symbols_.empty()) return absl::OkStatus();
  WHARF_ASSIGN_OR_RETURN(base_, memory.Allocate(size));
  for (auto& [name, symbol] : symbols_) symbol.address += base_;
  for (const ptx::Variable& variable : ptx_->variables) {
    const auto symbol = symbols_.find(variable.name);
    if (IsModuleVariable(variable) && !variable.is_extern && symbol != symbols_.end()) {
      Initialise(variable, symbol->second.address);
    }
  }
  return absl::OkStatus();
}

void LoadedModule::Initialise(const ptx::Variable& variable, DeviceAddress address) {
  const uint32_t element = ptx::SizeOf(variable.type);
  const uint64_t count = std::min<uint64_t>(variable.initializer.size(), variable.Bytes() / std::max(element, 1u));
  for (uint64_t i = 0; i < count; ++i) {
    const ptx::Initializer& initializer = variable.initializer[i];
    uint64_t value = initializer.bits;
    if (ptx_->FindFunction(initializer.symbol) != nullptr) {
      value += FunctionAddress(initializer.symbol);
    } else if (!initializer.symbol.empty()) {
      const auto target = symbols_.find(initializer.symbol);
      if (target == symbols_.end()) {
        unusable_[variable.name] = fmt::format("variable {} holds the address of {}, which is not in the module",
                                               variable.name, initializer.symbol);
        return;
      }
      value += target->second.address;
    }
    if (!initializer.symbol.empty()) {
      if (initializer.mask != 0) value = (value & initializer.mask) >> std::countr_zero(initializer.mask);
    }
    std::memcpy(reinterpret_cast<void*>(address + i * element), &value, std::min<size_t>(element, sizeof value));
  }
}

absl::StatusOr<std::string> LoadedModule::FindKernel(const std::string& name) const {
  if (!stood_) {
    const ptx::Function* function = ptx_->FindFunction(name);
    if (function != nullptr && function->is_entry) return name;
  } else if (stood_->kernels.contains(name)) {
    if (!stood_->why.ok()) {
      return CudaStatus(CudaError::kNoBinaryForDevice, "kernel {}: {}", name, Message(stood_->why));
    }
    const auto known = stood_->kernel_names.find(pack::CanonicalName(name));
    if (known != stood_->kernel_names.end()) return known->second;
  }
  return CudaStatus(CudaError::kNotFound, "the module has no kernel {}", name);
}

absl::StatusOr<Symbol> LoadedModule::FindSymbol(std::string_view name) const {
  if (!stood_) return FindPtxSymbol(name);
  if (!stood_->why.ok()) {
    return CudaStatus(CudaError::kNoBinaryForDevice, "variable {}: {}", name, Message(stood_->why));
  }
  const auto known = stood_->variable_names.find(pack::CanonicalName(name));
  return FindPtxSymbol(known == stood_->variable_names.end() ? name : known->second);
}

absl::StatusOr<Symbol> LoadedModule::FindPtxSymbol(std::string_view name) const {
  const auto symbol = symbols_.find(name);
  if (symbol == symbols_.end()) return CudaStatus(CudaError::kNotFound, "the module has no variable {}", name);
  return symbol->second;
}

absl::StatusOr<Footprint> LoadedModule::FootprintOf(const std::string& kernel) const {
  WHARF_ASSIGN_OR_RETURN(ptx::KernelFootprint found, ptx::FootprintOf(*ptx_, kernel));
  return ptx::Resolve(std::move(found), [this](const std::string& name) { return FindPtxSymbol(name); });
}

absl::StatusOr<std::shared_ptr<const CompiledKernel>> LoadedModule::Describe(const std::string& kernel) {
  absl::MutexLock lock(&kernels_mutex_);
  return DescribeLocked(kernel);
}

absl::StatusOr<std::shared_ptr<const CompiledKernel>> LoadedModule::Compile(const std::string& kernel,
                                                                            const Dim3& block) {
  absl::MutexLock lock(&kernels_mutex_);
  return CompileLocked(kernel, block);
}

const ChildKernels& LoadedModule::Children() {
  absl::MutexLock lock(&kernels_mutex_);
  if (!children_.empty()) return children_;
  for (const ptx::Function& function : ptx_->functions) {
    if (!function.is_entry) continue;
    ChildKernel child{function.name};
    for (const ParameterLayout& parameter : ptx::LayoutParameters(function)) {
      child.parameter_bytes = std::max(child.parameter_bytes, parameter.offset + parameter.size);
    }
    children_[FunctionAddress(function.name)] = std::move(child);
  }
  return children_;
}

LoadedModule::Kernel LoadedModule::DescribeLocked(const std::string& kernel) {
  const auto known = described_.find(kernel);
  if (known != described_.end()) return known->second;
  return described_.emplace(kernel, compiler_.Describe(*ptx_, kernel)).first->second;
}

LoadedModule::Kernel LoadedModule::CompileLocked(const std::string& kernel, const Dim3& block) {
  WHARF_ASSIGN_OR_RETURN(const std::shared_ptr<const CompiledKernel> described, DescribeLocked(kernel));
  Shape shape{0, 0, 0};
  if (described->by_shape) {
    shape = {block.x, block.y, block.z};
  } else if (IsNarrow(block)) {
    WHARF_ASSIGN_OR_RETURN(const std::shared_ptr<const CompiledKernel> any, CompileLocked(kernel, kAnyBlock));
    if (!any->wide) return any;
    shape = {kNarrow.x, kNarrow.y, kNarrow.z};
  }
  auto& known = kernels_[kernel];
  // A program that tries out shapes gets code for any of them, in the end.
  constexpr size_t kMostShapes = 8;
  if (!known.contains(shape) && known.size() >= kMostShapes) shape = {0, 0, 0};
  if (const auto found = known.find(shape); found != known.end()) return found->second;
  return known.emplace(shape, CompileNow(kernel, {shape[0], shape[1], shape[2]})).first->second;
}

LoadedModule::Kernel LoadedModule::CompileNow(const std::string& kernel, const Dim3& block) {
  absl::Status unusable;
  const SymbolResolver resolve = [&](std::string_view name) -> void* {
    if (const auto why = unusable_.find(name); why != unusable_.end()) {
      unusable = CudaStatus(CudaError::kUnsupportedPtx, "kernel {}: {}", kernel, why->second);
    }
    const auto symbol = symbols_.find(name);
    return symbol == symbols_.end() ? nullptr : reinterpret_cast<void*>(symbol->second.address);
  };
  absl::StatusOr<std::shared_ptr<const CompiledKernel>> compiled = compiler_.Compile(*ptx_, kernel, resolve, block);
  if (!unusable.ok()) return unusable;
  return compiled;
}

const LoadedModule::FutureCode& LoadedModule::Guarded(const std::string& kernel) {
  const auto known = guarded_.find(kernel);
  if (known != guarded_.end()) return known->second;
  auto task = std::make_shared<std::packaged_task<absl::StatusOr<GuardedCode>()>>(
      [ptx = ptx_, &compiler = compiler_, kernel] { return CompileGuardedNow(*ptx, kernel, compiler); });
  background_.Push([task] { (*task)(); });
  return guarded_.emplace(kernel, task->get_future().share()).first->second;
}

bool LoadedModule::PrepareGuarded(const std::string& kernel) {
  return Guarded(kernel).wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

absl::StatusOr<const GuardedCode*> LoadedModule::CompileGuarded(const std::string& kernel) {
  const absl::StatusOr<GuardedCode>& code = Guarded(kernel).get();
  if (!code.ok()) return code.status();
  return &*code;
}

}  // namespace wharf::device::soft
