#include "wharf/device/soft/jit/object_maker.h"

#include <fmt/format.h>

#include "wharf/device/soft/codegen/module.h"
#include "wharf/device/soft/codegen/program.h"
#include "wharf/device/soft/jit/cache.h"

namespace wharf::device::soft {
namespace {

// Changes whenever generated code does.
constexpr std::string_view kCompilerVersion = "13";
// Longer kernels are optimised less.
constexpr uint32_t kLargeKernel = 6000;

// kUnimplemented: the program cannot have this form.
absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> MakeAs(CodeForm form, const Program& program,
                                                           const JitEngine& engine, const CompilerOptions& options) {
  llvm::LLVMContext context;
  llvm::Module module("kernel", context);
  engine.Prepare(&module);
  WHARF_RETURN_IF_ERROR(ModuleCodegen(program, form, &module).Build());
  return engine.Compile(
      &module,
      {.form = form, .block = program.block, .large = program.instructions > kLargeKernel, .confine = options.confine});
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

}  // namespace wharf::device::soft
