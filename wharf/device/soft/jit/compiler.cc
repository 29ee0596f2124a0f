#include "wharf/device/soft/jit/compiler.h"

#include <map>

#include "absl/synchronization/mutex.h"
#include "wharf/device/ptx/parser.h"
#include "wharf/device/soft/codegen/module.h"
#include "wharf/device/soft/codegen/program.h"
#include "wharf/device/soft/jit/cache.h"
#include "wharf/device/soft/jit/compile_service.h"
#include "wharf/device/soft/jit/engine.h"
#include "wharf/device/soft/jit/object_maker.h"
#include "wharf/device/soft/jit/sites.h"

namespace wharf::device::soft {
namespace {

uint32_t Directive(const ptx::Function& function, const char* name, size_t index) {
  auto found = function.directives.find(name);
  if (found == function.directives.end() || index >= found->second.size()) return 0;
  return static_cast<uint32_t>(std::min<uint64_t>(found->second[index], UINT32_MAX));
}

CompiledKernel DescribeProgram(const Program& program) {
  const ptx::Function& function = *program.Kernel().function;
  CompiledKernel kernel;
  kernel.mode = program.mode;
  kernel.by_shape = GainsByShape(program);
  kernel.waits = program.spins;
  kernel.launches_kernels = program.launches_kernels;
  kernel.static_shared_bytes = program.static_shared_bytes;
  kernel.local_bytes = program.local_bytes;
  kernel.parameters = ptx::LayoutParameters(function);
  for (const ParameterLayout& p : kernel.parameters) {
    kernel.parameter_bytes = std::max(kernel.parameter_bytes, p.offset + p.size);
  }
  uint64_t threads = 1;
  for (size_t d = 0; d < 3; ++d) {
    kernel.required_block[d] = Directive(function, "reqntid", d);
    threads *= std::max<uint64_t>(1, Directive(function, "maxntid", d));
  }
  // Dimensions not named in .reqntid are one.
  for (uint32_t& extent : kernel.required_block) {
    if (kernel.required_block[0] != 0) extent = std::max(extent, uint32_t{1});
  }
  if (function.directives.contains("maxntid")) {
    kernel.max_threads = static_cast<uint32_t>(std::min<uint64_t>(threads, UINT32_MAX));
  }
  return kernel;
}

class CompilerImpl final : public Compiler {
 public:
  // `elsewhere`: null if this process compiles.
  CompilerImpl(std::unique_ptr<JitEngine> engine, std::string cache_directory, const CompilerOptions& options,
               std::unique_ptr<CompileClient> elsewhere)
      : engine_(std::move(engine)),
        store_(std::move(cache_directory)),
        options_(options),
        elsewhere_(std::move(elsewhere)) {}

  absl::StatusOr<std::shared_ptr<const CompiledKernel>> Compile(const ptx::Module& module, std::string_view kernel,
                                                                const SymbolResolver& symbols,
                                                                const Dim3& block) override {
    WHARF_ASSIGN_OR_RETURN(Program program, Analyze(module, kernel));
    AddChecks(options_.checks, &program);
    program.block = CodeShape(program, block);
    std::vector<AbsoluteSymbol> addresses;
    std::string placed;
    for (const std::string& name : program.globals) {
      void* address = symbols == nullptr ? nullptr : symbols(name);
      if (address == nullptr) {
        return CudaStatus(CudaError::kSharedObjectSymbolNotFound, "kernel {}: variable {} is not defined", kernel,
                          name);
      }
      addresses.push_back({kVariablePrefix + name, reinterpret_cast<uint64_t>(address)});
      placed += fmt::format("{:x} ", addresses.back().address);
    }
    const std::string object_name = ObjectName(program, *engine_, options_);
    const std::string key = object_name + placed;
    if (auto found = Find(key)) return found;

    std::unique_ptr<llvm::MemoryBuffer> object = store_.Find(object_name);
    const bool stored = object != nullptr;
    if (!stored) {
      WHARF_ASSIGN_OR_RETURN(object, Make(program, object_name));
    }
    WHARF_RETURN_IF_ERROR(Count(*object, kernel));
    auto code = engine_->Link(std::move(object), addresses);
    if (!code.ok() && stored) {  // an object of some other make: compile it anew
      WHARF_ASSIGN_OR_RETURN(object, Make(program, object_name));
      code = engine_->Link(std::move(object), addresses);
    }
    if (!code.ok()) return code.status();
    CompiledKernel compiled = DescribeProgram(program);
    compiled.mode = code->mode;
    compiled.wide = code->wide;
    if (program.checks != 0) compiled.sites = SitesOf(program);
    compiled.local_stack_bytes = code->local_stack_bytes;
    if (program.has_alloca) compiled.local_stack_bytes = std::max<uint64_t>(compiled.local_stack_bytes, 1);
    if (compiled.mode == ExecutionMode::kLoop) {
      compiled.loop_entry = reinterpret_cast<LoopEntry>(code->entry);
    } else {
      compiled.thread_entry = reinterpret_cast<ThreadEntry>(code->entry);
    }
    return Remember(key, std::make_shared<const CompiledKernel>(std::move(compiled)));
  }

  absl::StatusOr<std::shared_ptr<const CompiledKernel>> Describe(const ptx::Module& module,
                                                                 std::string_view kernel) const override {
    WHARF_ASSIGN_OR_RETURN(Program program, Analyze(module, kernel));
    AddChecks(options_.checks, &program);
    return std::make_shared<const CompiledKernel>(DescribeProgram(program));
  }

 private:
  // And stores it.
  absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> Make(const Program& program, const std::string& name) const {
    if (elsewhere_ != nullptr) {
      WHARF_ASSIGN_OR_RETURN(
          const std::string code,
          elsewhere_->Compile(*program.module->text, program.Kernel().function->name, program.block, program.checks));
      return llvm::MemoryBuffer::getMemBufferCopy(code, name);
    }
    WHARF_ASSIGN_OR_RETURN(std::unique_ptr<llvm::MemoryBuffer> object, MakeObject(program, *engine_, options_));
    store_.Put(name, *object);
    return object;
  }

  // Before it is linked.
  absl::Status Count(const llvm::MemoryBuffer& object, std::string_view kernel) {
    const uint64_t bytes = object.getBufferSize() + kLinkedKernelBytes;
    absl::MutexLock lock(&mutex_);
    if (bytes > options_.code_bytes - code_bytes_) {
      return CudaStatus(CudaError::kOutOfMemory, "kernel {}: the code of a session's kernels may have {} MiB", kernel,
                        options_.code_bytes >> 20);
    }
    code_bytes_ += bytes;
    return absl::OkStatus();
  }

  std::shared_ptr<const CompiledKernel> Find(const std::string& key) const {
    absl::MutexLock lock(&mutex_);
    auto found = kernels_.find(key);
    return found == kernels_.end() ? nullptr : found->second;
  }

  // What is there already wins, should two threads have compiled the same.
  std::shared_ptr<const CompiledKernel> Remember(const std::string& key, std::shared_ptr<const CompiledKernel> kernel) {
    absl::MutexLock lock(&mutex_);
    return kernels_.emplace(key, std::move(kernel)).first->second;
  }

  std::unique_ptr<JitEngine> engine_;
  ObjectStore store_;
  const CompilerOptions options_;
  const std::unique_ptr<CompileClient> elsewhere_;
  mutable absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<const CompiledKernel>> kernels_ ABSL_GUARDED_BY(mutex_);
  uint64_t code_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const CompiledKernel>> Compiler::Describe(const ptx::Module& module,
                                                                         std::string_view kernel) const {
  WHARF_ASSIGN_OR_RETURN(const Program program, Analyze(module, kernel));
  return std::make_shared<const CompiledKernel>(DescribeProgram(program));
}

absl::StatusOr<std::unique_ptr<Compiler>> Compiler::Create(std::string cache_directory, CompilerOptions options) {
  WHARF_ASSIGN_OR_RETURN(std::unique_ptr<JitEngine> engine, JitEngine::Create());
  return std::make_unique<CompilerImpl>(std::move(engine), std::move(cache_directory), options, nullptr);
}

absl::StatusOr<std::unique_ptr<Compiler>> Compiler::CreateElsewhere(std::string cache_directory, int socket,
                                                                    CompilerOptions options) {
  auto elsewhere = std::make_unique<CompileClient>(socket);
  WHARF_ASSIGN_OR_RETURN(std::unique_ptr<JitEngine> engine, JitEngine::Create());
  return std::make_unique<CompilerImpl>(std::move(engine), std::move(cache_directory), options, std::move(elsewhere));
}

}  // namespace wharf::device::soft
