// Runs small PTX kernels in tests: compiles them and executes them through the runtime.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "wharf/device/ptx/parser.h"
#include "wharf/device/soft/jit/compiler.h"
#include "wharf/device/soft/runtime/executor.h"
#include "wharf/device/soft/runtime/function_address.h"
#include "wharf/device/soft/runtime/memory.h"

namespace wharf::device::soft::testing {

// Kernel parameters, laid out as PTX does.
class Parameters {
 public:
  template <typename T>
  Parameters& Add(T value) {
    size_t at = (bytes_.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
    return *this;
  }
  const std::byte* data() const { return bytes_.data(); }

 private:
  std::vector<std::byte> bytes_;
};

class KernelRunner {
 public:
  // `limit`: of Executor::Create.
  explicit KernelRunner(std::string cache_directory = "", CompilerOptions options = {},
                        Nanoseconds limit = Nanoseconds(0)) {
    memory_ = Memory::Create(uint64_t{1} << 30).value();
    services_ = std::make_unique<KernelServices>(*memory_);
    services_->output.SetSink([this](std::string text) { printed_ += text; });
    executor_ = Executor::Create(2, *services_, limit).value();
    compiler_ = Compiler::Create(std::move(cache_directory), options).value();
  }
  ~KernelRunner() { executor_->Detach(); }

  // Device memory that holds `values`.
  template <typename T>
  T* Upload(const std::vector<T>& values) {
    auto* to = reinterpret_cast<T*>(memory_->Allocate(values.size() * sizeof(T)).value());
    std::memcpy(to, values.data(), values.size() * sizeof(T));
    return to;
  }
  template <typename T>
  T* Allocate(size_t count) {
    return reinterpret_cast<T*>(memory_->Allocate(count * sizeof(T)).value());
  }

  // `block`: see Compiler::Compile.
  absl::StatusOr<std::shared_ptr<const CompiledKernel>> Compile(const std::string& ptx, const std::string& name,
                                                                const Dim3& block = {0, 0, 0}) {
    WHARF_ASSIGN_OR_RETURN(auto module, ptx::Parse(ptx));
    for (const ptx::Variable& v : module->variables) {
      const bool stored = v.space == ptx::Space::kGlobal || v.space == ptx::Space::kConst;
      if (!stored || variables_.contains(v.name)) continue;
      variables_[v.name] = Initialized(v);
    }
    const auto find = [&](std::string_view variable) -> void* {
      auto found = variables_.find(std::string(variable));
      return found == variables_.end() ? nullptr : found->second;
    };
    return compiler_->Compile(*module, name, find, block);
  }

  absl::Status Run(const std::string& ptx, const std::string& name, Dim3 grid, Dim3 block, const Parameters& parameters,
                   uint32_t shared_bytes = 0) {
    WHARF_ASSIGN_OR_RETURN(kernel_, Compile(ptx, name));
    return RunAgain(name, grid, block, parameters, shared_bytes);
  }
  // The same with code for blocks of this shape.
  absl::Status RunByShape(const std::string& ptx, const std::string& name, Dim3 grid, Dim3 block,
                          const Parameters& parameters, uint32_t shared_bytes = 0) {
    WHARF_ASSIGN_OR_RETURN(kernel_, Compile(ptx, name, block));
    return RunAgain(name, grid, block, parameters, shared_bytes);
  }
  // The kernel that Run compiled last, without compiling it again. What it launches, itself at most, is not run.
  absl::Status RunAgain(const std::string& name, Dim3 grid, Dim3 block, const Parameters& parameters,
                        uint32_t shared_bytes = 0) {
    const ChildKernels itself{{FunctionAddress(name), {name, kernel_->parameter_bytes}}};
    const DeviceProperties properties;
    ChildLaunches children(itself, properties, services_->heap);
    return executor_->Run({kernel_.get(), name, {grid, block, shared_bytes}, parameters.data(), &children});
  }

  const std::shared_ptr<const CompiledKernel>& kernel() const { return kernel_; }
  void* Variable(const std::string& name) { return variables_.at(name); }
  const std::string& printed() const { return printed_; }
  const Memory& memory() const { return *memory_; }
  Memory& memory() { return *memory_; }
  KernelServices& services() { return *services_; }

 private:
  std::byte* Initialized(const ptx::Variable& v) {
    auto* at = Allocate<std::byte>(std::max<uint64_t>(1, v.Bytes()));
    const uint32_t size = ptx::SizeOf(v.type);
    for (size_t i = 0; i < v.initializer.size(); ++i) {
      uint64_t bits = v.initializer[i].bits;
      if (!v.initializer[i].symbol.empty()) bits += FunctionAddress(v.initializer[i].symbol);
      std::memcpy(at + i * size, &bits, size);
    }
    return at;
  }

  std::unique_ptr<Memory> memory_;
  std::unique_ptr<KernelServices> services_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Compiler> compiler_;
  std::map<std::string, std::byte*> variables_;
  std::shared_ptr<const CompiledKernel> kernel_;
  std::string printed_;
};

// A module of one kernel `k` that computes out[i] from in[i] with `body`: %rd1 and %rd2 address thread i's input
// and output of `in_bytes` and `out_bytes`. Registers %r<50>, %rs<50>, %rd<50>, %f<50>, %d<50>, %p<20> are there.
inline std::string ElementKernel(const std::string& body, uint32_t in_bytes, uint32_t out_bytes,
                                 const std::string& module_scope = "") {
  return fmt::format(R"(.version 8.8
.target sm_90
.address_size 64
{}
.visible .entry k(.param .u64 in, .param .u64 out)
{{
  .reg .pred %p<20>; .reg .b16 %rs<50>; .reg .b32 %r<50>; .reg .b64 %rd<50>; .reg .f32 %f<50>; .reg .f64 %d<50>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  mul.wide.u32 %rd3, %r4, {};
  add.u64 %rd1, %rd1, %rd3;
  mul.wide.u32 %rd3, %r4, {};
  add.u64 %rd2, %rd2, %rd3;
{}
  ret;
}}
)",
                     module_scope, in_bytes, out_bytes, body);
}

// Runs ElementKernel over `inputs`, one thread each.
template <typename Out, typename In>
std::vector<Out> MapElements(KernelRunner& runner, const std::string& body, const std::vector<In>& inputs,
                             const std::string& module_scope = "") {
  constexpr uint32_t kBlock = 32;
  const uint32_t blocks = static_cast<uint32_t>((inputs.size() + kBlock - 1) / kBlock);
  std::vector<In> padded = inputs;
  padded.resize(size_t{blocks} * kBlock);
  In* in = runner.Upload(padded);
  Out* out = runner.Allocate<Out>(padded.size());
  absl::Status status = runner.Run(ElementKernel(body, sizeof(In), sizeof(Out), module_scope), "k", {blocks}, {kBlock},
                                   Parameters().Add(in).Add(out));
  if (!status.ok()) throw std::runtime_error(ToString(status));
  return std::vector<Out>(out, out + inputs.size());
}

}  // namespace wharf::device::soft::testing
