// The CUDA device's modules, functions and queued work.
#include <algorithm>
#include <cstring>

#include "absl/synchronization/notification.h"
#include "wharf/base/log.h"
#include "wharf/device/cuda/box.h"
#include "wharf/device/cuda/cuda_device.h"
#include "wharf/device/cuda/gemm_check.h"
#include "wharf/device/fatbin/fatbin.h"
#include "wharf/device/ptx/footprint.h"
#include "wharf/device/ptx/parser.h"

namespace wharf::device::cuda {

// --- code ---

absl::Status CudaDevice::LoadModule(ModuleId id, std::vector<std::byte> image) {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  WHARF_RETURN_IF_ERROR(gpu_->Fault());
  if (modules_.contains(id)) return CudaStatus(CudaError::kInvalidValue, "module {} exists already", id);
  constexpr size_t kSmallestHeader = 16;  // of a fat binary or cubin; the driver trusts what it reads there
  if (image.size() < kSmallestHeader) return CudaStatus(CudaError::kInvalidImage, "the image is cut short");
  image.push_back(std::byte{0});  // PTX ends in a zero byte
  Module module;
  WHARF_RETURN_IF_ERROR(gpu_->Check((*gpu_)->ModuleLoadData(&module.handle, image.data()), "cuModuleLoadData"));
  module.image = std::move(image);
  modules_[id] = std::move(module);
  return absl::OkStatus();
}

absl::Status CudaDevice::UnloadModule(ModuleId id) {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  const auto it = modules_.find(id);
  if (it == modules_.end()) return CudaStatus(CudaError::kInvalidHandle, "no module {}", id);
  std::erase_if(functions_, [&](const auto& entry) { return entry.second.module == id; });
  std::vector<ModuleHandle> handles = HandlesOf(it->second);
  modules_.erase(it);
  ++names_version_;
  ++memory_version_;  // its variables
  return AfterAll([this, handles = std::move(handles)](const absl::Status&) {
    for (ModuleHandle handle : handles) gpu_->Check((*gpu_)->ModuleUnload(handle), "cuModuleUnload").IgnoreError();
  });
}

std::vector<ModuleHandle> CudaDevice::HandlesOf(const Module& module) {
  std::vector<ModuleHandle> handles{module.handle};
  for (const auto& [kernel, guarded] : module.guarded) {
    if (guarded.ok()) handles.push_back(guarded->module);
  }
  return handles;
}

absl::Status CudaDevice::DefineFunction(FunctionId id, ModuleId module_id, const std::string& name) {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  const auto module = modules_.find(module_id);
  if (module == modules_.end()) return CudaStatus(CudaError::kInvalidHandle, "no module {}", module_id);
  Function function;
  function.module = module_id;
  function.name = name;
  const Result found = (*gpu_)->ModuleGetFunction(&function.handle, module->second.handle, name.c_str());
  if (found == static_cast<Result>(CudaError::kNotFound)) {
    return CudaStatus(CudaError::kNotFound, "the module has no kernel {}", name);
  }
  WHARF_RETURN_IF_ERROR(gpu_->Check(found, "cuModuleGetFunction"));
  auto read = [&](FunctionAttribute attribute, int fallback) {
    int value = fallback;
    (*gpu_)->FuncGetAttribute(&value, attribute, function.handle);
    return value;
  };
  function.static_shared = static_cast<uint32_t>(read(FunctionAttribute::kSharedBytes, 0));
  function.max_dynamic_shared = static_cast<uint32_t>(read(FunctionAttribute::kMaxDynamicShared, 48 << 10));
  function.max_threads = read(FunctionAttribute::kMaxThreadsPerBlock, properties_.max_threads_per_block);
  for (const ParameterLayout& one : ParametersOf(function.handle)) {
    function.parameter_bytes = std::max(function.parameter_bytes, size_t{one.offset} + one.size);
  }
  functions_[id] = std::move(function);
  return absl::OkStatus();
}

absl::StatusOr<CudaDevice::Function*> CudaDevice::FindFunction(FunctionId id) {
  const auto it = functions_.find(id);
  if (it == functions_.end()) return CudaStatus(CudaError::kInvalidHandle, "no function {}", id);
  return &it->second;
}

absl::StatusOr<FunctionAttributes> CudaDevice::Attributes(FunctionId id) {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  WHARF_ASSIGN_OR_RETURN(Function * function, FindFunction(id));
  FunctionAttributes attributes;
  absl::Status status;
  auto read = [&](auto& into, FunctionAttribute attribute) {
    int value = 0;
    absl::Status one =
        gpu_->Check((*gpu_)->FuncGetAttribute(&value, attribute, function->handle), "cuFuncGetAttribute");
    if (one.ok()) into = static_cast<std::remove_reference_t<decltype(into)>>(value);
    if (status.ok()) status = one;
  };
  read(attributes.static_shared_bytes, FunctionAttribute::kSharedBytes);
  read(attributes.const_bytes, FunctionAttribute::kConstBytes);
  read(attributes.local_bytes, FunctionAttribute::kLocalBytes);
  read(attributes.max_threads_per_block, FunctionAttribute::kMaxThreadsPerBlock);
  read(attributes.registers, FunctionAttribute::kRegisters);
  read(attributes.max_dynamic_shared_bytes, FunctionAttribute::kMaxDynamicShared);
  read(attributes.ptx_version, FunctionAttribute::kPtxVersion);
  read(attributes.binary_version, FunctionAttribute::kBinaryVersion);
  WHARF_RETURN_IF_ERROR(status);
  attributes.parameters = ParametersOf(function->handle);
  return attributes;
}

std::vector<ParameterLayout> CudaDevice::ParametersOf(FunctionHandle function) const {
  std::vector<ParameterLayout> parameters;
  constexpr size_t kMostParameters = 4096;
  for (size_t i = 0; i < kMostParameters; ++i) {
    size_t offset = 0, size = 0;
    // Past the last parameter: invalid value.
    if ((*gpu_)->FuncGetParamInfo(function, i, &offset, &size) != kResultSuccess) break;
    parameters.push_back({static_cast<uint32_t>(offset), static_cast<uint32_t>(size)});
  }
  return parameters;
}

absl::Status CudaDevice::SetMaxDynamicShared(FunctionId id, uint32_t bytes) {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  WHARF_ASSIGN_OR_RETURN(Function * function, FindFunction(id));
  if (uint64_t{bytes} + function->static_shared > properties_.shared_per_block_optin) {
    return CudaStatus(CudaError::kInvalidValue, "{} bytes of shared memory are more than the GPU has", bytes);
  }
  WHARF_RETURN_IF_ERROR(gpu_->Check(
      (*gpu_)->FuncSetAttribute(function->handle, FunctionAttribute::kMaxDynamicShared, static_cast<int>(bytes)),
      "cuFuncSetAttribute"));
  function->max_dynamic_shared = bytes;
  ++names_version_;
  return absl::OkStatus();
}

// The PTX that this GPU's code of the module is made from; null if that is not known.
const ptx::Module* CudaDevice::PtxOf(Module& module) const {
  if (module.image.empty()) return module.ptx.get();
  const std::vector<std::byte> image = std::exchange(module.image, {});
  const int32_t capability = 10 * properties_.compute_major + properties_.compute_minor;
  // Without the zero byte that LoadModule put behind it.
  absl::StatusOr<std::string> text =
      fatbin::FindPtxFor(std::span(image).first(image.size() - 1), static_cast<uint32_t>(capability));
  absl::StatusOr<std::shared_ptr<const ptx::Module>> parsed = text.ok() ? ptx::Parse(*std::move(text)) : text.status();
  if (parsed.ok()) {
    module.ptx = *std::move(parsed);
  } else {
    module.no_ptx = parsed.status();
  }
  return module.ptx.get();
}

absl::StatusOr<Footprint> CudaDevice::FootprintOf(FunctionId id) {
  WHARF_ASSIGN_OR_RETURN(Function * function, FindFunction(id));
  if (function->footprint) return *function->footprint;
  Module& module = modules_.find(function->module)->second;
  if (const ptx::Module* ptx = PtxOf(module); ptx == nullptr) {
    function->footprint = Footprint{.reason = std::string(Message(module.no_ptx))};
  } else {
    WHARF_ASSIGN_OR_RETURN(ptx::KernelFootprint found, ptx::FootprintOf(*ptx, function->name));
    function->footprint =
        ptx::Resolve(std::move(found), [&](const std::string& name) { return FindSymbol(function->module, name); });
  }
  return *function->footprint;
}

absl::StatusOr<Symbol> CudaDevice::FindSymbol(ModuleId id, const std::string& name) {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  const auto module = modules_.find(id);
  if (module == modules_.end()) return CudaStatus(CudaError::kInvalidHandle, "no module {}", id);
  DevicePointer address = 0;
  size_t size = 0;
  WHARF_RETURN_IF_ERROR(
      gpu_->Check((*gpu_)->ModuleGetGlobal(&address, &size, module->second.handle, name.c_str()), "cuModuleGetGlobal"));
  module->second.symbols[address] = size;
  return Symbol{address, size};
}

// --- queued work ---

bool CudaDevice::Owns(DeviceAddress address, uint64_t bytes) const {
  if (memory_->IsMapped(address, bytes)) return true;
  for (const auto& [id, module] : modules_) {
    auto symbol = module.symbols.upper_bound(address);
    if (symbol == module.symbols.begin()) continue;
    --symbol;
    const uint64_t offset = address - symbol->first;
    if (offset <= symbol->second && bytes <= symbol->second - offset) return true;
  }
  return false;
}

absl::Status CudaDevice::CheckBox(const Region& region, const Extent& extent) const {
  WHARF_ASSIGN_OR_RETURN(const uint64_t span, SpanBytes(region, extent));
  if (span == 0 || Owns(region.address, span)) return absl::OkStatus();
  return CudaStatus(CudaError::kInvalidValue, "{} bytes at {:#x} are not memory of this session", span, region.address);
}

bool CudaDevice::IsArray(const Region& region, const Extent& extent) const {
  if (arrays_->IsEmpty()) return false;
  const absl::StatusOr<uint64_t> span = SpanBytes(region, extent);
  return span.ok() && arrays_->Overlap(region.address, *span);
}

absl::Status CudaDevice::BeforeUse(const Region& region, const Extent& extent, StreamHandle stream) const {
  if (arrays_->IsEmpty()) return absl::OkStatus();
  WHARF_ASSIGN_OR_RETURN(const uint64_t span, SpanBytes(region, extent));
  return arrays_->Store(region.address, span, stream);
}

absl::Status CudaDevice::AfterWrite(const Region& region, const Extent& extent, StreamHandle stream) const {
  if (arrays_->IsEmpty()) return absl::OkStatus();
  WHARF_ASSIGN_OR_RETURN(const uint64_t span, SpanBytes(region, extent));
  return arrays_->Load(region.address, span, stream);
}

absl::Status CudaDevice::CopyToDevice(StreamId id, Region to, Extent extent, std::vector<std::byte> packed) {
  WHARF_ASSIGN_OR_RETURN(Stream * stream, Use(id));
  WHARF_RETURN_IF_ERROR(CheckBox(to, extent));
  WHARF_ASSIGN_OR_RETURN(const uint64_t bytes, PackedBytes(extent));
  if (bytes != packed.size()) {
    return CudaStatus(CudaError::kInvalidValue, "{} bytes came for a box of {}", packed.size(), bytes);
  }
  if (bytes == 0) return absl::OkStatus();
  WHARF_RETURN_IF_ERROR(BeforeUse(to, extent, stream->handle));
  auto copy = [&](void* from) -> absl::Status {
    WHARF_RETURN_IF_ERROR(busy_->Measure(stream->handle, [&] {
      return CopyBox(gpu_.get(), {to, nullptr}, PackedHost(from, extent), extent, stream->handle);
    }));
    return AfterWrite(to, extent, stream->handle);
  };
  absl::StatusOr<PinnedBlock> block = pinned_->Get(bytes);
  // From ordinary memory the driver copies before it returns: slower, and the sender has to wait, but right.
  if (!block.ok()) return copy(packed.data());
  std::memcpy(block->data, packed.data(), bytes);
  absl::Status copied = copy(block->data);
  absl::Status queued = completion_->Add(stream->serial, stream->handle,
                                         [this, block = *block](const absl::Status&) { pinned_->Put(block); });
  return copied.ok() ? queued : copied;
}

absl::Status CudaDevice::CopyToHost(StreamId id, Region from, Extent extent, DataDone done) {
  if (absl::Status fault = gpu_->Fault(); !fault.ok()) {
    completion_->AddFinished([done = std::move(done), fault](const absl::Status&) { done(fault, {}); });
    return absl::OkStatus();
  }
  WHARF_ASSIGN_OR_RETURN(Stream * stream, Use(id));
  WHARF_RETURN_IF_ERROR(CheckBox(from, extent));
  WHARF_ASSIGN_OR_RETURN(const uint64_t bytes, PackedBytes(extent));
  WHARF_RETURN_IF_ERROR(BeforeUse(from, extent, stream->handle));
  auto copy = [&](void* to) {
    return busy_->Measure(stream->handle, [&] {
      return CopyBox(gpu_.get(), PackedHost(to, extent), {from, nullptr}, extent, stream->handle);
    });
  };
  absl::StatusOr<PinnedBlock> block = pinned_->Get(bytes);
  if (!block.ok()) {
    auto data = std::make_shared<std::vector<std::byte>>(bytes);
    WHARF_RETURN_IF_ERROR(copy(data->data()));
    return completion_->Add(stream->serial, stream->handle, [data, done = std::move(done)](const absl::Status& status) {
      done(status, status.ok() ? std::move(*data) : std::vector<std::byte>{});
    });
  }
  if (absl::Status copied = copy(block->data); !copied.ok()) {
    pinned_->Put(*block);
    return copied;
  }
  return completion_->Add(stream->serial, stream->handle,
                          [this, block = *block, bytes, done = std::move(done)](const absl::Status& status) {
                            std::vector<std::byte> data;
                            if (status.ok()) data.assign(block.data, block.data + bytes);
                            pinned_->Put(block);
                            done(status, std::move(data));
                          });
}

absl::Status CudaDevice::CopyOnDevice(StreamId id, Region to, Region from, Extent extent) {
  WHARF_ASSIGN_OR_RETURN(Stream * stream, Use(id));
  WHARF_RETURN_IF_ERROR(CheckBox(to, extent));
  WHARF_RETURN_IF_ERROR(CheckBox(from, extent));
  WHARF_RETURN_IF_ERROR(BeforeUse(from, extent, stream->handle));
  WHARF_RETURN_IF_ERROR(BeforeUse(to, extent, stream->handle));
  WHARF_RETURN_IF_ERROR(busy_->Measure(stream->handle, [&] {
    return CopyBox(gpu_.get(), {to, nullptr}, {from, nullptr}, extent, stream->handle);
  }));
  return AfterWrite(to, extent, stream->handle);
}

absl::Status CudaDevice::Fill(StreamId id, Region to, Extent extent, uint32_t value, uint32_t element_bytes) {
  WHARF_ASSIGN_OR_RETURN(Stream * stream, Use(id));
  WHARF_RETURN_IF_ERROR(CheckBox(to, extent));
  WHARF_RETURN_IF_ERROR(BeforeUse(to, extent, stream->handle));
  WHARF_RETURN_IF_ERROR(busy_->Measure(
      stream->handle, [&] { return FillBox(gpu_.get(), to, extent, value, element_bytes, stream->handle); }));
  return AfterWrite(to, extent, stream->handle);
}

absl::Status CudaDevice::CheckLaunch(const Function& function, const LaunchConfig& config,
                                     size_t parameter_bytes) const {
  const Dim3 &g = config.grid, &b = config.block;
  const auto& most_g = properties_.max_grid;
  const auto& most_b = properties_.max_block;
  const bool grid_fits = g.x <= most_g[0] && g.y <= most_g[1] && g.z <= most_g[2];
  const bool block_fits = b.x <= most_b[0] && b.y <= most_b[1] && b.z <= most_b[2] &&
                          b.Count() <= static_cast<uint64_t>(properties_.max_threads_per_block);
  if (!grid_fits || !block_fits || g.Count() == 0 || b.Count() == 0) {
    return CudaStatus(CudaError::kInvalidConfiguration, "a grid of {}x{}x{} blocks of {}x{}x{} threads", g.x, g.y, g.z,
                      b.x, b.y, b.z);
  }
  if (b.Count() > static_cast<uint64_t>(function.max_threads)) {
    return CudaStatus(CudaError::kLaunchOutOfResources, "{} threads a block, this kernel can have {}", b.Count(),
                      function.max_threads);
  }
  // The driver takes as many as the kernel has, however many it is given.
  if (parameter_bytes < function.parameter_bytes) {
    return CudaStatus(CudaError::kInvalidValue, "{} bytes of parameters for a kernel that has {}", parameter_bytes,
                      function.parameter_bytes);
  }
  if (config.shared_bytes > function.max_dynamic_shared) {
    return CudaStatus(CudaError::kInvalidValue, "{} bytes of dynamic shared memory, this kernel may have {}",
                      config.shared_bytes, function.max_dynamic_shared);
  }
  return absl::OkStatus();
}

absl::Status CudaDevice::Launch(StreamId id, FunctionId function_id, const LaunchConfig& config,
                                std::vector<std::byte> parameters) {
  WHARF_ASSIGN_OR_RETURN(Stream * stream, Use(id));
  WHARF_ASSIGN_OR_RETURN(Function * function, FindFunction(function_id));
  WHARF_RETURN_IF_ERROR(CheckLaunch(*function, config, parameters.size()));
  return LaunchHandle(*stream, function->handle, config, std::move(parameters));
}

absl::Status CudaDevice::LaunchHandle(const Stream& stream, FunctionHandle handle, const LaunchConfig& config,
                                      std::vector<std::byte> parameters) {
  size_t bytes = parameters.size();
  void* extra[] = {kLaunchBufferPointer, parameters.data(), kLaunchBufferSize, &bytes, kLaunchEnd};
  void** const given = bytes == 0 ? nullptr : extra;
  const Dim3 &g = config.grid, &b = config.block;
  if (config.cooperative) {
    LaunchAttribute cooperative;
    cooperative.id = LaunchAttribute::kCooperative;
    cooperative.cooperative = 1;
    const LaunchConfiguration all{g.x, g.y, g.z, b.x, b.y, b.z, config.shared_bytes, stream.handle, &cooperative, 1};
    WHARF_RETURN_IF_ERROR(busy_->Measure(stream.handle, [&] {
      return gpu_->Check((*gpu_)->LaunchKernelEx(&all, handle, nullptr, given), "cuLaunchKernelEx");
    }));
    return arrays_->SpreadSurfaces(stream.handle);
  }
  WHARF_RETURN_IF_ERROR(busy_->Measure(stream.handle, [&] {
    return gpu_->Check(
        (*gpu_)->LaunchKernel(handle, g.x, g.y, g.z, b.x, b.y, b.z, config.shared_bytes, stream.handle, nullptr, given),
        "cuLaunchKernel");
  }));
  return arrays_->SpreadSurfaces(stream.handle);
}

absl::Status CudaDevice::LaunchGuarded(StreamId id, FunctionId function_id, const LaunchConfig& config,
                                       std::vector<std::byte> parameters, const Guard& guard) {
  if (config.cooperative) return CudaStatus(CudaError::kNotSupported, "a cooperative launch cannot be guarded");
  WHARF_ASSIGN_OR_RETURN(Stream * stream, Use(id));
  WHARF_ASSIGN_OR_RETURN(Function * function, FindFunction(function_id));
  WHARF_RETURN_IF_ERROR(CheckLaunch(*function, config, parameters.size()));
  WHARF_ASSIGN_OR_RETURN(const Guarded* guarded, FindGuarded(*function, config));
  WHARF_ASSIGN_OR_RETURN(parameters, guarded->kernel.Parameters(std::move(parameters), guard));
  return LaunchHandle(*stream, guarded->handle, config, std::move(parameters));
}

absl::StatusOr<const CudaDevice::Guarded*> CudaDevice::FindGuarded(const Function& function,
                                                                   const LaunchConfig& config) {
  Module& module = modules_.find(function.module)->second;
  auto known = module.guarded.find(function.name);
  if (known == module.guarded.end()) {
    known = module.guarded.emplace(function.name, LoadGuarded(module, function.name)).first;
  }
  if (!known->second.ok()) return known->second.status();
  Guarded& guarded = *known->second;
  if (config.shared_bytes > guarded.max_dynamic_shared) {
    WHARF_RETURN_IF_ERROR(gpu_->Check((*gpu_)->FuncSetAttribute(guarded.handle, FunctionAttribute::kMaxDynamicShared,
                                                                static_cast<int>(config.shared_bytes)),
                                      "cuFuncSetAttribute"));
    guarded.max_dynamic_shared = config.shared_bytes;
  }
  return &guarded;
}

absl::StatusOr<CudaDevice::Guarded> CudaDevice::LoadGuarded(Module& module, const std::string& kernel) {
  const ptx::Module* ptx = PtxOf(module);
  if (ptx == nullptr) return CudaStatus(CudaError::kNotSupported, "{}", Message(module.no_ptx));
  Guarded guarded;
  WHARF_ASSIGN_OR_RETURN(guarded.kernel, ptx::GuardKernel(*ptx, kernel));
  WHARF_RETURN_IF_ERROR(
      gpu_->Check((*gpu_)->ModuleLoadData(&guarded.module, guarded.kernel.ptx.c_str()), "cuModuleLoadData"));
  const absl::Status found =
      gpu_->Check((*gpu_)->ModuleGetFunction(&guarded.handle, guarded.module, kernel.c_str()), "cuModuleGetFunction");
  if (!found.ok()) {
    (*gpu_)->ModuleUnload(guarded.module);
    return found;
  }
  return guarded;
}

absl::Status CudaDevice::CheckOperands(const Gemm& gemm) const {
  return CheckGemm(gemm, [this](DeviceAddress address, uint64_t bytes) { return Owns(address, bytes); });
}

absl::Status CudaDevice::RunGemm(StreamId id, const Gemm& gemm) {
  WHARF_ASSIGN_OR_RETURN(Stream * stream, Use(id));
  WHARF_RETURN_IF_ERROR(CheckOperands(gemm));
  if (gemm.m == 0 || gemm.n == 0 || gemm.batch == 0) return absl::OkStatus();
  WHARF_ASSIGN_OR_RETURN(Blas * blas, FindBlas());
  return busy_->Measure(stream->handle, [&] { return blas->Run(gemm, stream->handle); });
}

template <typename Library, typename Make>
absl::StatusOr<Library*> CudaDevice::Find(Vendors<Library>& vendors, const char* name, Make make) {
  if (vendors.library == nullptr) {
    WHARF_RETURN_IF_ERROR(vendors.missing);
    absl::StatusOr<std::unique_ptr<Library>> made = make();
    if (!made.ok()) {
      vendors.missing = made.status();
      Log(LogLevel::kError, fmt::format("no {}", name), {{"why", Message(made.status())}});
      return vendors.missing;
    }
    vendors.library = *std::move(made);
  }
  return vendors.library.get();
}

absl::StatusOr<Blas*> CudaDevice::FindBlas() {
  return Find(blas_, "cuBLAS", [this] { return Blas::Create(gpu_.get()); });
}

absl::Status CudaDevice::CheckOperands(const Primitive& primitive) const {
  return CheckPrimitive(primitive, [this](DeviceAddress address, uint64_t bytes) { return Owns(address, bytes); });
}

absl::Status CudaDevice::RunPrimitive(StreamId id, const Primitive& primitive) {
  WHARF_ASSIGN_OR_RETURN(Stream * stream, Use(id));
  WHARF_RETURN_IF_ERROR(CheckOperands(primitive));
  if (const auto* const fourier = std::get_if<Fourier>(&primitive)) return Transform(*fourier, stream->handle);
  if (const auto* const lapack = std::get_if<Lapack>(&primitive)) return Solve(*lapack, stream->handle);
  WHARF_ASSIGN_OR_RETURN(Dnn * dnn, FindDnn());
  return busy_->Measure(stream->handle, [&] { return dnn->Run(primitive, stream->handle); });
}

absl::StatusOr<Dnn*> CudaDevice::FindDnn() {
  return Find(dnn_, "cuDNN", [this] { return Dnn::Create(gpu_.get()); });
}

absl::StatusOr<CapturedGraph> CudaDevice::Capture(const Work& work, Stream& stream) {
  // A stream for each, as libraries' workspaces are: graphs of one stream run one after the other.
  if (stream.capturing == nullptr) {
    WHARF_RETURN_IF_ERROR(gpu_->Check((*gpu_)->StreamCreateWithPriority(&stream.capturing, kStreamNonBlocking, 0),
                                      "cuStreamCreateWithPriority"));
  }
  if (const auto* gemm = std::get_if<Gemm>(&work.what)) {
    WHARF_ASSIGN_OR_RETURN(Blas * blas, FindBlas());
    return CapturedGraph::Capture(gpu_.get(), stream.capturing,
                                  [&] { return blas->RunCaptured(*gemm, stream.capturing); });
  }
  WHARF_ASSIGN_OR_RETURN(Dnn * dnn, FindDnn());
  return CapturedGraph::Capture(gpu_.get(), stream.capturing,
                                [&] { return dnn->Run(std::get<Primitive>(work.what), stream.capturing); });
}

absl::Status CudaDevice::Transform(const Fourier& fourier, StreamHandle stream) {
  WHARF_ASSIGN_OR_RETURN(Fft * fft, Find(fft_, "cuFFT", [] { return Fft::Create(); }));
  return busy_->Measure(stream, [&] { return fft->Run(fourier, stream); });
}

absl::Status CudaDevice::Solve(const Lapack& lapack, StreamHandle stream) {
  const auto create = [this] {
    solver_workspaces_ = std::make_unique<Workspaces>(gpu_.get());
    return Solver::Create(
        [this](void* of, uint64_t bytes) { return solver_workspaces_->Of(static_cast<StreamHandle>(of), bytes); });
  };
  WHARF_ASSIGN_OR_RETURN(Solver * solver, Find(solver_, "cuSOLVER", create));
  return busy_->Measure(stream, [&] { return solver->Run(lapack, stream); });
}

absl::Status CudaDevice::HostCall(StreamId id, std::function<void()> call) {
  WHARF_ASSIGN_OR_RETURN(Stream * stream, Use(id));
  // The driver runs it on a thread of its own: what was asked to be told about earlier work comes first all the same.
  auto told = std::make_shared<absl::Notification>();
  WHARF_RETURN_IF_ERROR(
      completion_->Add(stream->serial, stream->handle, [told](const absl::Status&) { told->Notify(); }));
  auto owned = std::make_unique<std::function<void()>>([told, call = std::move(call)] {
    told->WaitForNotification();
    call();
  });
  auto run = [](void* argument) {
    std::unique_ptr<std::function<void()>> function(static_cast<std::function<void()>*>(argument));
    (*function)();
  };
  WHARF_RETURN_IF_ERROR(gpu_->Check((*gpu_)->LaunchHostFunc(stream->handle, run, owned.get()), "cuLaunchHostFunc"));
  // The driver's now. It does not run it after a fault, and then these few bytes live as long as the process.
  owned.release();
  return absl::OkStatus();
}

}  // namespace wharf::device::cuda
