#include "wharf/device/soft/jit/object_maker.h"

#include <fmt/format.h>

#include "wharf/device/cuda_error.h"
#include "wharf/device/soft/codegen/module.h"
#include "wharf/device/soft/codegen/program.h"
#include "wharf/device/soft/jit/cache.h"

namespace wharf::device::soft {
namespace {

// Changes whenever generated code does.
constexpr std::string_view kCompilerVersion = "26";
// Longer kernels are optimised less.
constexpr uint32_t kLargeKernel = 6000;

// kUnimplemented: the program cannot have this form.
absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> MakeAs(CodeForm form, const Program& program,
                                                           const JitEngine& engine, const CompilerOptions& options,
                                                           bool* wide = nullptr) {
  llvm::LLVMContext context;
  llvm::Module module("kernel", context);
  engine.Prepare(&module);
  WHARF_RETURN_IF_ERROR(ModuleCodegen(program, form, &module).Build());
  return engine.Compile(&module, {.form = form,
                                  .block = program.block,
                                  .large = program.instructions > kLargeKernel,
                                  .narrow = IsNarrow(program.block),
                                  .confine = options.confine,
                                  .wide = wide});
}

}  // namespace

std::string ObjectName(const Program& program, const JitEngine& engine, const CompilerOptions& options) {
  const Dim3& block = program.block;
  return HashText(fmt::format("{}\n{}\n{}\n{} {} {}\n{}", kCompilerVersion, options.confine, engine.target(), block.x,
                              block.y, block.z, program.key));
}

absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> MakeObject(const Program& program, const JitEngine& engine,
                                                               const CompilerOptions& options) {
  if (program.block.x != 0 && GainsByShape(program)) {
    auto object = MakeAs(CodeForm::kBlock, program, engine, options);
    if (object.ok() || absl::IsInvalidArgument(object.status())) return object;
  }
  const bool loop = program.mode == ExecutionMode::kLoop;
  return MakeAs(loop ? CodeForm::kLoop : CodeForm::kThread, program, engine, options);
}

absl::StatusOr<KernelForm> Explain(const ptx::Module& module, std::string_view kernel, const Dim3& block) {
  WHARF_ASSIGN_OR_RETURN(Program program, Analyze(module, kernel));
  WHARF_ASSIGN_OR_RETURN(const std::unique_ptr<JitEngine> engine, JitEngine::Create());
  program.block = block;
  if (program.mode == ExecutionMode::kLoop) {
    bool wide = false;
    WHARF_RETURN_IF_ERROR(MakeAs(CodeForm::kLoop, program, *engine, {}, &wide).status());
    if (wide) return KernelForm{KernelForm::kLanes, ""};
    if (IsNarrow(block)) {
      return KernelForm{KernelForm::kOneByOne,
                        fmt::format("its blocks are less than {} threads wide", kLeastWideExtent)};
    }
    return KernelForm{KernelForm::kOneByOne, program.instructions > kLargeKernel
                                                 ? fmt::format("it has more than {} instructions", kLargeKernel)
                                                 : "it calls functions, or has code that lanes cannot share"};
  }
  const auto suspendable = [](std::string reason) { return KernelForm{KernelForm::kSuspendable, std::move(reason)}; };
  if (program.spins) return suspendable("threads may wait for each other in a loop");
  if (program.has_indirect_call) return suspendable("it calls functions by pointers");
  if (program.has_alloca) return suspendable("it has a local array of no fixed size");
  if (!GainsByShape(program)) return suspendable("it is too long");
  const auto object = MakeAs(CodeForm::kBlock, program, *engine, {});
  if (object.ok()) return KernelForm{KernelForm::kRegions, ""};
  if (!absl::IsUnimplemented(object.status()) || CudaErrorOf(object.status()) == CudaError::kUnsupportedPtx) {
    return object.status();
  }
  return suspendable(std::string(object.status().message()));
}

}  // namespace wharf::device::soft
